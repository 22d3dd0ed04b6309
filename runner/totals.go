package runner

import (
	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
)

// totals counts by outcome, level and section.
func totals(clauses []reports.Clause, scenarios []reports.Scenario) reports.Totals {
	t := reports.Totals{Clauses: count(), Scenarios: count(), ByLevel: map[string]reports.Count{},
		BySection: map[string]reports.Count{}}
	add := func(c *reports.Count, o verdict.Outcome) { c.Total++; c.ByOutcome[o]++ }
	in := func(m map[string]reports.Count, key string, o verdict.Outcome) {
		c, ok := m[key]
		if !ok {
			c = count()
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

func count() reports.Count { return reports.Count{ByOutcome: map[verdict.Outcome]int{}} }

// suiteOf identifies the suite that judges.
func suiteOf(ps *steps.Protocols) reports.Suite {
	return reports.Suite{Program: ps.Program, Version: ps.Version, Digest: ps.Digest()}
}
