package runner

import (
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
			return &UsageError{Msg: "baseline: " + e.Clause + " is no clause of " + l.Protocol}
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
		}
		out = append(out, row)
	}
	return out
}
