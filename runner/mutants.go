package runner

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reports"
	"parley/runner/tags"
	"parley/steps"
	"parley/steps/monitor"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser"
)

// Mutant is a named fault of a bundled target, ready to run.
type Mutant struct {
	ID      string
	Clauses []string // all of which it must break
	Proves  []string // those of Clauses that its run has to show broken; nil: all
	Why     string   // why a real implementation would have this fault
	Control string   // tag expression of scenarios that must still pass; "" if the fault shows everywhere
	Drivers []string // over which it is judged
	Does    string   // what its row says that it does to messages; "": its code says it
	Launch  func(*llm.Brain) target.Launcher
}

// MutantOptions says which mutants to run.
type MutantOptions struct {
	Protocols   *steps.Protocols // what can be judged
	Protocol    string
	Role        string          // of the targets; "": the protocol's first
	Profile     *target.Profile // of the bundled target
	Mutants     []Mutant
	Concurrency int          // mutants in parallel; 0: 24, or 8 for pages, which share one browser
	OneControl  bool         // of each mutant's control scenarios only the first is run
	Whole       bool         // each mutant runs through the whole suite, so that Killed.Besides is known
	Done        func(Killed) // called for each mutant when done, concurrently; may be nil
	// called with each scenario of a mutant when it is done, concurrently; may be nil
	ScenarioDone func(id string, sc reports.Scenario)
	// called with each mutant's results, concurrently, and once more if it is judged with longer limits; every selected
	// scenario then runs, so that the results do not depend on which clause was broken first; may be nil
	Results func(id string, r *reports.Results)

	// shared by pages; nil without pages. Opening one costs too much for a preflight of each mutant
	browser driver.Driver
}

// Killed is the result of one mutant.
type Killed struct {
	ID      string            `json:"id"`
	Why     string            `json:"why"`
	Clauses map[string]string `json:"clauses"`          // clause → how it was judged: "killed", or why not
	Control []string          `json:"control_failures"` // control scenarios that did not pass
	// clause → the scenario or monitor that killed it, and its driver
	By map[string]string `json:"killed_by"`
	// clauses that it breaks besides its own; only with MutantOptions.Whole
	Besides  []string `json:"besides,omitempty"`
	Unfired  []string `json:"unfired,omitempty"` // its faults that changed no message, each with the reason
	OK       bool     `json:"ok"`                // every clause killed, every control passed
	Error    string   `json:"error,omitempty"`   // the mutant could not be run
	Duration float64  `json:"duration_ms"`
}

// Faulty is an optional interface of launchers whose targets have faults in their messages.
type Faulty interface {
	Unfired() []string // those that have changed no message, each with the reason
}

// KillMatrix shows that the tests of clauses detect faults.
type KillMatrix struct {
	Protocol string              `json:"protocol"`
	Role     string              `json:"role"`
	Suite    reports.Suite       `json:"suite"`
	Mutants  []Killed            `json:"mutants"`
	Clauses  map[string][]string `json:"clauses"`  // clause → mutants that it killed
	Unproved []string            `json:"unproved"` // binding tested clauses that no mutant proves
	// mutants with a clause that was not killed, or with a failed control
	Survived []string     `json:"survived"`
	Blame    *FaultSpread `json:"blame,omitempty"` // only with MutantOptions.Whole
	OK       bool         `json:"ok"`
	Duration float64      `json:"duration_ms"`
}

// Mutants runs each mutant against the clauses that it should break and its control scenarios, in parallel.
func Mutants(ctx context.Context, o MutantOptions) (*KillMatrix, error) {
	protocol, err := o.Protocols.Find(o.Protocol)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	ledger, err := steps.LedgerOf(protocol)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	pages := slices.Contains(o.Profile.Drivers, browser.Name)
	if o.Concurrency == 0 {
		o.Concurrency = 24
		if pages {
			o.Concurrency = 8
		}
	}
	if pages {
		shared := browser.New(browserOptions(o.Profile))
		defer shared.Close()
		o.browser = shared
	}
	all, err := Scenarios(protocol.Features(), protocol)
	if err != nil {
		return nil, err
	}
	if o.Role == "" {
		o.Role = steps.Roles(protocol)[0]
	}
	m := &KillMatrix{Protocol: o.Protocol, Role: o.Role, Suite: suiteOf(o.Protocols),
		Mutants: make([]Killed, len(o.Mutants)), Clauses: map[string][]string{}, Unproved: []string{}, Survived: []string{}}
	gate := make(chan struct{}, o.Concurrency)
	var wg sync.WaitGroup
	for i, mu := range o.Mutants {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			m.Mutants[i] = runMutant(ctx, o, mu)
			if o.Done != nil {
				o.Done(m.Mutants[i])
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("interrupted: %w", err)
	}
	m.fillMatrix(ledger, rolesByClause(protocol, all))
	m.Duration = millis(time.Since(started))
	return m, nil
}

// fillMatrix fills the matrix from the results of the mutants.
func (m *KillMatrix) fillMatrix(ledger *verdict.Ledger, concerned map[string][]string) {
	for _, k := range m.Mutants {
		for id, how := range k.Clauses {
			if how == killed && len(k.Control) == 0 {
				m.Clauses[id] = append(m.Clauses[id], k.ID)
			}
		}
		if !k.OK {
			m.Survived = append(m.Survived, k.ID)
		}
	}
	for _, row := range ledger.Rows() {
		if row.Tested() && row.Level.Binding() && !row.Cross && len(m.Clauses[row.ID]) == 0 &&
			slices.Contains(concerned[row.ID], m.Role) {
			m.Unproved = append(m.Unproved, row.ID)
		}
	}
	sort.Strings(m.Survived)
	m.Blame = FaultSpreadOf(m.Mutants)
	m.OK = len(m.Unproved) == 0 && len(m.Survived) == 0
}

const killed = "killed"

// MutantLimit is Limits.Event for mutants. It is short because a fault may be an answer that never comes, and each of
// these costs a whole limit. Mutants answer within milliseconds, and none waits for disk writes.
const MutantLimit = 2 * time.Second

// unhurried is the factor by which limits grow for a mutant that survived the short ones; the result is a user's
// limits.
const unhurried = 5

// runMutant runs one mutant. It tries short limits first to save time. On a busy machine a scenario may reach one of
// these, so that the mutant survives or a control scenario fails. The mutant then runs again with a user's limits,
// and that result counts.
func runMutant(ctx context.Context, o MutantOptions, mu Mutant) Killed {
	k := killWithin(ctx, o, mu, MutantLimit)
	if k.OK || k.Error != "" || ctx.Err() != nil {
		return k
	}
	first := k.Duration
	k = killWithin(ctx, o, mu, unhurried*MutantLimit)
	k.Duration += first
	return k
}

// killWithin runs one mutant with the given event limit, and other limits to match.
func killWithin(ctx context.Context, o MutantOptions, mu Mutant, limit time.Duration) (k Killed) {
	started := time.Now()
	k = Killed{ID: mu.ID, Why: mu.Why, Clauses: map[string]string{}, By: map[string]string{}, Control: []string{}}
	defer func() { k.Duration = millis(time.Since(started)) }()
	control, err := tags.Parse(mu.Control)
	if err != nil {
		k.Error = err.Error()
		return k
	}
	brain := llm.New()
	p := o.Profile.Clone()
	p.Limits.Event.Duration = limit
	p.Limits.Turn.Duration, p.Limits.HTTP.Duration, p.Limits.Reload.Duration = 2*limit, 2*limit, 2*limit
	if o.browser == nil { // a page waits for its browser, and may miss one thing after the other until a clause is proved
		p.Limits.Open.Duration, p.Limits.Scenario.Duration = 2*limit, 4*limit
	}
	seen := &mutantObserver{control: control, hasControl: mu.Control != "", alive: map[string]bool{},
		controlled: map[string]bool{}, id: mu.ID, done: o.ScenarioDone}
	for _, id := range mu.clausesToBreak() {
		seen.alive[id] = true
	}
	seen.proves = mu.clausesToBreak()
	if protocol, err := o.Protocols.Find(o.Protocol); err == nil {
		seen.monitors = protocol.Monitors()
	}
	seen.whole, seen.oneControl = o.Results != nil || o.Whole, o.OneControl
	launcher := mu.Launch(brain)
	res, err := Run(ctx, Options{Protocols: o.Protocols, Profile: p, Launcher: launcher, Browser: o.browser,
		known: true, unguarded: o.browser != nil, Role: o.Role, Observer: seen, Enough: seen.showsEnough, Brain: brain,
		Drivers: mu.Drivers, Concurrency: 1, Tags: o.tagSelection(mu, seen.monitors), Again: "parley mutants"})
	if err != nil {
		k.Error = err.Error()
		return k
	}
	if of, is := launcher.(Faulty); is {
		k.Unfired = of.Unfired()
	}
	if o.Results != nil && ctx.Err() == nil {
		o.Results(mu.ID, res)
	}
	if o.Whole {
		k.Besides = otherBroken(res.Runs[0], mu.Clauses)
	}
	res.Runs[0].Scenarios = slices.DeleteFunc(res.Runs[0].Scenarios, seen.isSpared)
	judgeMutant(&k, mu, res.Runs[0], control)
	k.OK = k.Error == "" && len(k.Control) == 0
	for _, how := range k.Clauses {
		k.OK = k.OK && how == killed
	}
	return k
}

// mutantObserver observes the run of a mutant. Only control scenarios and those that may still break a clause matter.
type mutantObserver struct {
	control    tags.Expr
	hasControl bool
	whole      bool // all scenarios matter
	oneControl bool
	monitors   []monitor.Monitor
	proves     []string // clauses
	id         string
	done       func(id string, sc reports.Scenario) // MutantOptions.ScenarioDone

	mu         sync.Mutex
	alive      map[string]bool
	controlled map[string]bool // control scenarios that were run, by driver and id
}

// Planned implements Observer.
func (k *mutantObserver) Planned(int) {}

// ScenarioDone implements Observer.
func (k *mutantObserver) ScenarioDone(sc reports.Scenario) {
	if k.done != nil {
		k.done(k.id, sc)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hasControl && k.control.Match(sc.Tags) {
		k.controlled[sc.Driver+" "+sc.ID] = true
	}
	for _, f := range sc.Failures {
		if f.Expected != stillRunning { // a crash does not kill a mutant
			delete(k.alive, f.Clause)
		}
	}
}

// ScenarioWithdrawn implements Withdrawer.
func (k *mutantObserver) ScenarioWithdrawn(sc reports.Scenario) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range sc.Failures {
		if slices.Contains(k.proves, f.Clause) {
			k.alive[f.Clause] = true
		}
	}
}

// isSpared reports whether a control scenario was not run because another one was.
func (k *mutantObserver) isSpared(sc reports.Scenario) bool {
	return k.oneControl && len(k.controlled) > 0 && k.hasControl && k.control.Match(sc.Tags) &&
		!k.controlled[sc.Driver+" "+sc.ID]
}

// showsEnough reports whether a scenario can show nothing more.
func (k *mutantObserver) showsEnough(pl Planned) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.whole || k.hasControl && k.control.Match(pl.Tags) && !(k.oneControl && len(k.controlled) > 0) {
		return false
	}
	for id := range k.alive {
		judges := func(m monitor.Monitor) bool { return slices.Contains(m.Clauses, id) }
		if pl.hasTag("@"+id) || slices.ContainsFunc(k.monitors, judges) {
			return false // its scenarios may break a clause, and a monitor may in any scenario
		}
	}
	return true
}

// clausesToBreak returns the clauses that a run of the mutant has to show broken.
func (m Mutant) clausesToBreak() []string {
	if m.Proves != nil {
		return m.Proves
	}
	return m.Clauses
}

// tagSelection returns the tag expression for the clauses that a mutant proves, and for its control. A monitor may find
// a clause broken in the scenarios of the mutant's other clauses, so these run too if a monitor judges what it proves.
func (o MutantOptions) tagSelection(mu Mutant, monitors []monitor.Monitor) string {
	if o.Whole {
		return ""
	}
	ids := mu.clausesToBreak()
	for _, m := range monitors {
		if slices.ContainsFunc(m.Clauses, func(id string) bool { return slices.Contains(ids, id) }) {
			ids = mu.Clauses
		}
	}
	var parts []string
	for _, id := range ids {
		parts = append(parts, "@"+id)
	}
	expr := strings.Join(parts, " or ")
	if mu.Control != "" {
		expr += " or " + mu.Control
	}
	return expr
}

// judgeMutant compares the results of a mutant with what it should break.
func judgeMutant(k *Killed, mu Mutant, run reports.Run, control tags.Expr) {
	if run.Environment != "" {
		k.Error = run.Environment
	}
	byID := map[string]reports.Clause{}
	for _, c := range run.Clauses {
		byID[c.ID] = c
	}
	for _, id := range mu.clausesToBreak() {
		c, ok := byID[id]
		switch {
		case !ok:
			k.Clauses[id] = "no such clause"
		case onlyCrashed(run, id):
			k.Clauses[id] = "its process ended, which proves nothing"
		case c.Outcome == verdict.Failed || c.Outcome == verdict.Warned:
			k.Clauses[id] = killed
			k.By[id] = killerOf(run, id)
		default:
			k.Clauses[id] = string(c.Outcome) + ": " + c.Reason
		}
	}
	for _, sc := range run.Scenarios {
		if sc.Outcome == verdict.HarnessError {
			k.Error = sc.ID + ": " + sc.Reason
		}
		if mu.Control != "" && sc.Outcome != verdict.Passed && control.Match(sc.Tags) && !concernsClauses(sc, mu.Clauses) {
			k.Control = append(k.Control, sc.Driver+" "+sc.ID+" "+sc.Name+": "+string(sc.Outcome)+": "+firstLine(sc.Reason))
		}
	}
}

// onlyCrashed reports whether a clause failed only because the target's process ended.
func onlyCrashed(run reports.Run, id string) bool {
	crashed := false
	for _, sc := range run.Scenarios {
		for _, f := range sc.Failures {
			if f.Clause == id && f.Expected != stillRunning {
				return false
			}
			crashed = crashed || f.Clause == id
		}
	}
	return crashed
}

// killerOf names the scenario or monitor that found a clause broken.
func killerOf(run reports.Run, id string) string {
	for _, sc := range run.Scenarios {
		for _, f := range sc.Failures {
			if f.Clause == id && f.Monitor != "" {
				return "monitor " + f.Monitor + " in " + sc.ID + " (" + sc.Driver + ")"
			}
			if f.Clause == id {
				return sc.ID + " (" + sc.Driver + ")"
			}
		}
	}
	return ""
}

func concernsClauses(sc reports.Scenario, clauses []string) bool {
	for _, c := range sc.Clauses {
		for _, id := range clauses {
			if c.Clause == id {
				return true
			}
		}
	}
	return false
}
