// Package load puts a server under the load of many sessions and judges every message that arrives, by the passive
// monitors of its protocol (docs/passive.md) and by what each session knows of itself: nobody else acts in it. It knows
// no protocol; steps.Loadable says how a session acts.
//
// Acts arrive on an open schedule: their times are fixed before the first one, and a latency counts from the intended
// time. A slow server is therefore not spared the acts that it delays.
//
// A session keeps only the records of its present connection, which is a life: it is judged as a whole when it ends,
// and forgotten unless a clause is broken in it.
package load

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/internal/llm"
	"parley/internal/unixurl"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// Shape is how the rate of acts changes over the time of a load.
type Shape string

// The shapes.
const (
	Soak Shape = "soak" // the whole rate from the beginning
	Ramp Shape = "ramp" // from 0 to the whole rate, in a straight line
	Step Shape = "step" // in equal steps from a fifth of the rate to the whole
)

// Shapes lists the shapes, the default first.
var Shapes = []Shape{Soak, Ramp, Step}

// steppings is the number of steps of Step.
const steppings = 5

// Options configure a load.
type Options struct {
	Protocols *steps.Protocols
	Profile   *target.Profile
	Launcher  target.Launcher // nil: by the profile
	Brain     *llm.Brain      // the model of a target within this process; nil: a stub, if the profile asks for one
	Role      string
	Driver    string // "": the first of the profile

	Sessions int
	Duration time.Duration // of the schedule of acts, after all sessions are open
	Rate     float64       // acts per second, over all sessions; 0: one act of each session in 5 s
	Opening  float64       // sessions that open per second; 0: 1000
	Timeout  time.Duration // an act without an answer has failed; 0: 10 s
	Shape    Shape
	Strict   bool
	Out      string // folder for transcripts; "": none
	Explain  string // the command that explains a clause
	Salt     string // makes the names of the sessions unique; "": random

	Thresholds Thresholds

	// Progress is called about once a second while the load lasts, from one goroutine. nil: no calls.
	Progress func(Progress)

	// Found is called with the first finding on each clause, soon after it was made. nil: no calls.
	Found func(clause, observed string)

	// Judged is called with each connection of a session that has ended, once it is judged. It is called from several
	// goroutines, and with a Crew only for what its workers show. nil: no calls.
	Judged func(Life)

	// Crew carries the load out with several workers. nil: this process does.
	Crew   Crew
	Source Source   // where a worker finds the profile
	Hosts  []string // beyond loopback to which the load may go

	claim func(steps.Claim) bool // see steps.Claims.Elsewhere
}

// Life is a connection of a session, from its opening to its end.
type Life struct {
	Name     string
	Began    time.Time           // when the times of the records begin to count
	Records  []transcript.Record // decoded
	Held     map[int][]string    // number of a record → the clauses that it shows to be kept
	Failures []steps.Failure
}

// Thresholds fail a load whose figures exceed them.
type Thresholds struct {
	P50, P99, P999 time.Duration // of the latency of all acts but connecting; 0: no limit
	Errors         float64       // acts that failed
	Percent        bool          // Errors is a share of all acts, in percent
}

// Progress is the state of a load.
type Progress struct {
	Phase      string // "opening", "acting", "ending" or "judging"
	Elapsed    time.Duration
	Open       int   // sessions with a connection
	Acts       int64 // complete
	Rate       float64
	Errors     int64
	Violations int64
	P50, P99   time.Duration // since the last Progress
}

// Defaults of Options.
const (
	defaultPause   = 5 * time.Second
	defaultOpening = 1000
	defaultTimeout = 10 * time.Second
)

func (o Options) withDefaults() Options {
	o.Rate = cmp.Or(o.Rate, max(float64(o.Sessions)/defaultPause.Seconds(), 1))
	o.Opening = cmp.Or(o.Opening, defaultOpening)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Shape = cmp.Or(o.Shape, Soak)
	if o.Launcher == nil {
		o.Launcher = target.NewLauncher(o.Profile)
	}
	if o.Driver == "" {
		o.Driver = o.Profile.Drivers[0]
	}
	return o
}

func usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(format, args...)}
}

// checkOptions checks the options after withDefaults.
func (o Options) checkOptions() error {
	switch {
	case o.Sessions < 1:
		return usagef("--sessions: a load needs at least one session, not %d", o.Sessions)
	case o.Duration <= 0:
		return usagef("--duration: %v is no time (write it like 30s or 10m)", o.Duration)
	case o.Rate <= 0 || o.Opening <= 0:
		return usagef("--rate, --open-rate: give more than 0 per second")
	case o.Timeout <= 0:
		return usagef("--timeout: %v is no time (write it like 10s)", o.Timeout)
	}
	for _, s := range Shapes {
		if o.Shape == s {
			return nil
		}
	}
	return usagef("--shape %s: unknown (choose among ramp, step, soak)", o.Shape)
}

// rejectRemote rejects a target beyond this machine, but for the given hosts.
func rejectRemote(ctx context.Context, base string, hosts []string) error {
	if unixurl.Is(base) { // sockets are on this machine
		return nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return fmt.Errorf("the target's URL: %w", err)
	}
	host := u.Hostname()
	if slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return &target.UnreachableError{URL: base, Tried: []target.Attempt{{Address: host, Err: err}}}
	}
	for _, ip := range all {
		if !ip.Unmap().IsLoopback() {
			return usagef("%s is not on this machine's loopback: a load goes nowhere else", base)
		}
	}
	return nil
}

// Files that are open beside the connections of sessions: pooled requests, those of the target and of this process.
const (
	otherFiles = 700
	unlimited  = 1 << 30
)

// checkOpenFiles checks that as many files may be open as the sessions of the part need. Workers have files of their
// own: for them only the target needs files, if it is started here.
func (r *run) checkOpenFiles(within bool) error {
	if r.o.Crew != nil && r.o.Profile.URL != "" && r.o.Profile.Command == nil {
		return nil
	}
	sessions, most := r.part.sessionShare(r.o.Sessions), openFiles()
	each := filesPerSession(r.plan, r.o.Profile.Bundled, within && r.o.Crew == nil)
	if free := max((most-otherFiles)/each, 0); sessions > free {
		return usagef("--sessions %d: this process may have %d files open, which is enough for %d sessions "+
			"(ask for fewer, or raise the limit, as with ulimit -Hn)", r.o.Sessions, most, free)
	}
	return nil
}

// filesPerSession is how many files the process that needs the most has open for each session: one for each of its
// parties, which a bundled target within this process doubles, and those of a bundled target.
func filesPerSession(plan steps.Load, bundled, within bool) int {
	each := 1
	if plan.Paired {
		each = 2
	}
	if within {
		each *= 2
	}
	if bundled {
		each += plan.Files
	}
	return each
}

// schedule has the times at which acts arrive, fixed in advance.
type schedule struct {
	rate     float64 // acts per second, of the whole shape
	duration time.Duration
	shape    Shape
}

// countActs returns how many acts arrive.
func (s schedule) countActs() int {
	whole := s.rate * s.duration.Seconds()
	switch s.shape {
	case Ramp:
		whole /= 2
	case Step:
		whole *= (steppings + 1) / 2.0 / steppings
	}
	return max(int(whole), 1)
}

// actTime returns when the act with a number, from 0, arrives: the inverse of the number of acts over time.
func (s schedule) actTime(n int) time.Duration {
	seconds := float64(n) / s.rate
	switch s.shape {
	case Ramp: // n = rate·t²/2D
		seconds = math.Sqrt(2 * s.duration.Seconds() * float64(n) / s.rate)
	case Step:
		seconds = s.stepTime(float64(n))
	}
	return min(time.Duration(seconds*float64(time.Second)), s.duration)
}

// stepTime is at for Step.
func (s schedule) stepTime(n float64) float64 {
	each := s.duration.Seconds() / steppings
	for i := range steppings {
		rate := s.rate * float64(i+1) / steppings
		if n < rate*each || i == steppings-1 {
			return each*float64(i) + n/rate
		}
		n -= rate * each
	}
	return s.duration.Seconds()
}

// stepAt returns in which step of Step a time is, from 0; 0 for other shapes.
func (s schedule) stepAt(at time.Duration) int {
	if s.shape != Step {
		return 0
	}
	return min(int(at*steppings/s.duration), steppings-1)
}
