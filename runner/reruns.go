package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/reports"
	"parley/steps"
)

// A result may have a cause outside the scenario. Until the run knows, it is put aside; then the scenario runs again,
// or the result counts as it is.

// asideReason is why results are put aside.
type asideReason string

const (
	processEnded  asideReason = "the target's process ended"   // crash.go
	answersMissed asideReason = "answers were missing"         // overload.go
	preliminary   asideReason = "the run may learn more"       // steps.Doubt
	besideOthers  asideReason = "other scenarios may cause it" // strays.go
	mayBeFull     asideReason = "the target may be full"       // gateway.go
)

// asideResult is a scenario whose result does not count yet, or may be withdrawn.
type asideResult struct {
	pl     Planned
	res    steps.Result
	told   bool                     // it has been reported, and is withdrawn before the scenario runs again
	stands func(steps.Failure) bool // selects its failures that a rerun does not replace; nil: see standing

	missed bool // answers were late or refused

	after time.Duration // mayBeFull: time in the run at which it was refused

	// preliminary, without records
	report storedResult
	doubt  *steps.Doubt

	// answersMissed
	unheard  bool // the target was unreachable, or what stands before it was away
	cut      bool // see cutOff
	squeezed bool // it lost records to others
}

// putAside keeps a result for one cause.
func (d *driverRun) putAside(why asideReason, a asideResult) {
	if d.aside == nil {
		d.aside = map[asideReason][]asideResult{}
	}
	d.aside[why] = append(d.aside[why], a)
}

// takeAside returns what was put aside for a cause, the last time for good: from then on nothing is.
func (d *driverRun) takeAside(why asideReason, last bool) []asideResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.aside[why]
	delete(d.aside, why)
	if d.closed == nil {
		d.closed = map[asideReason]bool{}
	}
	d.closed[why] = last
	return list
}

// finishAside finishes scenarios that were put aside with their first results.
func (r *run) finishAside(d *driverRun, list []asideResult) {
	for _, a := range list {
		if !a.told {
			r.acceptResult(d, a.pl, a.res)
		}
	}
}

// rerun is the state of scenarios that run again.
type rerun struct {
	first   map[string]steps.Result // their first results, by key; no other scenario runs
	alone   bool                    // one at a time, or each on an instance of its own
	idle    chan *instance          // these instances; nil: they share the target
	kept    bool                    // their results go to results, and do not count by themselves
	results []asideResult

	passed   int // number of those that pass
	lost     int // number of those that lost records again
	culprits int // number of those that ended the target's process
}

// repeatScenarios runs scenarios again, as many at once as given. Without time left, a scenario is not tested.
func (r *run) repeatScenarios(ctx context.Context, d *driverRun, list []asideResult, parallel int, now rerun) *rerun {
	now.first, now.alone = map[string]steps.Result{}, parallel == 1 || now.idle != nil
	for _, a := range list {
		r.withdrawResult(d, a)
		if a.stands != nil {
			a.res.Failures = slices.DeleteFunc(slices.Clone(a.res.Failures),
				func(f steps.Failure) bool { return !a.stands(f) })
		}
		now.first[a.pl.key] = a.res
	}
	if len(list) == 0 {
		return &now
	}
	d.setAgain(&now)
	r.runStage(ctx, d, rest, parallel)
	d.setAgain(nil)
	return &now
}

func (d *driverRun) setAgain(now *rerun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.again = now
}

// isRunning reports whether a scenario is one of those that run at present.
func (d *driverRun) isRunning(key string) bool {
	if d.again == nil {
		return true
	}
	_, again := d.again.first[key]
	return again
}

// keepRerun keeps the result of a rerun that does not count by itself, and reports whether it did.
func (d *driverRun) keepRerun(pl Planned, res steps.Result) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.again == nil || !d.again.kept {
		return false
	}
	d.again.results = append(d.again.results, asideResult{pl: pl, res: res})
	return true
}

// combineRerun combines the first result of a scenario with that of its rerun.
func (d *driverRun) combineRerun(pl Planned, res steps.Result) steps.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.again == nil {
		return res
	}
	first, again := d.again.first[pl.key]
	if !again {
		return res
	}
	if res.Lost > 0 {
		d.again.lost++
	}
	if res.Outcome == verdict.Passed {
		d.again.passed++
	}
	return standingFailures(first, res)
}

// isPreliminary puts a result aside whose failures depend on what the run may still find out. Its records go, and its
// failures count for the waits of later scenarios. For mutants, which need no more once their clauses are broken, it is
// reported at once, and so is a result that has passed.
func (r *run) isPreliminary(d *driverRun, pl Planned, res steps.Result) bool {
	d.mu.Lock()
	closed := d.closed[preliminary] || d.again != nil && d.again.alone
	d.mu.Unlock()
	hasty := res.Hasty()
	if closed || pl.Stage != rest || pl.file == "" || !res.Doubtful() && !hasty {
		return false
	}
	one := asideResult{pl: pl, told: r.o.Enough != nil || hasty, report: r.prepareResult(d, pl, res), doubt: res.Doubt,
		missed: res.Late > 0}
	if one.told {
		r.publishResult(d, pl, one.report)
	}
	d.mu.Lock()
	d.putAside(preliminary, one)
	d.mu.Unlock()
	return true
}

// judgeAgain judges preliminary results again that depend on what was found out meanwhile, and with them those that
// may have missed something because a clause of these counted as failed. The last time, the others are reported.
func (r *run) judgeAgain(ctx context.Context, d *driverRun, parallel int, last bool) {
	var again, others []asideResult
	var cleared []string
	for _, a := range d.takeAside(preliminary, last) {
		if a.doubt.Settled() {
			again, cleared = append(again, a), append(cleared, a.report.brokenClauses()...)
		} else {
			others = append(others, a)
		}
	}
	for _, a := range others {
		switch {
		case a.missed && slices.ContainsFunc(a.report.brokenClauses(), func(id string) bool {
			return slices.Contains(cleared, id)
		}):
			again = append(again, a)
		case !last:
			d.mu.Lock()
			d.putAside(preliminary, a)
			d.mu.Unlock()
		case !a.told:
			r.publishResult(d, a.pl, a.report)
		}
	}
	if len(again) == 0 {
		return
	}
	d.envs.Unjudge(cleared)
	d.mu.Lock()
	d.aside[besideOthers] = slices.DeleteFunc(d.aside[besideOthers], func(a asideResult) bool {
		return slices.ContainsFunc(again, func(b asideResult) bool { return a.pl.key == b.pl.key })
	})
	d.mu.Unlock()
	r.repeatScenarios(ctx, d, again, parallel, rerun{})
}

// brokenClauses returns the clauses of a report's failures.
func (s storedResult) brokenClauses() (out []string) {
	for _, f := range s.scenario.Failures {
		out = append(out, f.Clause)
	}
	return out
}

// A scenario that missed something beside others is judged by its rerun alone. But what arrived wrong in the first
// run is wrong whatever the rerun shows: those failures stand.

const (
	whileBeside = "the faults were found while it ran in parallel; the rest was judged by a run of its own"
	whenAlone   = "; that was in the repeated run of its own"
)

// standingFailures returns the result of a scenario's rerun alone, with the failures of its first run that stand. If
// there are any, the first run's transcript is kept.
func standingFailures(first, alone steps.Result) steps.Result {
	wrong := slices.DeleteFunc(slices.Clone(first.Failures),
		func(f steps.Failure) bool { return !f.Stands(first.Records) })
	if len(wrong) == 0 {
		first.Release()
		return alone
	}
	alone.Release()
	res := first
	res.Failures, res.Clauses, res.Monitors = wrong, slices.Clone(alone.Clauses), slices.Clone(alone.Monitors)
	res.Notes = append(slices.Clone(first.Notes), whileBeside)
	res.Outcome, res.Reason = alone.Outcome, alone.Reason
	if bySteps := slices.DeleteFunc(slices.Clone(wrong), byMonitor); res.Outcome != verdict.Failed && len(bySteps) > 0 {
		res.Outcome, res.Reason = steps.WorstOf(bySteps), bySteps[0].Observed
	}
	for _, f := range wrong {
		about := func(j verdict.Judgement) bool { return j.Clause == f.Clause && j.Monitor == f.Monitor }
		if i := slices.IndexFunc(res.Clauses, about); i >= 0 && res.Clauses[i].Outcome != verdict.Failed {
			res.Clauses[i].Outcome, res.Clauses[i].Reason = f.Outcome, f.Observed
		}
		if byMonitor(f) {
			res.Monitors = append(slices.DeleteFunc(res.Monitors, about),
				verdict.Judgement{Clause: f.Clause, Outcome: f.Outcome, Reason: f.Observed, Monitor: f.Monitor})
		}
	}
	for _, f := range alone.Failures {
		if !byMonitor(f) || !slices.ContainsFunc(wrong, func(g steps.Failure) bool {
			return g.Monitor == f.Monitor &&
				g.Clause == f.Clause
		}) {
			res.Failures = append(res.Failures, ofAnother(f))
		}
	}
	return res
}

func byMonitor(f steps.Failure) bool { return f.Monitor != "" }

// ofAnother adapts a failure of the rerun to the first run's transcript, which does not show it.
func ofAnother(f steps.Failure) steps.Failure {
	f.At = 0
	f.Observed += whenAlone
	f.Following = slices.Clone(f.Following)
	for i := range f.Following {
		f.Following[i].At = 0
	}
	return f
}

// Answers that arrive at clients of other scenarios, and effects on them, show that scenarios in parallel disturb each
// other. From the first such stray on, each scenario has the target to itself, over all drivers. What had failed in
// parallel by then, or was still running, is judged again alone; only the failures of clauses that strays break stand.
// Nothing is judged again if no such clause was found broken: a cause that is not reported justifies no change.

// runsAlone reports whether a scenario must have the target to itself because scenarios in parallel disturb each other.
func (r *run) runsAlone(d *driverRun, pl *Planned) bool {
	strays, _ := d.envs.Strays()
	return strays > 0 && pl.Stage == rest && r.o.Enough == nil
}

// holdDoubtful keeps a result that another scenario may have caused, and reports whether it is held back: it is if
// strays have been seen. Otherwise it counts until some are.
func (r *run) holdDoubtful(d *driverRun, pl Planned, res steps.Result) (held bool) {
	strays, _ := d.envs.Strays()
	d.mu.Lock()
	defer d.mu.Unlock()
	broken := isBroken(res.Outcome) || len(res.Failures) > 0
	if d.closed[besideOthers] || !d.beside[pl.key] || !broken && (strays == 0 || res.Outcome != verdict.NotTested) {
		return false
	}
	one := asideResult{pl: pl, res: res.Abridged(abridged), told: strays == 0}
	if one.told && one.res.Memory() > doubtedBytes {
		one.res.Records = nil // its rerun decides alone
	}
	d.putAside(besideOthers, one)
	return !one.told
}

// doubtedBytes is how much of a reported result is kept in case that it is judged again.
const doubtedBytes = 1 << 20

// judgeDoubted judges the scenarios alone that others may have disturbed.
func (r *run) judgeDoubted(ctx context.Context, d *driverRun) {
	list := d.takeAside(besideOthers, true)
	count, first := d.envs.Strays()
	if count == 0 || r.o.Enough != nil {
		return
	}
	broken := slices.DeleteFunc(slices.Clone(first.Clauses), func(id string) bool { return !d.isBroken(r, list, id) })
	if len(broken) == 0 {
		r.finishAside(d, list)
		return
	}
	slices.Sort(broken)
	count, first = d.envs.Strays(broken...)
	for i := range list {
		list[i].stands = func(f steps.Failure) bool { return slices.Contains(broken, f.Clause) }
	}
	limit := patience * r.o.Profile.Limits.Scenario.Duration
	limited, cancel := deadline.WithLimitCause(ctx, limit, &errNoTime{"scenarios disturbed each other", limit})
	defer cancel()
	passed := r.repeatScenarios(limited, d, list, 1, rerun{}).passed
	r.addNote(reports.Note{Kind: "target",
		Text: strings.TrimSpace(fmt.Sprintf("%s, %d times: %s. That breaks %s. From then "+
			"on the scenarios ran one at a time; of the %d that had not passed in parallel, %d pass alone. %s",
			first.What, count, first.Seen, strings.Join(broken, ", "), len(list), passed, first.Advice))})
}

// withdrawResult takes back a result that was reported.
func (r *run) withdrawResult(d *driverRun, one asideResult) {
	if !one.told {
		return
	}
	r.mu.Lock()
	sc := r.results[d.name][one.pl.ID]
	delete(r.results[d.name], one.pl.ID)
	r.judged = slices.DeleteFunc(r.judged, func(j verdict.Judgement) bool {
		return j.Driver == d.name && j.Scenario == one.pl.ID
	})
	r.mu.Unlock()
	if o, ok := r.o.Observer.(Withdrawer); ok {
		o.ScenarioWithdrawn(sc)
	}
}

// isBroken reports whether a clause was judged broken over a driver.
func (d *driverRun) isBroken(r *run, held []asideResult, clause string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.judged, func(j verdict.Judgement) bool {
		return j.Driver == d.name && j.Clause == clause && isBroken(j.Outcome)
	}) || slices.ContainsFunc(held, func(one asideResult) bool {
		return slices.ContainsFunc(one.res.Failures, func(f steps.Failure) bool { return f.Clause == clause })
	})
}

func isBroken(o verdict.Outcome) bool { return o == verdict.Failed || o == verdict.Warned }
