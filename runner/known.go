package runner

import (
	"strings"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
)

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
	r := &run{o: Options{Protocols: ps}, protocol: p, role: role, concerned: concerned(p, all)}
	var out []reports.Clause
	for _, row := range ledger.Rows() {
		out = append(out, r.unjudged(row))
	}
	return out, nil
}

// unjudged returns what results say about a clause before anything has judged it.
func (r *run) unjudged(row verdict.Row) reports.Clause {
	c := reports.Clause{ID: row.ID, Level: row.Level, Section: row.Section, Text: row.Text, Source: row.Source,
		ByDriver: map[string]verdict.Outcome{}, Scenarios: []string{}, Monitors: []string{}}
	if row.Cross { // its section belongs to another document
		c.Section = r.o.Protocols.OfClause(row.ID) + " " + row.Section
	}
	switch {
	case !row.Tested():
		c.Excluded, c.Outcome, c.Reason = true, verdict.NotApplicable, "excluded: "+row.Reason
	case !r.isJudged(row.ID):
		c.OtherRole, c.Outcome, c.Reason = true, verdict.NotApplicable,
			"applies to another role: "+strings.Join(r.concerned[row.ID], ", ")
	}
	return c
}
