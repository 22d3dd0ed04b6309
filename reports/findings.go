package reports

import (
	"regexp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/reports/causes"
	"parley/reports/lang"
)

// finding is one clause with all failures found against it in one run.
type finding struct {
	Clause Clause
	Hits   []hit
}

// hit is one failure in one scenario.
type hit struct {
	Scenario *Scenario
	Failure  Failure
}

// timesFound returns how often the failure was found in the scenario.
func (h hit) timesFound() int { return max(h.Failure.Count, 1) }

// alikeText says how many more failures of the same kind there were; "" if none.
func alikeText(f Failure, l lang.Lang) string {
	if f.Count < 2 {
		return ""
	}
	return l.Say("and %d more of this kind", f.Count-1)
}

// findings are the clauses of one run with failures, most binding level first.
type findings struct {
	Failed   []finding // what makes the target non-conformant
	Warned   []finding
	Expected []finding // failed, as the baseline expects
	Observed []finding // only recorded: MAY and INFO
}

// findingsOf sorts every failure of a run under its clause. It includes clauses that failed without a failure record:
// no failure may be missing from a report.
func findingsOf(run *Run, strict bool) findings {
	var f findings
	for _, c := range splitExcused(run, clausesWithHits(run)) {
		if to := f.listFor(c.Clause, len(c.Hits) > 0, strict); to != nil {
			*to = append(*to, c)
		}
	}
	for _, list := range [][]finding{f.Failed, f.Warned, f.Expected, f.Observed} {
		slices.SortStableFunc(list, func(a, b finding) int { return levelRank(a.Clause.Level) - levelRank(b.Clause.Level) })
	}
	return f
}

// splitExcused separates the failures over drivers that the baseline excuses from those of a clause that counts as
// failed over others.
func splitExcused(run *Run, list []finding) []finding {
	var out []finding
	for _, f := range list {
		excused := finding{Clause: f.Clause}
		if f.Clause.Outcome != verdict.ExpectedFail {
			var counted []hit
			for _, h := range f.Hits {
				if f.Clause.Excused(h.Scenario.Driver) {
					excused.Hits = append(excused.Hits, h)
				} else {
					counted = append(counted, h)
				}
			}
			f.Hits = counted
		}
		out = append(out, f)
		if len(excused.Hits) > 0 {
			driver := excused.Hits[0].Scenario.Driver
			excused.Clause.Outcome = verdict.ExpectedFail
			excused.Clause.Reason = baselineReason(run, f.Clause.ID, driver) + " (driver " + driver + ")"
			out = append(out, excused)
		}
	}
	return out
}

// clausesWithHits returns the clauses of the run in its order, then those that only a failure names.
func clausesWithHits(run *Run) []finding {
	var out []finding
	at := map[string]int{}
	for _, c := range run.Clauses {
		at[c.ID] = len(out)
		out = append(out, finding{Clause: c})
	}
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		for _, f := range s.Failures {
			n, known := at[f.Clause]
			if !known {
				n = len(out)
				at[f.Clause] = n
				out = append(out, finding{Clause: Clause{ID: f.Clause, Level: f.Level, Section: f.Section, Text: f.Text}})
			}
			out[n].Hits = append(out[n].Hits, hit{s, f})
		}
	}
	return out
}

// listFor returns the list in which a clause is shown, chosen by its outcome, or else by its level. Nil: none.
func (f *findings) listFor(c Clause, hits, strict bool) *[]finding {
	switch {
	case c.Outcome == verdict.Failed:
		return &f.Failed
	case c.Outcome == verdict.Warned:
		return &f.Warned
	case c.Outcome == verdict.ExpectedFail:
		return &f.Expected
	case !hits:
		return nil
	case c.Level.Binding(), strict && c.Level == verdict.Should:
		return &f.Failed
	case c.Level == verdict.Should:
		return &f.Warned
	default:
		return &f.Observed
	}
}

func levelRank(l verdict.Level) int {
	if i := slices.Index(verdict.Levels, l); i >= 0 {
		return i
	}
	return len(verdict.Levels)
}

// leftOut groups by reason the scenarios that were not tested although a clause of theirs was judged elsewhere: the
// list of clauses does not show them. With several drivers an id includes its driver.
func leftOut(run *Run) []reasonGroup {
	judged := map[string]bool{}
	for _, c := range run.Clauses {
		judged[c.ID] = c.Outcome != verdict.NotTested && c.Outcome != verdict.EnvError && c.Outcome != verdict.NotApplicable
	}
	var out []reasonGroup
	at := map[string]int{}
	for _, s := range run.Scenarios {
		if s.Outcome != verdict.NotTested || !slices.ContainsFunc(s.Clauses,
			func(c verdict.Judgement) bool { return judged[c.Clause] }) {
			continue
		}
		id := s.ID
		if len(run.Target.Drivers) > 1 {
			id += " (" + s.Driver + ")"
		}
		reason, _, _ := strings.Cut(s.Reason, "\n")
		kind := reasonKind(reason)
		n, known := at[kind]
		if !known {
			n = len(out)
			at[kind] = n
			out = append(out, reasonGroup{Reason: reason})
		}
		out[n].IDs = append(out[n].IDs, id)
	}
	slices.SortStableFunc(out, func(a, b reasonGroup) int { return len(b.IDs) - len(a.IDs) })
	return out
}

// name is a quoted name that tells reasons apart, such as that of an agent: it has no digits.
var name = regexp.MustCompile(`"([\pL_.-]{1,30})"`)

// reasonKind returns what stays of a reason in another scenario: without times, records, values that the harness made
// up and what messages contain.
func reasonKind(reason string) string { return causes.Kind(name.ReplaceAllString(reason, "‹$1›")) }

// reasonGroup is one reason, as the first of the clauses or scenarios that share it has it.
type reasonGroup struct {
	Reason string
	IDs    []string
}

// reasonsFor groups the clauses of one outcome by their reason, the most frequent reason first.
func reasonsFor(run *Run, o verdict.Outcome) []reasonGroup {
	var out []reasonGroup
	at := map[string]int{}
	for _, c := range run.Clauses {
		if c.Outcome != o || c.Excluded || c.OtherRole {
			continue
		}
		reason := c.Reason
		if reason == "" {
			reason = "no reason recorded"
		}
		kind := reasonKind(reason)
		n, known := at[kind]
		if !known {
			n = len(out)
			at[kind] = n
			out = append(out, reasonGroup{Reason: reason})
		}
		out[n].IDs = append(out[n].IDs, c.ID)
	}
	slices.SortStableFunc(out, func(a, b reasonGroup) int { return len(b.IDs) - len(a.IDs) })
	return out
}

// brokenScenarios returns the scenarios that ended badly without a clause to explain it: harness errors, and
// unreachable targets.
func brokenScenarios(run *Run) []*Scenario {
	var out []*Scenario
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		unexplained := s.Outcome == verdict.Failed && len(s.Failures) == 0
		told := s.Outcome == verdict.EnvError && s.Reason == run.Environment // shown once, above
		if unexplained || s.Outcome == verdict.HarnessError || s.Outcome == verdict.EnvError && !told {
			out = append(out, s)
		}
	}
	return out
}

// driversOf lists the drivers of a run: those that the target names, then any others of scenarios or clauses.
func driversOf(run *Run) []string {
	out := slices.Clone(run.Target.Drivers)
	add := func(d string) {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for i := range run.Scenarios {
		add(run.Scenarios[i].Driver)
	}
	for _, c := range run.Clauses {
		for _, d := range sortedKeys(c.ByDriver) {
			add(d)
		}
	}
	return out
}
