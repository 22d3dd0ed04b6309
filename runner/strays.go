package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/reports"
	"parley/steps"
)

// Answers that arrive at clients of other scenarios, and effects on them, show that scenarios in parallel disturb each
// other. From the first such stray on, each scenario has the target to itself, over all drivers. What had failed in
// parallel by then, or was still running, is judged again alone; only the failures of clauses that strays break stand.
// Nothing is judged again if no such clause was found broken: a cause that is not reported justifies no change.

// apart reports whether a scenario must have the target to itself because scenarios in parallel disturb each other.
func (r *run) apart(d *driverRun, pl *Planned) bool {
	strays, _ := d.envs.Strays()
	return strays > 0 && pl.Stage == rest && r.o.Enough == nil
}

// doubts keeps a result that another scenario may have caused, and reports whether it is held back: it is if strays
// have been seen. Otherwise it counts until some are.
func (r *run) doubts(d *driverRun, pl Planned, res steps.Result) (held bool) {
	strays, _ := d.envs.Strays()
	d.mu.Lock()
	defer d.mu.Unlock()
	broken := isBroken(res.Outcome) || len(res.Failures) > 0
	if d.closed[besideOthers] || !d.beside[pl.key] || !broken && (strays == 0 || res.Outcome != verdict.NotTested) {
		return false
	}
	one := aside{pl: pl, res: res.Abridged(abridged), told: strays == 0}
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
	broken := slices.DeleteFunc(slices.Clone(first.Clauses), func(id string) bool { return !d.breaks(r, list, id) })
	if len(broken) == 0 {
		r.asTheyCame(d, list)
		return
	}
	slices.Sort(broken)
	for i := range list {
		list[i].stands = func(f steps.Failure) bool { return slices.Contains(broken, f.Clause) }
	}
	limit := patience * r.o.Profile.Limits.Scenario.Duration
	limited, cancel := deadline.WithLimitCause(ctx, limit, &errNoTime{"scenarios disturbed each other", limit})
	defer cancel()
	passed := r.repeat(limited, d, list, 1, rerun{}).passed
	r.note(reports.Note{Kind: "target", Text: strings.TrimSpace(fmt.Sprintf("%s, %d times: %s. That breaks %s. From then "+
		"on the scenarios ran one at a time; of the %d that had not passed in parallel, %d pass alone. %s",
		first.What, count, first.Seen, strings.Join(broken, ", "), len(list), passed, first.Advice))})
}

// withdraw takes back a result that was reported.
func (r *run) withdraw(d *driverRun, one aside) {
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

// breaks reports whether a clause was judged broken over a driver.
func (d *driverRun) breaks(r *run, held []aside, clause string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.judged, func(j verdict.Judgement) bool {
		return j.Driver == d.name && j.Clause == clause && isBroken(j.Outcome)
	}) || slices.ContainsFunc(held, func(one aside) bool {
		return slices.ContainsFunc(one.res.Failures, func(f steps.Failure) bool { return f.Clause == clause })
	})
}

func isBroken(o verdict.Outcome) bool { return o == verdict.Failed || o == verdict.Warned }
