// Package bench measures what the suites cost: the time of each scenario against a bundled target, beside the floor,
// which is the time of the bare round trips that the same scenarios need.
//
// The floor is measured on the same machine, right after the suite. A run says in its transcripts which connections
// each scenario opens, and what is sent and received on them, with sizes. That is a course. A client and a server that
// know the transport alone go through the same courses, as many side by side as the suite does: the client writes as
// many messages of the same sizes, and waits for as many. Nothing is decoded, recorded or judged, no model answers, and
// nothing waits for time to pass.
//
//	driver        floor
//	ws            WebSocket connections, opened and closed by handshakes
//	sse, r3labs   one held HTTP answer for each stream, and a request for each request
//	stdio         lines through two pipes for each connection; no process is started
//	browser       an empty page for each page, in a browser of its own; nothing is done in it
//
// Over browser, sent are the acts of the user, and received what is then seen of the page; what the page and its server
// exchange is not counted.
//
// Wall times of a suite contain its waits: those for silence, for time-outs, and for restarts. Processor times do not.
// Both contain the target or the server, which are in the same process, or are its children.
package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/internal/cputime"
	"parley/reports"
	"parley/runner"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// Suite is a suite to measure over one driver.
type Suite struct {
	Protocol, Role, Driver string
	Title                  string // names it in the table and in messages

	// Fresh returns the options of a run, with a target that no other run has used. Its drivers, its concurrency and what
	// follows the records are set by Run.
	Fresh func() runner.Options
}

// Options says what to measure.
type Options struct {
	Suites   []Suite
	Runs     int               // of each suite and of each floor; 0: 1
	Progress func(text string) // is told what is measured next; nil: nobody is
}

// Results are the figures, as parley bench writes them.
type Results struct {
	Parley  string        `json:"parley"` // "bench"
	Version int           `json:"version"`
	Suite   reports.Suite `json:"suite"`
	Machine Machine       `json:"machine"`
	Started time.Time     `json:"started"`
	Runs    int           `json:"runs"` // of each suite and of each floor
	Rows    []Row         `json:"rows"`
	Peers   []Peer        `json:"peers"`
	Skipped []string      `json:"skipped"` // what was not measured, and why
}

// Machine is where the figures come from: they compare with no others.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"` // as many threads run Go code at once
	Go   string `json:"go"`
}

// Row has the figures of a suite over a driver.
type Row struct {
	Protocol    string `json:"protocol"`
	Role        string `json:"role"`
	Driver      string `json:"driver"`
	Title       string `json:"-"`
	Scenarios   int    `json:"scenarios"`
	Parallel    int    `json:"parallel"`    // scenarios that run side by side, and courses of the floor
	Connections int    `json:"connections"` // of all scenarios; over browser, pages
	Sent        int    `json:"sent"`
	Received    int    `json:"received"`
	Bytes       int64  `json:"bytes"` // of both
	Cost
}

// Cost compares a suite with its floor.
type Cost struct {
	Measured Times `json:"measured"`
	Floor    Times `json:"floor"`
	// medians for each scenario, in milliseconds, and their quotients; 0 if unknown
	Wall      float64 `json:"wall_ms"`
	FloorWall float64 `json:"floor_wall_ms"`
	Ratio     float64 `json:"ratio"`
	CPU       float64 `json:"cpu_ms"`
	FloorCPU  float64 `json:"floor_cpu_ms"`
	CPURatio  float64 `json:"cpu_ratio"`
}

// Times are those of the runs, in milliseconds, in their order.
type Times struct {
	Wall []float64 `json:"wall_ms"`
	CPU  []float64 `json:"cpu_ms"` // of this process and its children; 0 if unknown, as of the processes of a browser
}

// NotPassedError says that a suite found something: the times of such a run are not those of the suite.
type NotPassedError struct {
	Suite   Suite
	Verdict string
	Exit    int // the exit code of the run
}

func (e *NotPassedError) Error() string {
	return fmt.Sprintf("%s over %s: the verdict is %s, and only suites that pass are measured", e.Suite.Title,
		e.Suite.Driver, e.Verdict)
}

// Run measures all suites, one after the other. It returns a *NotPassedError if one does not pass.
func Run(ctx context.Context, o Options) (*Results, error) {
	o.Runs = max(o.Runs, 1)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	out := &Results{Parley: "bench", Version: 1, Started: time.Now().UTC().Truncate(time.Second), Runs: o.Runs,
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version()},
		Rows:    []Row{}, Peers: []Peer{}, Skipped: []string{}}
	for _, s := range o.Suites {
		row, of, err := o.measureSuite(ctx, s)
		if err != nil {
			return nil, err
		}
		out.Suite = of
		out.Rows = append(out.Rows, row)
	}
	if err := out.addPeers(ctx, o); err != nil {
		return nil, err
	}
	return out, nil
}

// measureSuite measures a suite and its floor in turns.
func (o Options) measureSuite(ctx context.Context, s Suite) (row Row, of reports.Suite, err error) {
	row = Row{Protocol: s.Protocol, Role: s.Role, Driver: s.Driver, Title: s.Title}
	var courses []course
	for n := range o.Runs {
		o.Progress(fmt.Sprintf("%s over %s, %d of %d", s.Title, s.Driver, n+1, o.Runs))
		var seen []course
		var res *reports.Results
		opts := s.Fresh()
		err = row.Measured.measureTimes(func() (err error) {
			res, seen, err = s.runSuite(ctx, opts)
			return err
		})
		if err != nil {
			return row, of, err
		}
		if n == 0 {
			courses, of = seen, res.Suite
			row.Scenarios, row.Parallel = res.Runs[0].Totals.Scenarios.Total, opts.Profile.ParallelOver(s.Driver)
			row.countCourses(courses)
		}
		err = row.Floor.measureTimes(func() error { return runFloor(ctx, s.Driver, courses, row.Parallel) })
		if err != nil {
			return row, of, fmt.Errorf("the floor of %s over %s: %w", s.Title, s.Driver, err)
		}
	}
	if s.Driver == browser.Name { // its processes are no children of this one, or nobody's by the end
		clear(row.Measured.CPU)
		clear(row.Floor.CPU)
	}
	row.computeMedians(row.Scenarios)
	return row, of, nil
}

// runSuite runs a suite once, and returns the courses of its scenarios.
func (s Suite) runSuite(ctx context.Context, o runner.Options) (*reports.Results, []course, error) {
	var mu sync.Mutex
	var courses []course
	o.Drivers, o.AllowIncomplete = []string{s.Driver}, true
	o.Finished = func(_ runner.Planned, records []transcript.Record) {
		c := courseOf(s.Driver, records)
		mu.Lock()
		defer mu.Unlock()
		courses = append(courses, c)
	}
	res, err := runner.Run(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	if res.Exit != verdict.ExitConformant || len(res.Runs) != 1 {
		return nil, nil, &NotPassedError{s, string(res.Verdict), res.Exit}
	}
	return res, courses, nil
}

// measureTimes measures what do does, and adds its times.
func (t *Times) measureTimes(do func() error) error {
	began, used := time.Now(), cputime.Used()
	err := do()
	t.Wall = append(t.Wall, millis(time.Since(began)))
	t.CPU = append(t.CPU, millis(cputime.Used()-used))
	return err
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// computeMedians computes the medians of so many scenarios, and what they come to.
func (c *Cost) computeMedians(scenarios int) {
	each := func(times []float64) float64 { return median(times) / float64(max(scenarios, 1)) }
	quotient := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	c.Wall, c.FloorWall = each(c.Measured.Wall), each(c.Floor.Wall)
	c.CPU, c.FloorCPU = each(c.Measured.CPU), each(c.Floor.CPU)
	c.Ratio, c.CPURatio = quotient(c.Wall, c.FloorWall), quotient(c.CPU, c.FloorCPU)
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
