// Package runner carries out one run: it launches the target, plans which scenarios will run, schedules them, lets
// steps and monitors judge, and makes the results from which every report is written.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/driver"
	"parley/driver/browser"
	"parley/driver/r3labs"
	"parley/driver/sse"
	"parley/driver/stdio"
	"parley/driver/ws"
	"parley/internal/deadline"
	"parley/llm"
	"parley/llm/stub"
	"parley/reports"
	"parley/runner/tags"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
)

// Options says what to run.
type Options struct {
	Protocols *steps.Protocols // what can be judged
	Profile   *target.Profile  // what is under test
	Launcher  target.Launcher  // how it is started; nil: by its profile
	Browser   driver.Driver    // the browser of pages, which stays open; nil: one of the run's own
	// the brain behind a target in this process; nil: a stub is started when the profile asks for one
	Brain *llm.Brain

	Role            string   // of the target; "": what the profile declares, else the protocol's first
	Drivers         []string // nil: what the profile declares
	Tags            string   // a Cucumber tag expression; "" selects everything
	Strict          bool
	AllowIncomplete bool
	Concurrency     int // scenarios side by side; 0: the profile's
	Seed            int64
	Explore         int           // random sequences to run behind the features, where the protocol can be explored
	Shrinking       time.Duration // bounds the search for a shorter sequence that fails, too; 0: 15 s
	Baseline        *verdict.Baseline

	FS fs.FS // features; nil: the embedded ones
	// asked before each scenario, from many goroutines: whether nothing depends on it any more; may be nil
	Enough   func(Planned) bool
	Out      string   // folder for transcripts and other evidence; "" keeps none
	Observer Observer // may be nil
	Again    string   // how this run is called on the command line, for "again" in failures
	Godog    GodogOptions

	known     bool // the target speaks its protocol: whatever it leaves out is judged
	unguarded bool // no preflight: every scenario that is selected is asked
}

// GodogOptions lets a Go test show the run in godog's own formats.
type GodogOptions struct {
	Format string    // "" prints nothing
	Output io.Writer // nil: os.Stdout
	Tags   string    // a selection in godog's own dialect
	Paths  []string  // a selection of feature files, such as tickets/3.3_unknown_ticket.feature:11
}

// Observer follows a run. Its methods are called from many goroutines.
type Observer interface {
	Planned(total int)
	ScenarioDone(reports.Scenario)
}

// Shrinker is what an observer offers beyond that wants to know of a sequence which is made shorter.
type Shrinker interface {
	// Shrinking tells that a random sequence has broken a clause, and by how many lines; called for each shorter one too.
	Shrinking(lines int)
}

// UsageError tells that a run was asked for that cannot be: exit code 2.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// run is the state of one run.
type run struct {
	o         Options
	protocol  steps.Protocol
	role      string
	concerned map[string][]string // clause → the roles of targets that its scenarios and monitors judge
	ledger    *verdict.Ledger
	brain     *llm.Brain
	modelURL  string
	shared    target.Running // see alive
	crashes   int            // how often its process has ended by itself
	lastWords string         // what it wrote to stderr before that
	lock      sync.RWMutex   // exclusive scenarios write, where they have no target of their own
	redact    *transcript.Redactor
	drivers   []*driverRun
	started   time.Time
	salt      uint32 // of the run's nonces

	mu      sync.Mutex
	results map[string]map[string]reports.Scenario // driver → scenario id
	judged  []verdict.Judgement
	traces  map[string]map[string][]string // scenario id → driver → normalised transcript
	racing  map[string]bool                // scenarios whose course depends on who is faster
	notes   []reports.Note
	env     string // why the target could not be reached
	broken  bool   // the harness failed
}

// driverRun is what a run knows of one driver.
type driverRun struct {
	name  string
	d     closingDriver
	plan  []Planned // the suite's scenarios, and behind them the explored ones
	suite int       // how many of them are the suite's
	byKey map[string]Planned
	envs  *steps.Env

	mu      sync.Mutex
	failed  string      // why preflight failed; "" when it did not
	reached steps.Reach // how far the target has come in preflight

	heard bool        // something of the protocol has come
	mute  atomic.Bool // nothing whatever has, for as long as it may take
	held  []held      // results of preflight as long as nothing has

	explored   []Planned               // places of random sequences
	bystanders []aside                 // scenarios during which the target's process ended, and what came of them then
	culprits   int                     // scenarios that have ended it alone
	rerun      *[]aside                // while bystanders run again: what comes of them
	suspects   map[string]bool         // while these run again, alone: only they
	before     map[string]steps.Result // while they do after an overload: what came of them beside others
	hold       int                     // how many of those have passed
	begun      map[string]int          // how often each scenario has, by its id
	crowded    bool                    // while many scenarios run at once
	aside      []aside                 // those among them that had to do without an answer
	workers    *slots                  // see occupying
	slots      *slots                  // of the scenarios behind preflight
}

type closingDriver interface {
	driver.Driver
	io.Closer
}

// Run carries out a run. A *UsageError means that nothing was run; every other problem is in the results.
func Run(ctx context.Context, o Options) (*reports.Results, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.started = time.Now()
	if o.Observer != nil {
		o.Observer.Planned(r.planned())
	}
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { deadline.Watch(watching) })
	defer func() { unwatch(); watch.Wait() }()
	if stop, err := r.launch(ctx); err != nil {
		r.env = err.Error()
	} else {
		r.all(ctx)
		stop()
	}
	return r.report(ctx), nil
}

func newRun(o Options) (*run, error) {
	if o.Launcher == nil {
		o.Launcher = target.NewLauncher(o.Profile)
	}
	p, err := o.Protocols.Find(o.Profile.Protocol)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	if o.FS == nil {
		o.FS = p.Features()
	}
	role, err := roleOf(p, o)
	if err != nil {
		return nil, err
	}
	if v, ok := p.(steps.Vetter); ok {
		if err := v.Vet(o.Profile); err != nil {
			return nil, &UsageError{Msg: err.Error()}
		}
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	if err := checkBaseline(o.Baseline, ledger); err != nil {
		return nil, err
	}
	sel, err := tags.Parse(o.Tags)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	all, err := Scenarios(o.FS, p)
	if err != nil {
		return nil, err
	}
	concerned := concerned(p, all)
	if all, err = keep(forRole(p, role, all), o.FS, steps.Name(p), o.Godog); err != nil {
		return nil, err
	}
	explored, err := explorations(p, o.Explore, sel)
	if err != nil {
		return nil, err
	}
	if err := selects(o.Tags, sel, append(slices.Clone(all), explored...)); err != nil {
		return nil, err
	}
	r := &run{o: o, protocol: p, role: role, concerned: concerned, ledger: ledger, salt: mathrand.Uint32() & 0xffffff,
		racing: map[string]bool{}, results: map[string]map[string]reports.Scenario{},
		traces: map[string]map[string][]string{}, redact: transcript.NewRedactor(o.Profile.Secrets...)}
	for _, p := range all {
		r.racing[p.ID] = p.has("@race")
	}
	return r, r.openDrivers(all, explored, sel)
}

// openDrivers makes the drivers of a run, each with its plan.
func (r *run) openDrivers(all, explored []Planned, sel tags.Expr) error {
	for _, name := range driverNames(r.o) {
		d, err := newDriver(name, r.protocol, r.o)
		if err != nil {
			return err
		}
		dr := &driverRun{name: name, d: d, plan: forDriver(all, name, sel, r.o.unguarded), byKey: map[string]Planned{},
			workers: newWorkers(), slots: newSlots(1, 0)}
		for _, pl := range dr.plan {
			dr.byKey[pl.key] = pl
		}
		dr.suite, dr.explored = len(dr.plan), explored
		dr.plan = append(dr.plan, explored...)
		r.drivers = append(r.drivers, dr)
		r.results[name] = map[string]reports.Scenario{}
	}
	return nil
}

// selects refuses a selection that selects nothing: it would judge nothing and look well.
func selects(text string, sel tags.Expr, all []Planned) error {
	for _, p := range all {
		if sel.Match(p.Tags) {
			return nil
		}
	}
	if text == "" {
		return &UsageError{Msg: "the selection of features selects no scenario"}
	}
	return &UsageError{Msg: fmt.Sprintf("tag expression %q selects no scenario; "+
		"`list` shows the clauses that can be named", text)}
}

func driverNames(o Options) []string {
	if len(o.Drivers) > 0 {
		return o.Drivers
	}
	return o.Profile.Drivers
}

// kept is a driver that is not closed with the run.
type kept struct{ driver.Driver }

func (kept) Close() error { return nil }

func newDriver(name string, protocol steps.Protocol, o Options) (closingDriver, error) {
	switch name {
	case sse.Name:
		return sse.New(), nil
	case ws.Name:
		return ws.New(protocol.Subprotocols(o.Profile)...), nil
	case stdio.Name:
		return stdio.New(), nil
	case browser.Name:
		if o.Browser != nil {
			return kept{o.Browser}, nil
		}
		return browser.New(browser.Options{Command: o.Profile.Reach().Browser}), nil
	case r3labs.Name:
		return r3labs.New(), nil
	}
	return nil, &UsageError{Msg: fmt.Sprintf("driver %q is unknown; known: sse, ws, stdio, browser, r3labs, all", name)}
}

func (r *run) planned() int {
	n := 0
	for _, d := range r.drivers {
		n += len(d.plan)
	}
	return n
}

func (r *run) close() {
	for _, d := range r.drivers {
		_ = d.d.Close()
	}
}

// launch starts the model stub and the target. The returned function stops both.
func (r *run) launch(ctx context.Context) (func(), error) {
	stopModel := func() {}
	r.brain = r.o.Brain
	if r.brain == nil && r.o.Profile.UsesModel() {
		r.brain = llm.New()
		srv, err := stub.Start(r.brain)
		if err != nil {
			return nil, fmt.Errorf("start the model stub: %w", err)
		}
		r.modelURL = srv.URL()
		stopModel = func() { stopWithin(5*time.Second, srv.Close) }
	}
	running, err := r.o.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: r.modelURL})
	if err != nil {
		stopModel()
		return nil, err
	}
	r.shared = running
	return func() {
		stopWithin(15*time.Second, r.shared.Stop)
		stopModel()
	}, nil
}

func stopWithin(d time.Duration, stop func(context.Context) error) {
	ctx, cancel := deadline.WithLimit(context.Background(), d)
	defer cancel()
	_ = stop(ctx)
}

// all runs every driver; side by side where the target takes several connections at once.
func (r *run) all(ctx context.Context) {
	parallel := r.o.Concurrency
	if parallel == 0 {
		parallel = r.o.Profile.Parallel()
	}
	if r.o.Profile.Reach().Shared != "" { // whatever was asked for: more at once would disturb each other
		parallel = 1
	}
	each := max(parallel/len(r.drivers), 1)
	if parallel < len(r.drivers) || r.o.Godog.Format != "" {
		for _, d := range r.drivers {
			r.drive(ctx, d, parallel)
		}
		r.settle(ctx, parallel)
		return
	}
	var wg sync.WaitGroup
	for _, d := range r.drivers {
		side := each
		if r.o.Concurrency == 0 {
			side = min(side, r.o.Profile.ParallelOver(d.name))
		}
		wg.Go(func() { r.drive(ctx, d, side) })
	}
	wg.Wait()
	r.settle(ctx, each)
}

// writeTranscript keeps the wire evidence of a scenario, with secrets blanked.
func (r *run) writeTranscript(d *driverRun, pl Planned, records []transcript.Record) *reports.Transcript {
	if r.o.Out == "" || len(records) == 0 {
		return nil
	}
	rel := filepath.Join("transcripts", d.name+"-"+r.roleName()+pl.ID+".txt")
	t, err := writeTranscript(r.o.Out, rel, pl, records, r.redact)
	if err != nil {
		r.notWritten("transcript", err)
		return nil
	}
	return t
}

var errNoOut = errors.New("no folder for results")

// PrepareOut makes the results' folder, and removes the transcripts and the evidence that an earlier run left in it:
// those that bear the name of a driver. Whatever else lies there stays.
func PrepareOut(dir string) error {
	if dir == "" {
		return errNoOut
	}
	if err := os.MkdirAll(filepath.Join(dir, "transcripts"), 0o755); err != nil {
		return fmt.Errorf("make the results' folder: %w", err)
	}
	for _, pattern := range leftovers() {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return fmt.Errorf("look into the results' folder: %w", err)
		}
		for _, f := range found {
			if err := os.Remove(f); err != nil {
				return fmt.Errorf("remove what an earlier run left: %w", err)
			}
		}
	}
	return nil
}

// leftovers are the patterns of the files that runs write below the results' folder, reports apart.
func leftovers() []string {
	var out []string
	for _, driver := range []string{sse.Name, ws.Name, stdio.Name, browser.Name, r3labs.Name} {
		for _, role := range []string{"", "[a-z]*-"} {
			scenario := driver + "-" + role + "[A-Z][A-Z]-*"
			out = append(out, filepath.Join("transcripts", scenario+".txt"), filepath.Join("evidence", scenario+"-*.*"))
		}
	}
	return out
}
