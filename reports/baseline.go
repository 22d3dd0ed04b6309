package reports

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"parley/features/verdict"
)

// KnownFailures returns a baseline of everything that makes r non-conformant, in the order of the clauses. A row names
// the driver if the clause did not fail over each, and the role if several reports that the protocol has more than one.
// Reasons say what was observed; people replace them.
func KnownFailures(r *Results, several func(protocol string) bool) *verdict.Baseline {
	out := &verdict.Baseline{Expected: []verdict.Expected{}}
	for i := range r.Runs {
		run := &r.Runs[i]
		role := ""
		if several(run.Protocol) {
			role = run.Role
		}
		for _, c := range run.Clauses {
			if c.Outcome != verdict.Failed || c.Excluded || c.OtherRole {
				continue
			}
			for _, d := range failedOver(c) {
				row := verdict.Expected{Clause: c.ID, Role: role, Driver: d, Reason: observedReason(r, run, c.ID, d)}
				if !slices.ContainsFunc(out.Expected, row.Overlaps) { // a clause of two protocols
					out.Expected = append(out.Expected, row)
				}
			}
		}
	}
	return out
}

// failedOver returns the drivers over which a clause failed; [""] for each that judged it.
func failedOver(c Clause) []string {
	var failed []string
	for _, d := range sortedKeys(c.ByDriver) {
		if c.ByDriver[d] == verdict.Failed {
			failed = append(failed, d)
		}
	}
	if len(failed) == len(c.ByDriver) {
		return []string{""}
	}
	return failed
}

// observedReason says what was first observed.
func observedReason(r *Results, run *Run, clause, driver string) string {
	what := "it failed"
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		if driver != "" && s.Driver != driver {
			continue
		}
		if n := slices.IndexFunc(s.Failures, func(f Failure) bool { return f.Clause == clause }); n >= 0 {
			what = "observed " + shortenText(oneLine(s.Failures[n].Observed), 100)
			break
		}
	}
	return fmt.Sprintf("%s (%s; say why this is accepted)", what, r.Started.UTC().Format(time.DateOnly))
}

// shortenText cuts a text to at most n characters.
func shortenText(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Fixed reports whether results show that a row of a baseline is no longer needed: its clause passed in every run that
// the row is about and that judged it, and there is one. A flaky clause is never fixed by passing.
func Fixed(e verdict.Expected, results ...*Results) bool {
	if e.Flaky {
		return false
	}
	passed := false
	for _, r := range results {
		for _, run := range r.Runs {
			i := slices.IndexFunc(run.Clauses, func(c Clause) bool { return c.ID == e.Clause })
			if i < 0 || !e.About(run.Role) {
				continue
			}
			o := run.Clauses[i].Outcome
			if e.Driver != "" {
				o = run.Clauses[i].ByDriver[e.Driver]
			}
			switch o {
			case verdict.Passed, verdict.UnexpectedPass:
				passed = true
			case verdict.NotApplicable, "": // of another role, or not judged over the driver
			default:
				return false
			}
		}
	}
	return passed
}
