package runner

import (
	"fmt"
	"slices"
	"strings"

	"parley/reports"
	"parley/verdict"
)

// setStraysApart handles answers that arrive at clients of other scenarios. Failures of scenarios that ran beside
// others become not tested, because another scenario may have caused them. Clauses that stray answers break stay
// failed, as does everything that failed in preflight or in scenarios that ran alone.
func (r *run) setStraysApart(d *driverRun) {
	count, first := d.envs.Strays()
	if count == 0 || r.o.Enough != nil {
		return
	}
	broken := slices.DeleteFunc(slices.Clone(first.Clauses), func(id string) bool { return !d.breaks(r, id) })
	if len(broken) == 0 { // a cause that is not reported justifies no change
		return
	}
	slices.Sort(broken)
	names := strings.Join(broken, ", ")
	why := fmt.Sprintf("%s (%s), so another scenario may have caused this", first.What, names)
	apart := map[string]bool{}
	for _, pl := range d.plan {
		apart[pl.ID] = pl.Stage == 0 && !pl.Exclusive()
	}
	changed := 0
	r.mu.Lock()
	for id, sc := range r.results[d.name] {
		if apart[id] && unsettle(&sc, broken, why) {
			r.results[d.name][id] = sc
			changed++
		}
	}
	for i, j := range r.judged {
		if j.Driver == d.name && apart[j.Scenario] && !slices.Contains(broken, j.Clause) && isBroken(j.Outcome) {
			r.judged[i].Outcome, r.judged[i].Reason = verdict.NotTested, why
		}
	}
	r.mu.Unlock()
	r.note(reports.Note{Kind: "target", Text: strings.TrimSpace(fmt.Sprintf("%s, %d times: %s. That breaks %s; "+
		"the failures of %d scenarios that ran in parallel count as not tested because of it. %s",
		first.What, count, first.Seen, names, changed, first.Advice))})
}

// breaks reports whether a clause was judged broken over a driver.
func (d *driverRun) breaks(r *run, clause string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.judged, func(j verdict.Judgement) bool {
		return j.Driver == d.name && j.Clause == clause && isBroken(j.Outcome)
	})
}

// unsettle withdraws the failures of a scenario, except those of the given clauses.
func unsettle(sc *reports.Scenario, but []string, why string) (changed bool) {
	worst := verdict.NotTested
	var kept []reports.Failure
	for _, f := range sc.Failures {
		if slices.Contains(but, f.Clause) {
			kept = append(kept, f)
		}
	}
	for i, c := range sc.Clauses {
		switch {
		case !isBroken(c.Outcome):
		case slices.Contains(but, c.Clause):
			worst = c.Outcome
		default:
			sc.Clauses[i].Outcome, sc.Clauses[i].Reason, changed = verdict.NotTested, why, true
		}
	}
	if changed = changed || len(kept) < len(sc.Failures); !changed {
		return false
	}
	sc.Failures = kept
	if sc.Outcome = worst; worst == verdict.NotTested {
		sc.Reason = why
	}
	return true
}

func isBroken(o verdict.Outcome) bool { return o == verdict.Failed || o == verdict.Warned }
