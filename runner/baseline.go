package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/r3labs"
)

// checkBaseline returns a *UsageError if a row does not fit the protocol.
func checkBaseline(b *verdict.Baseline, l *verdict.Ledger, p steps.Protocol) error {
	if b == nil {
		return nil
	}
	for _, e := range b.Expected {
		if err := CheckRow(e, l, p); err != nil {
			return err
		}
	}
	return nil
}

// CheckRow returns a *UsageError if a row of a baseline names a clause that the ledger does not have, or a role or
// driver that the protocol does not have.
func CheckRow(e verdict.Expected, l *verdict.Ledger, p steps.Protocol) error {
	drivers := slices.Clone(p.Kind().Drivers)
	if slices.Contains(drivers, target.SSE) {
		drivers = append(drivers, r3labs.Name)
	}
	if _, ok := l.Row(e.Clause); !ok {
		return &UsageError{Msg: "baseline: " + e.Clause + " is not a clause of " + l.Protocol}
	}
	for _, c := range []struct {
		what, word string
		words      []string
	}{{"role", e.Role, steps.Roles(p)}, {"driver", e.Driver, drivers}} {
		if c.word != "" && !slices.Contains(c.words, c.word) {
			return &UsageError{Msg: fmt.Sprintf("baseline: %s: %s has no %s %q (it has %s)", e.Clause, l.Protocol, c.what,
				c.word, strings.Join(c.words, ", "))}
		}
	}
	return nil
}

// applyBaseline applies the rows about this run's role to the outcomes of clauses, and returns the state of each.
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
		if !e.About(r.role) {
			continue
		}
		row := reports.BaselineRow{Clause: e.Clause, Reason: e.Reason, Role: e.Role, Driver: e.Driver, Flaky: e.Flaky,
			Expires: e.Expires}
		if i, known := at[e.Clause]; known {
			row.State = applyRow(e, &clauses[i])
		} else {
			_, row.State = e.Apply("", false, time.Now())
		}
		out = append(out, row)
	}
	return out
}

// applyRow applies a row to the outcome of its clause, and returns the row's state.
func applyRow(e verdict.Expected, c *reports.Clause) string {
	if e.Driver != "" {
		return applyOver(e, c)
	}
	outcome, state := e.Apply(c.Outcome, true, time.Now())
	if outcome == c.Outcome {
		return state
	}
	c.Outcome, c.Reason = outcome, "baseline: "+e.Reason
	for d, o := range c.ByDriver {
		if o == verdict.Failed || o == verdict.Warned {
			c.ByDriver[d] = verdict.ExpectedFail
		}
	}
	return state
}

// applyOver applies a row about one driver. The clause keeps its outcome if it failed over another driver, too.
func applyOver(e verdict.Expected, c *reports.Clause) string {
	was := c.ByDriver[e.Driver]
	outcome, state := e.Apply(was, true, time.Now())
	if outcome == was {
		return state
	}
	c.ByDriver[e.Driver] = outcome
	if worst := verdict.Combine(c.ByDriver); worst != c.Outcome {
		c.Outcome, c.Reason = worst, "baseline: "+e.Reason
	}
	return state
}

// isForgiven reports whether a row keeps the run from being conformant.
func isForgiven(rows []reports.BaselineRow) bool {
	return slices.ContainsFunc(rows, func(row reports.BaselineRow) bool { return verdict.Forgives(row.State) })
}

// excuseClauses sets the clauses of scenarios that the baseline excuses to expected-fail, and updates each scenario's
// outcome.
func excuseClauses(scenarios []reports.Scenario, clauses []reports.Clause) {
	over := map[string]*reports.Clause{}
	for i := range clauses {
		over[clauses[i].ID] = &clauses[i]
	}
	for i := range scenarios {
		sc := &scenarios[i]
		sc.Clauses = slices.Clone(sc.Clauses)
		found := map[verdict.Outcome]bool{}
		for j, c := range sc.Clauses {
			if (c.Outcome == verdict.Failed || c.Outcome == verdict.Warned) && over[c.Clause].Excused(sc.Driver) {
				sc.Clauses[j].Outcome = verdict.ExpectedFail
			}
			found[sc.Clauses[j].Outcome] = true
		}
		for _, f := range sc.Failures { // includes monitors' failures, whose clauses the scenario may not be tagged with
			c := over[f.Clause]
			switch {
			case c.Excused(sc.Driver):
				found[verdict.ExpectedFail] = true
			case c != nil:
				found[c.Outcome] = true
			}
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
