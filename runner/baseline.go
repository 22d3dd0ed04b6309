package runner

import (
	"slices"
	"time"

	"parley/reports"
	"parley/verdict"
)

// checkBaseline refuses rows that name no clause of the ledger.
func checkBaseline(b *verdict.Baseline, l *verdict.Ledger) error {
	if b == nil {
		return nil
	}
	for _, e := range b.Expected {
		if _, ok := l.Row(e.Clause); !ok {
			return &UsageError{Msg: "baseline: " + e.Clause + " is not a clause of " + l.Protocol}
		}
	}
	return nil
}

// applyBaseline changes the outcome of clauses that the baseline knows, and tells what became of its rows.
func (r *run) applyBaseline(clauses []reports.Clause) []reports.BaselineRow {
	if r.o.Baseline == nil {
		return nil
	}
	at := map[string]int{}
	for i, c := range clauses {
		at[c.ID] = i
	}
	var out []reports.BaselineRow
	for _, e := range r.o.Baseline.Expected {
		i, known := at[e.Clause]
		row := reports.BaselineRow{Clause: e.Clause, Reason: e.Reason, Expires: e.Expires}
		var outcome verdict.Outcome
		if known {
			outcome = clauses[i].Outcome
		}
		outcome, row.State = e.Apply(outcome, known, time.Now())
		if known && outcome != clauses[i].Outcome {
			clauses[i].Outcome = outcome
			clauses[i].Reason = "baseline: " + e.Reason
			for d, o := range clauses[i].ByDriver {
				if o == verdict.Failed || o == verdict.Warned {
					clauses[i].ByDriver[d] = verdict.ExpectedFail
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// excuse changes the outcome of the clauses of scenarios which the baseline knows, and that of the scenarios to what is
// left.
func excuse(scenarios []reports.Scenario, clauses []reports.Clause) {
	over := map[string]verdict.Outcome{} // all scenarios
	for _, c := range clauses {
		over[c.ID] = c.Outcome
	}
	for i := range scenarios {
		sc := &scenarios[i]
		sc.Clauses = slices.Clone(sc.Clauses)
		found := map[verdict.Outcome]bool{}
		for j, c := range sc.Clauses {
			if (c.Outcome == verdict.Failed || c.Outcome == verdict.Warned) && over[c.Clause] == verdict.ExpectedFail {
				sc.Clauses[j].Outcome = verdict.ExpectedFail
			}
			found[sc.Clauses[j].Outcome] = true
		}
		for _, f := range sc.Failures { // those of monitors too, about clauses that the scenario is not tagged with
			found[over[f.Clause]] = true
		}
		if !found[verdict.ExpectedFail] || sc.Outcome != verdict.Failed && sc.Outcome != verdict.Warned {
			continue
		}
		switch {
		case found[verdict.Failed]:
			sc.Outcome = verdict.Failed
		case found[verdict.Warned]:
			sc.Outcome = verdict.Warned
		default:
			sc.Outcome = verdict.ExpectedFail
		}
	}
}
