package runner

import (
	"context"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/steps"
)

// A result may have a cause outside the scenario. Until the run knows, it is put aside; then the scenario runs again,
// or the result counts as it is.

// cause is why results are put aside.
type cause string

const (
	processEnded  cause = "the target's process ended"   // crash.go
	answersMissed cause = "answers were missing"         // overload.go
	preliminary   cause = "the run may learn more"       // steps.Doubt
	besideOthers  cause = "other scenarios may cause it" // strays.go
	mayBeFull     cause = "the target may be full"       // gateway.go
)

// aside is a scenario whose result does not count yet, or may be withdrawn.
type aside struct {
	pl     Planned
	res    steps.Result
	told   bool                     // it has been reported, and is withdrawn before the scenario runs again
	stands func(steps.Failure) bool // selects its failures that a rerun does not replace; nil: see standing

	missed bool // answers were late or refused

	after time.Duration // mayBeFull: time in the run at which it was refused

	// preliminary, without records
	report summary
	doubt  *steps.Doubt

	// answersMissed
	unheard  bool // the target was unreachable, or what stands before it was away
	cut      bool // see cutOff
	squeezed bool // it lost records to others
}

// putAside keeps a result for one cause.
func (d *driverRun) putAside(why cause, a aside) {
	if d.aside == nil {
		d.aside = map[cause][]aside{}
	}
	d.aside[why] = append(d.aside[why], a)
}

// takeAside returns what was put aside for a cause, the last time for good: from then on nothing is.
func (d *driverRun) takeAside(why cause, last bool) []aside {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.aside[why]
	delete(d.aside, why)
	if d.closed == nil {
		d.closed = map[cause]bool{}
	}
	d.closed[why] = last
	return list
}

// asTheyCame finishes scenarios that were put aside with their first results.
func (r *run) asTheyCame(d *driverRun, list []aside) {
	for _, a := range list {
		if !a.told {
			r.accept(d, a.pl, a.res)
		}
	}
}

// rerun is the state of scenarios that run again.
type rerun struct {
	first   map[string]steps.Result // their first results, by key; no other scenario runs
	alone   bool                    // one at a time
	kept    bool                    // their results go to results, and do not count by themselves
	results []aside

	passed   int // number of those that pass
	lost     int // number of those that lost records again
	culprits int // number of those that ended the target's process
}

// repeat runs scenarios again, as many at once as given. Without time left, a scenario is not tested.
func (r *run) repeat(ctx context.Context, d *driverRun, list []aside, parallel int, now rerun) *rerun {
	now.first, now.alone = map[string]steps.Result{}, parallel == 1
	for _, a := range list {
		r.withdraw(d, a)
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
	r.suite(ctx, d, rest, parallel)
	d.setAgain(nil)
	return &now
}

func (d *driverRun) setAgain(now *rerun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.again = now
}

// runs reports whether a scenario is one of those that run at present.
func (d *driverRun) runs(key string) bool {
	if d.again == nil {
		return true
	}
	_, again := d.again.first[key]
	return again
}

// kept keeps the result of a rerun that does not count by itself, and reports whether it did.
func (d *driverRun) kept(pl Planned, res steps.Result) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.again == nil || !d.again.kept {
		return false
	}
	d.again.results = append(d.again.results, aside{pl: pl, res: res})
	return true
}

// afresh combines the first result of a scenario with that of its rerun.
func (d *driverRun) afresh(pl Planned, res steps.Result) steps.Result {
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
	return standing(first, res)
}

// isPreliminary puts a result aside whose failures depend on what the run may still find out. Its records go, and its
// failures count for the waits of later scenarios. For mutants, which need no more once their clauses are broken, it is
// reported at once, and so is a result that has passed.
func (r *run) isPreliminary(d *driverRun, pl Planned, res steps.Result) bool {
	d.mu.Lock()
	closed := d.closed[preliminary] || d.again != nil && d.again.alone
	d.mu.Unlock()
	hasty := res.Hasty()
	if closed || pl.Stage != rest || pl.path() == "" || !res.Doubtful() && !hasty {
		return false
	}
	one := aside{pl: pl, told: r.o.Enough != nil || hasty, report: r.prepare(d, pl, res), doubt: res.Doubt,
		missed: res.Late > 0}
	if one.told {
		r.publish(d, pl, one.report)
	}
	d.mu.Lock()
	d.putAside(preliminary, one)
	d.mu.Unlock()
	return true
}

// reconsider judges preliminary results again that depend on what was found out meanwhile, and with them those that
// may have missed something because a clause of these counted as failed. The last time, the others are reported.
func (r *run) reconsider(ctx context.Context, d *driverRun, parallel int, last bool) {
	var again, others []aside
	var cleared []string
	for _, a := range d.takeAside(preliminary, last) {
		if a.doubt.Settled() {
			again, cleared = append(again, a), append(cleared, a.report.broken()...)
		} else {
			others = append(others, a)
		}
	}
	for _, a := range others {
		switch {
		case a.missed && slices.ContainsFunc(a.report.broken(), func(id string) bool {
			return slices.Contains(cleared, id)
		}):
			again = append(again, a)
		case !last:
			d.mu.Lock()
			d.putAside(preliminary, a)
			d.mu.Unlock()
		case !a.told:
			r.publish(d, a.pl, a.report)
		}
	}
	if len(again) == 0 {
		return
	}
	d.envs.Unjudge(cleared)
	d.mu.Lock()
	d.aside[besideOthers] = slices.DeleteFunc(d.aside[besideOthers], func(a aside) bool {
		return slices.ContainsFunc(again, func(b aside) bool { return a.pl.key == b.pl.key })
	})
	d.mu.Unlock()
	r.repeat(ctx, d, again, parallel, rerun{})
}

// broken returns the clauses of a report's failures.
func (s summary) broken() (out []string) {
	for _, f := range s.scenario.Failures {
		out = append(out, f.Clause)
	}
	return out
}
