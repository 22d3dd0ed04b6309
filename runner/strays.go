package runner

import (
	"fmt"

	"parley/reports"
	"parley/verdict"
)

// setStraysApart judges no scenario by what others may have done to it: where answers arrive at clients of other scenarios, what was
// missing or too much in a scenario that ran beside others is not tested. The clause that this breaks stays failed, and so does
// whatever failed in preflight and in scenarios that ran alone.
func (r *run) setStraysApart(d *driverRun) {
	count, clause, first := d.envs.Strays()
	if count == 0 {
		return
	}
	why := fmt.Sprintf("answers of this target arrive on the connections of other clients (%s), so this may be another scenario's", clause)
	apart := map[string]bool{}
	for _, pl := range d.plan {
		apart[pl.ID] = pl.Stage == 0 && !pl.Exclusive()
	}
	changed := 0
	r.mu.Lock()
	for id, sc := range r.results[d.name] {
		if apart[id] && unsettle(&sc, clause, why) {
			r.results[d.name][id] = sc
			changed++
		}
	}
	for i, j := range r.judged {
		if j.Driver == d.name && apart[j.Scenario] && j.Clause != clause && isBroken(j.Outcome) {
			r.judged[i].Outcome, r.judged[i].Reason = verdict.NotTested, why
		}
	}
	r.mu.Unlock()
	r.note(reports.Note{Kind: "target", Text: fmt.Sprintf("%d answers arrived on the connection of another client: %s. That breaks %s; what failed in %d scenarios "+
		"that ran beside others is not tested for that. If the target is given the connection in another way, "+
		"declare that (correlation; parley init finds it out); if it cannot tell connections apart, declare correlation: single", count, first, clause, changed)})
}

// unsettle takes the failures of a scenario back, but for those of one clause.
func unsettle(sc *reports.Scenario, but, why string) (changed bool) {
	worst := verdict.NotTested
	var kept []reports.Failure
	for _, f := range sc.Failures {
		if f.Clause == but {
			kept = append(kept, f)
		}
	}
	for i, c := range sc.Clauses {
		switch {
		case !isBroken(c.Outcome):
		case c.ID == but:
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
