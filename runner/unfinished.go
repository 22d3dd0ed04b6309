package runner

import (
	"cmp"
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports"
)

// unfinished returns the judgements of scenarios that were cut off and might have broken a binding clause that counts,
// in order of their scenarios.
func (r *run) unfinished(clauses []reports.Clause) (out []verdict.Judgement) {
	counts := map[string]bool{}
	for _, c := range clauses {
		counts[c.ID] = !c.Excluded && !c.OtherRole && r.ledger.Level(c.ID).Binding()
	}
	for _, j := range r.judged {
		if j.Unfinished && j.Outcome == verdict.NotTested && counts[j.Clause] {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b verdict.Judgement) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Clause, b.Clause))
	})
	return out
}

// cutOffNotes names the scenarios that were cut off, if clauses passed elsewhere that they might have broken.
func (r *run) cutOffNotes(clauses []reports.Clause) []reports.Note {
	passed := map[string]bool{}
	for _, c := range clauses {
		passed[c.ID] = c.Outcome == verdict.Passed
	}
	cut := slices.DeleteFunc(r.unfinished(clauses), func(j verdict.Judgement) bool { return !passed[j.Clause] })
	if len(cut) == 0 {
		return nil
	}
	var ids []string
	for _, j := range cut {
		if !slices.Contains(ids, j.Scenario) {
			ids = append(ids, j.Scenario)
		}
	}
	return []reports.Note{{Kind: "target", Scenario: cut[0].Scenario, Text: fmt.Sprintf("%s cut off on the way (%s: %s): "+
		"clauses that passed elsewhere might have been broken there, so that the verdict is incomplete",
		words.Counted(len(ids), "scenario"), ids[0], r.redact.String(cut[0].Reason))}}
}
