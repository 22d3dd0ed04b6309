// Package runner carries out one run: it launches the target, plans and schedules the scenarios, has steps and
// monitors judge them, and produces the results from which every report is written.
package runner

import (
	"cmp"
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

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/llm"
	"parley/internal/llm/stub"
	"parley/internal/procgroup"
	"parley/reports"
	"parley/runner/tags"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// Options configures a run.
type Options struct {
	Protocols *steps.Protocols // available protocols
	Profile   *target.Profile  // of the target under test
	Launcher  target.Launcher  // how the target is started; nil: by its profile
	Browser   driver.Driver    // for pages; stays open after the run; nil: the run opens its own
	// the model behind an in-process target; nil: a stub is started if the profile asks for one
	Brain *llm.Brain

	Role            string   // of the target; "": as the profile declares, else the protocol's first
	Drivers         []string // nil: as the profile declares
	Tags            string   // a Cucumber tag expression; "" selects everything
	Strict          bool
	AllowIncomplete bool
	Concurrency     int // parallel scenarios; 0: the profile's
	Seed            int64
	Salt            uint32        // makes the harness's generated names unique; 0: random
	Explore         int           // random sequences to run after the features, if the protocol supports it
	CutPoints       bool          // also cut the protocol's courses at every point, after the features
	Shrinking       time.Duration // also bounds the search for a shorter failing sequence; 0: 15 s
	Baseline        *verdict.Baseline

	FS     fs.FS                  // features; nil: the embedded ones
	Own    []OwnFeature           // the user's; such a run never certifies
	Faults func() []reports.Fault // the effects of injected faults so far; such a run never certifies
	Beside bool                   // with Own: run the suite's scenarios too, not only its preflight
	Enough func(Planned) bool     // called before each scenario, concurrently; true skips it; may be nil
	// is called with the records of each scenario once its result is final, concurrently; may be nil. They are not kept
	Finished func(Planned, []transcript.Record)
	Out      string   // folder for transcripts and other evidence; "" keeps none
	Observer Observer // may be nil
	// Person is what a person types, for hooks that ask one. Nil: nobody does.
	Person *target.Lines

	Again string // command line of this run, for "again" in failures
	Godog GodogOptions

	// ends the run, and the others that share it, at the first failed clause; nil: none
	FailFast *FailFast
	Shard    Shard // the part of the suite to run

	known     bool // the target is known to speak its protocol: whatever it omits is judged
	unguarded bool // no preflight: every selected scenario runs
}

// GodogOptions shows the run in a Go test in godog's own formats.
type GodogOptions struct {
	Format string    // "" prints nothing
	Output io.Writer // nil: os.Stdout
	Tags   string    // a selection in godog's tag syntax
	Paths  []string  // feature files to select, such as tickets/3.3_unknown_ticket.feature:11
}

// Observer follows a run. Its methods are called concurrently.
type Observer interface {
	Planned(total int)
	ScenarioDone(reports.Scenario)
}

// Shrinker is an optional interface of observers that follow the shrinking of a random sequence.
type Shrinker interface {
	// Shrinking reports that a random sequence of so many lines has broken a clause; it is called again for each
	// shorter one.
	Shrinking(lines int)
}

// Withdrawer is an optional interface of observers that are told when a result does not stand.
type Withdrawer interface {
	// ScenarioWithdrawn reports that a scenario of which ScenarioDone has told is judged again alone, since another one
	// may have caused what it found. ScenarioDone follows once more.
	ScenarioWithdrawn(reports.Scenario)
}

// UsageError says that the requested run is impossible: exit code 2.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// run is the state of one run.
type run struct {
	o          Options
	protocol   steps.Protocol
	role       string
	everything []Planned           // all scenarios of the suite, whatever the selection
	concerned  map[string][]string // clause → the roles of targets that its scenarios and monitors judge
	client     map[string]bool     // the clauses that are judged of a client that is no target; nil for targets
	ledger     *verdict.Ledger
	brain      *llm.Brain
	modelURL   string
	shared     target.Running // see alive
	idle       chan *instance // see lendTarget
	crashes    int            // how often its process has exited by itself
	lastWords  string         // its stderr before that
	lock       sync.RWMutex   // exclusive scenarios take the write lock if they share the target; see also reset
	resets     int            // times that hooks.reset has failed in a row; guarded by lock
	stale      string         // why it is not run again
	unfresh    atomic.Bool    // hooks.reset has failed
	redact     *transcript.Redactor
	waits      shownWaits
	behaviour
	drivers []*driverRun
	pages   closingDriver // opens the target's page beside the drivers; nil: it has none
	started time.Time
	salt    uint32 // for the run's nonces

	mu          sync.Mutex
	results     map[string]map[string]reports.Scenario // driver → scenario id
	judged      []verdict.Judgement
	traces      map[string]map[string][]string // scenario id → driver → normalised transcript
	racing      map[string]bool                // scenarios whose course depends on a race
	notes       []reports.Note
	cuts        []reports.Cuts
	courses     []steps.Course // to be cut at every point
	cutSel      tags.Expr      // the selection of cut points
	env, lapsed string         // why the target could not be reached; that its credentials are refused by now
	broken      bool           // the harness failed
}

// driverRun is the state of a run over one driver.
type driverRun struct {
	name  string
	d     closingDriver
	plan  []Planned // the suite's scenarios, then the explored ones
	suite int       // number of the suite's scenarios in plan
	byKey map[string]Planned
	envs  *steps.Env

	mu      sync.Mutex
	failed  string      // why preflight failed; "" when it did not
	reached steps.Reach // the target's progress in preflight

	heard bool         // something of the protocol has arrived
	mute  atomic.Bool  // nothing at all has arrived within its limit
	held  []heldResult // results of preflight, held back until something has arrived

	explored []Planned                     // stand in the plan for random sequences, before these are drawn
	begun    map[string]int                // starts of each scenario, by id
	aside    map[asideReason][]asideResult // results that do not count yet, or may be withdrawn
	again    *rerun                        // while scenarios run again
	crowded  bool                          // many scenarios are running at once
	closed   map[asideReason]bool          // for which nothing is put aside any more
	beside   map[string]bool               // scenarios that ran beside others, by key
	workers  *slots                        // see occupying
	slots    *slots                        // of the scenarios after preflight
}

type closingDriver interface {
	driver.Driver
	io.Closer
}

// Run carries out a run. On a *UsageError nothing was run; every other problem is in the results.
func Run(ctx context.Context, o Options) (*reports.Results, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	defer r.closeRun()
	sweep()
	r.started = time.Now()
	if o.Observer != nil {
		o.Observer.Planned(r.planScenarios())
	}
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { deadline.Watch(watching) })
	defer func() { unwatch(); watch.Wait() }()
	if stop, err := r.launchTarget(ctx); err != nil {
		r.env = err.Error()
	} else {
		r.runDrivers(ctx)
		stop()
	}
	return r.sumUpRun(ctx), nil
}

// sweep clears away, once per process, what killed runs have left behind.
var sweep = sync.OnceFunc(procgroup.Sweep)

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
	if err := vetOptions(p, o); err != nil {
		return nil, err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	if err := checkBaseline(o.Baseline, ledger, p); err != nil {
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
	whole, concerned := all, rolesByClause(p, all)
	if all, err = withOwn(&o, p, role, all); err != nil {
		return nil, err
	}
	if all, err = keepSelected(forRole(p, role, all), o.FS, p, o.Godog); err != nil {
		return nil, err
	}
	explored, err := planSequences(p, role, o.Explore, sel)
	if err != nil {
		return nil, err
	}
	cuts, err := selectedCourses(p, role, o, sel, append(slices.Clone(all), explored...))
	if err != nil {
		return nil, err
	}
	r := &run{o: o, protocol: p, role: role, everything: whole, concerned: concerned, ledger: ledger,
		salt:   cmp.Or(o.Salt, mathrand.Uint32()&0xffffff),
		racing: map[string]bool{}, results: map[string]map[string]reports.Scenario{},
		traces: map[string]map[string][]string{}, redact: transcript.NewRedactor(o.Profile.Secrets...)}
	for _, p := range all {
		r.racing[p.ID] = p.hasTag("@race")
	}
	r.courses, r.cutSel = cuts, sel
	return r, r.openDrivers(all, explored, sel)
}

// vetOptions rejects options that do not go together, and files of the profile that cannot be used.
func vetOptions(p steps.Protocol, o Options) error {
	if v, ok := p.(steps.Vetter); ok {
		if err := v.Vet(o.Profile); err != nil {
			return &UsageError{Msg: err.Error()}
		}
	}
	return checkShard(o)
}

// openDrivers creates the drivers of a run, each with its plan.
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
	r.o.Shard.keepShard(r.drivers)
	if r.o.Profile.Reach().Page == "" {
		return nil
	}
	pages, err := newDriver(browser.Name, r.protocol, r.o)
	r.pages = pages
	return err
}

// requireSelection rejects an empty selection: it would judge nothing and look successful.
func requireSelection(text string, sel tags.Expr, all []Planned) error {
	for _, p := range all {
		if sel.Match(p.Marks()) {
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

func (r *run) planScenarios() int {
	n := 0
	for _, d := range r.drivers {
		n += len(d.plan)
	}
	return n
}

func (r *run) closeRun() {
	for _, d := range r.drivers {
		_ = d.d.Close()
	}
	if r.pages != nil {
		_ = r.pages.Close()
	}
}

// launchTarget starts the model stub and the target. The returned function stops both.
func (r *run) launchTarget(ctx context.Context) (func(), error) {
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
		stopWithin(stopLimit, r.shared.Stop)
		stopModel()
	}, nil
}

// stopLimit is how long a target may take to stop.
const stopLimit = 15 * time.Second

func stopWithin(d time.Duration, stop func(context.Context) error) {
	ctx, cancel := deadline.WithLimit(context.Background(), d)
	defer cancel()
	_ = stop(ctx)
}

// runDrivers runs every driver, in parallel if the target takes several connections at once.
func (r *run) runDrivers(ctx context.Context) {
	parallel := r.o.Concurrency
	if parallel == 0 {
		parallel = r.o.Profile.Parallel()
	}
	if r.o.Profile.Reach().Shared != "" { // regardless of Concurrency: scenarios in parallel would disturb each other
		parallel = r.countInstances()
		defer r.openInstances(parallel)()
	}
	each := max(parallel/len(r.drivers), 1)
	if parallel < len(r.drivers) || r.o.Godog.Format != "" {
		for _, d := range r.drivers {
			r.runDriver(ctx, d, parallel)
		}
		r.settleSilent(ctx, parallel)
		return
	}
	var wg sync.WaitGroup
	for _, d := range r.drivers {
		side := each
		if r.o.Concurrency == 0 && r.idle == nil {
			side = min(side, r.o.Profile.ParallelOver(d.name))
		}
		wg.Go(func() { r.runDriver(ctx, d, side) })
	}
	wg.Wait()
	r.settleSilent(ctx, each)
}

var errNoOut = errors.New("no folder for results")

// PrepareOut creates the results folder, and removes the transcripts and evidence of an earlier run, which it
// recognises by the driver's name. Other files stay.
func PrepareOut(dir string) error {
	if dir == "" {
		return errNoOut
	}
	if err := os.MkdirAll(filepath.Join(dir, "transcripts"), 0o755); err != nil {
		return fmt.Errorf("make the results' folder: %w", err)
	}
	for _, pattern := range leftoverPatterns() {
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

// leftoverPatterns returns the patterns of the files that runs write below the results folder, except reports.
func leftoverPatterns() []string {
	var out []string
	for _, driver := range []string{sse.Name, ws.Name, stdio.Name, browser.Name, r3labs.Name, Through, "load"} {
		for _, role := range []string{"", "[a-z]*-"} {
			scenario := driver + "-" + role + "[A-Z][A-Z]-*"
			out = append(out, filepath.Join("transcripts", scenario+".txt"),
				filepath.Join("transcripts", scenario+".jsonl"), filepath.Join("evidence", scenario+"-*.*"))
		}
	}
	return out
}
