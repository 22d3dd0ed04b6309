package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports"
	"parley/steps"
)

// countTotals counts by outcome, level and section.
func countTotals(clauses []reports.Clause, scenarios []reports.Scenario) reports.Totals {
	t := reports.Totals{Clauses: newCount(), Scenarios: newCount(), ByLevel: map[string]reports.Count{},
		BySection: map[string]reports.Count{}}
	add := func(c *reports.Count, o verdict.Outcome) { c.Total++; c.ByOutcome[o]++ }
	in := func(m map[string]reports.Count, key string, o verdict.Outcome) {
		c, ok := m[key]
		if !ok {
			c = newCount()
		}
		add(&c, o)
		m[key] = c
	}
	for _, c := range clauses {
		if c.Excluded {
			t.Excluded++
			continue
		}
		if c.OtherRole {
			t.OtherRole++
			continue
		}
		add(&t.Clauses, c.Outcome)
		in(t.ByLevel, string(c.Level), c.Outcome)
		in(t.BySection, c.Section, c.Outcome)
	}
	for _, s := range scenarios {
		add(&t.Scenarios, s.Outcome)
	}
	return t
}

func newCount() reports.Count { return reports.Count{ByOutcome: map[verdict.Outcome]int{}} }

// suiteOf identifies the suite that judges.
func suiteOf(ps *steps.Protocols) reports.Suite {
	return reports.Suite{Program: ps.Program, Version: ps.Version, Digest: ps.Digest()}
}

// Clauses returns the clauses of a protocol as results for targets of a role list them, in order and without
// outcomes; only those that nothing can judge have one, with the reason.
func Clauses(ps *steps.Protocols, protocol, role string) ([]reports.Clause, error) {
	p, err := ps.Find(protocol)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	kind := p.Kind().New()
	if role, err = roleOf(p, Options{Role: role, Profile: kind}); err != nil {
		return nil, err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	all, err := Scenarios(p.Features(), p)
	if err != nil {
		return nil, err
	}
	r := &run{o: Options{Protocols: ps}, protocol: p, role: role, concerned: rolesByClause(p, all)}
	var out []reports.Clause
	for _, row := range ledger.Rows() {
		out = append(out, r.unjudgedReason(row))
	}
	return out, nil
}

// unjudgedReason returns what results say about a clause before anything has judged it.
func (r *run) unjudgedReason(row verdict.Row) reports.Clause {
	c := reports.Clause{ID: row.ID, Level: row.Level, Section: row.Section, Text: row.Text, Source: row.Source,
		ReasonZH: row.Chinese.Reason, ByDriver: map[string]verdict.Outcome{}, Scenarios: []string{}, Monitors: []string{}}
	if row.Chinese.Text != row.Source {
		c.TextZH = row.Chinese.Text
	}
	if row.Cross { // its section belongs to another document
		c.Section = r.o.Protocols.OfClause(row.ID) + " " + row.Section
	}
	switch {
	case r.client[row.ID]: // whether targets are tested for it or not
	case !row.Tested():
		c.Excluded, c.Outcome, c.Reason = true, verdict.NotApplicable, "excluded: "+row.Reason
	case !r.isJudged(row.ID):
		c.OtherRole, c.Outcome, c.Reason = true, verdict.NotApplicable,
			"applies to another role: "+strings.Join(r.concerned[row.ID], ", ")
	}
	return c
}

// unfinishedJudgements returns the judgements of scenarios that were cut off and might have broken a binding clause
// that counts, in order of their scenarios.
func (r *run) unfinishedJudgements(clauses []reports.Clause) (out []verdict.Judgement) {
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
	cut := slices.DeleteFunc(r.unfinishedJudgements(clauses),
		func(j verdict.Judgement) bool { return !passed[j.Clause] })
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
