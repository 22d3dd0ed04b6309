package runner

import (
	"slices"
	"time"

	"parley/reports"
	"parley/verdict"
)

// checkBaseline returns a *UsageError if a row names a clause that the ledger does not have.
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

// applyBaseline applies the baseline to the outcomes of clauses, and returns the state of each row.
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

// excuse sets the clauses of scenarios that the baseline excuses to expected-fail, and updates each scenario's
// outcome.
func excuse(scenarios []reports.Scenario, clauses []reports.Clause) {
	over := map[string]verdict.Outcome{} // by clause, over all scenarios
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
		for _, f := range sc.Failures { // includes monitors' failures, whose clauses the scenario may not be tagged with
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
