package reports

import (
	"cmp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/reports/causes"
	"parley/reports/lang"
)

// A Comparison says what changed between two results, in a language.
type Comparison struct {
	Old, New Side
	Runs     []RunChanges
	// the clauses of the suite changed, or its digest did: outcomes may differ for that reason
	SuiteChanged bool

	lang lang.Lang
}

// Side is one of two results.
type Side struct {
	Verdict verdict.Verdict
	Targets string
	Suite   string
	When    string
	Note    string // what narrowed the run
}

// RunChanges are the changes of one protocol in one role.
type RunChanges struct {
	Name     string
	Broken   []Change // it failed now, and did not before
	Fixed    []Change // it failed before, and passes now
	Untested []Change // it was judged before, and is not now
	Unbound  []Change // the same of clauses that cannot fail: MAY and INFO
	Suite    []Change // clauses that only one of the suites has, or that it words differently
	Slower   []Slowdown
}

// Change is one clause.
type Change struct {
	Clause   string
	Level    verdict.Level
	Text     string
	Old, New verdict.Outcome // "" if the suite did not have it
	Drivers  []string        // over which it broke; nil for each
	Reason   string
	Again    string // the command that runs it again; "" for none

	Regression bool // a binding clause got worse, and no baseline excuses it
}

// Slowdown is a scenario that takes longer, in milliseconds.
type Slowdown struct {
	Scenario, Name, Driver string
	Old, New               float64
}

// A scenario is slower if it takes at least slowFactor times as long, and at least slowBy milliseconds longer.
const (
	slowFactor = 2
	slowBy     = 500
)

// Compare is CompareIn in English.
func Compare(before, after *Results) *Comparison { return CompareIn(lang.English, before, after) }

// CompareIn compares two results, by protocol and role, for readers of a language. The language changes no finding.
func CompareIn(l lang.Lang, before, after *Results) *Comparison {
	before, after = makePresentable(before), makePresentable(after)
	c := &Comparison{Old: sideOf(before, l), New: sideOf(after, l), lang: l,
		SuiteChanged: before.Suite.Digest != after.Suite.Digest}
	for i := range before.Runs {
		old := &before.Runs[i]
		c.Runs = append(c.Runs, compareRuns(old, runNamed(after, runName(old)), !c.SuiteChanged, l))
	}
	for i := range after.Runs {
		if now := &after.Runs[i]; runNamed(before, runName(now)) == nil {
			c.Runs = append(c.Runs, compareRuns(nil, now, false, l))
		}
	}
	return c
}

// Regressions counts the changes that make a comparison fail.
func (c *Comparison) Regressions() (n int) {
	for _, run := range c.Runs {
		for _, list := range [][]Change{run.Broken, run.Untested} {
			for _, x := range list {
				if x.Regression {
					n++
				}
			}
		}
	}
	return n
}

// Empty reports whether nothing changed.
func (r RunChanges) Empty() bool {
	return len(r.Broken)+len(r.Fixed)+len(r.Untested)+len(r.Unbound)+len(r.Suite)+len(r.Slower) == 0
}

func sideOf(r *Results, l lang.Lang) Side {
	s := Side{Verdict: r.Verdict,
		Suite: r.Suite.Version + " (" + shortDigest(r.Suite.Digest) + ")", When: formatTime(r.Started)}
	var names []string
	for _, run := range r.Runs {
		name := strings.TrimSpace(run.Target.Name + " " + run.Target.Version)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s.Targets = strings.Join(names, l.Say(", "))
	switch {
	case r.Selection != "":
		s.Note = l.Say("only %s was run", r.Selection)
	case r.Partial:
		s.Note = l.Say("interrupted before its end")
	}
	return s
}

func runNamed(r *Results, name string) *Run {
	i := slices.IndexFunc(r.Runs, func(run Run) bool { return runName(&run) == name })
	if i < 0 {
		return nil
	}
	return &r.Runs[i]
}

// compareRuns compares the runs of one protocol and role, one of which may be missing. Only with the same suite are
// scenarios the same.
func compareRuns(old, now *Run, sameSuite bool, l lang.Lang) RunChanges {
	switch {
	case old == nil:
		old = &Run{Protocol: now.Protocol, Role: now.Role}
	case now == nil:
		now = &Run{Protocol: old.Protocol, Role: old.Role, Clauses: unjudgedClauses(old, l)}
	}
	out := RunChanges{Name: runName(now)}
	before := map[string]Clause{}
	for _, c := range old.Clauses {
		before[c.ID] = c
	}
	for _, c := range now.Clauses {
		was, known := before[c.ID]
		delete(before, c.ID)
		if !known {
			if len(old.Clauses) > 0 {
				out.Suite = append(out.Suite, Change{Clause: c.ID, Level: c.Level, Text: c.TextIn(l),
					New: shownOutcome(c), Reason: l.Say("new")})
			} else if isFailing(c.Outcome) {
				out.Broken = append(out.Broken, brokenChange(now, was, c, l))
			}
			continue
		}
		out.addChange(now, was, c, l)
	}
	for _, c := range old.Clauses {
		if _, gone := before[c.ID]; gone {
			out.Suite = append(out.Suite, Change{Clause: c.ID, Level: c.Level, Text: c.TextIn(l), Old: shownOutcome(c),
				Reason: l.Say("removed")})
		}
	}
	if sameSuite {
		out.Slower = slowerScenarios(old, now)
	}
	return out
}

// unjudgedClauses returns the clauses of a run as if it had not been run.
func unjudgedClauses(run *Run, l lang.Lang) []Clause {
	var out []Clause
	for _, c := range run.Clauses {
		if !c.Excluded && !c.OtherRole {
			c.Outcome, c.ByDriver, c.Reason = verdict.NotTested, nil, l.Say("the protocol was not run in this role")
		}
		out = append(out, c)
	}
	return out
}

// addChange sorts the change of a clause under its kind.
func (r *RunChanges) addChange(now *Run, was, is Clause, l lang.Lang) {
	if was.Level != is.Level || was.Text != is.Text || was.Excluded != is.Excluded {
		r.Suite = append(r.Suite, Change{Clause: is.ID, Level: is.Level, Text: is.TextIn(l), Old: shownOutcome(was),
			New: shownOutcome(is), Reason: describeRewording(was, is, l)})
	}
	if was.Excluded || is.Excluded || was.OtherRole || is.OtherRole {
		return
	}
	c := Change{Clause: is.ID, Level: is.Level, Text: is.TextIn(l), Old: was.Outcome, New: is.Outcome,
		Reason: l.Of(is.Reason)}
	switch {
	case isFailing(is.Outcome) && (!isFailing(was.Outcome) || len(newlyBroken(was, is)) > 0):
		r.Broken = append(r.Broken, brokenChange(now, was, is, l))
	case is.Outcome == verdict.Warned && was.Outcome == verdict.Passed:
		r.Broken = append(r.Broken, brokenChange(now, was, is, l))
	case (isFailing(was.Outcome) || was.Outcome == verdict.Warned) && isKept(is.Outcome):
		r.Fixed = append(r.Fixed, c)
	case isJudged(was.Outcome) && !isJudged(is.Outcome):
		c.Regression = is.Level.Binding() && is.Outcome != verdict.NotApplicable
		if is.Level == verdict.May || is.Level == verdict.Info {
			r.Unbound = append(r.Unbound, c)
			return
		}
		r.Untested = append(r.Untested, c)
	}
}

// brokenChange is the change of a clause that broke.
func brokenChange(now *Run, was, is Clause, l lang.Lang) Change {
	c := Change{Clause: is.ID, Level: is.Level, Text: is.TextIn(l), Old: was.Outcome, New: is.Outcome,
		Reason: l.Of(is.Reason), Regression: is.Outcome == verdict.Failed}
	if isFailing(was.Outcome) {
		c.Drivers = newlyBroken(was, is)
	}
	for i := range now.Scenarios {
		for _, f := range now.Scenarios[i].Failures {
			if f.Clause == is.ID && (c.Drivers == nil || slices.Contains(c.Drivers, now.Scenarios[i].Driver)) {
				c.Again = f.Again
				c.Reason = l.Say("expected %s, observed %s", l.Of(oneLine(f.Expected)),
					l.Of(oneLine(f.Observed)))
				return c
			}
		}
	}
	return c
}

// newlyBroken returns the drivers over which a clause fails now and passed before.
func newlyBroken(was, is Clause) (out []string) {
	for _, d := range sortedKeys(is.ByDriver) {
		if isFailing(is.ByDriver[d]) && isKept(was.ByDriver[d]) {
			out = append(out, d)
		}
	}
	return out
}

func describeRewording(was, is Clause, l lang.Lang) string {
	switch {
	case was.Excluded != is.Excluded && is.Excluded:
		return l.Say("excluded now")
	case was.Excluded != is.Excluded:
		return l.Say("tested now")
	case was.Level != is.Level:
		return l.Say("%s before, %s now", was.Level, is.Level)
	}
	return l.Say("worded differently")
}

// isFailing reports whether an outcome says that a binding clause is broken, excused or not.
func isFailing(o verdict.Outcome) bool { return o == verdict.Failed || o == verdict.ExpectedFail }

// isKept reports whether an outcome says that a clause holds.
func isKept(o verdict.Outcome) bool { return o == verdict.Passed || o == verdict.UnexpectedPass }

// isJudged reports whether an outcome says anything about the target.
func isJudged(o verdict.Outcome) bool { return isFailing(o) || isKept(o) || o == verdict.Warned }

// slowerScenarios returns the scenarios that take longer, the worst first.
func slowerScenarios(old, now *Run) (out []Slowdown) {
	type key struct{ id, name, driver string }
	before := map[key]Scenario{}
	for _, s := range old.Scenarios {
		before[key{s.ID, s.Name, s.Driver}] = s
	}
	for _, s := range now.Scenarios {
		was, known := before[key{s.ID, s.Name, s.Driver}]
		if known && was.Outcome == s.Outcome && s.Duration >= slowFactor*was.Duration && s.Duration-was.Duration >= slowBy {
			out = append(out, Slowdown{s.ID, s.Name, s.Driver, was.Duration, s.Duration})
		}
	}
	slices.SortStableFunc(out, func(a, b Slowdown) int { return cmp.Compare(b.New-b.Old, a.New-a.Old) })
	return out
}

// changeGroup is changes with the same outcomes, reason and evidence.
type changeGroup struct {
	How     string
	Changes []Change
}

// Groups returns the changes of a part, those together that differ in nothing but the clause.
func (p part) Groups(l lang.Lang) []changeGroup {
	at := map[string]int{}
	var out []changeGroup
	for _, x := range p.Changes {
		key := x.How(l) + "\x00" + causes.Kind(x.Reason)
		i, known := at[key]
		if !known || x.Reason == "" {
			i = len(out)
			at[key] = i
			out = append(out, changeGroup{How: x.How(l)})
		}
		out[i].Changes = append(out[i].Changes, x)
	}
	return out
}

// First returns the change whose reason and command stand for all.
func (g changeGroup) First() Change { return g.Changes[0] }

// IDs returns the clauses with their levels.
func (g changeGroup) IDs() string {
	var ids []string
	for _, x := range g.Changes {
		ids = append(ids, x.Clause+" "+string(x.Level))
	}
	return strings.Join(ids, ", ")
}

// Text returns what the clause of a single change says; "" for several.
func (g changeGroup) Text() string {
	if len(g.Changes) > 1 {
		return ""
	}
	return g.First().Text
}

// Narrowed warns that one of the runs did not run everything, so that changes may come of that alone; "" if both did,
// or were narrowed alike.
func (c *Comparison) Narrowed() string {
	if c.Old.Note == c.New.Note {
		return ""
	}
	var parts []string
	for _, side := range []struct {
		name string
		s    Side
	}{{c.lang.Say("old"), c.Old}, {c.lang.Say("new"), c.New}} {
		if side.s.Note != "" {
			parts = append(parts, c.lang.Say("%s: %s", side.name, side.s.Note))
		}
	}
	return c.lang.Say("The two runs did not run the same (%s): changes below may come of that alone.",
		strings.Join(parts, c.lang.Say("; ")))
}
