package reports

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/words"
)

// monitorCases returns a failing testcase for each failed clause that was found broken in the traffic of scenarios that
// did not fail, or that no scenario shows: a scenario keeps the outcome of its own clauses, whatever else was found.
func monitorCases(run *Run) []junitCase {
	var out []junitCase
	for _, f := range clausesWithHits(run) {
		if f.Clause.Outcome != verdict.Failed {
			continue
		}
		all := len(f.Hits)
		f.Hits = slices.DeleteFunc(f.Hits, func(h hit) bool { return h.Scenario.Outcome == verdict.Failed })
		shown := all > len(f.Hits) || slices.ContainsFunc(run.Scenarios, func(s Scenario) bool {
			return s.Outcome == verdict.Failed && slices.ContainsFunc(s.Clauses, func(j verdict.Judgement) bool {
				return j.Clause == f.Clause.ID && j.Outcome == verdict.Failed
			})
		})
		f.Hits = slices.DeleteFunc(f.Hits, func(h hit) bool { return f.Clause.Excused(h.Scenario.Driver) })
		if len(f.Hits) > 0 || !shown {
			out = append(out, monitorCase(run, f))
		}
	}
	return out
}

// monitorCase returns the testcase of one clause, with its first examples.
func monitorCase(run *Run, f finding) junitCase {
	c := junitCase{Class: strings.Join([]string{run.Protocol, run.Role, "monitors"}, "."),
		Name: f.Clause.ID + " " + f.Clause.Text, Time: seconds(0)}
	c.Properties = []junitProperty{{"clause", f.Clause.ID}, {"clause." + f.Clause.ID, string(f.Clause.Outcome)},
		{"outcome", string(f.Clause.Outcome)}}
	message := string(f.Clause.Outcome) + ": " + f.Clause.ID + " " + string(f.Clause.Level)
	var p printer
	p.clauseLine(f.Clause, "")
	p.field("reason", "", f.Clause.Reason)
	scenarios := map[string]bool{}
	for i, h := range f.Hits {
		scenarios[h.Scenario.ID] = true
		if i < shownPerClause {
			p.hit(h, "", true)
			p.WriteByte('\n')
		}
	}
	if n := len(f.Hits); n > 0 {
		message += fmt.Sprintf(", found in the traffic of %s with another outcome",
			words.Counted(len(scenarios), "scenario"))
		if n > shownPerClause {
			p.line("and %s: report.html", words.Counted(n-shownPerClause, "more example"))
		}
	}
	c.Failure = &junitTrouble{Message: message, Type: string(f.Clause.Outcome), Text: "\n" + p.String()}
	return c
}
