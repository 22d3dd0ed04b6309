package reports

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/reports/lang"
)

// look is how an outcome is shown to people: a mark that works without colour, and words.
type look struct {
	mark, word string
	colour     colour
}

var looks = map[verdict.Outcome]look{
	verdict.Passed:         {"✓", "passed", green},
	verdict.Failed:         {"✗", "failed", red},
	verdict.Warned:         {"!", "warned", yellow},
	verdict.NotApplicable:  {"–", "not applicable", dim},
	verdict.NotTested:      {"?", "not tested", yellow},
	verdict.ExpectedFail:   {"~", "expected failure", dim},
	verdict.UnexpectedPass: {"↑", "unexpected pass", magenta},
	verdict.EnvError:       {"E", "environment error", magenta},
	verdict.HarnessError:   {"H", "harness error", magenta},
}

// lookOf returns the look of an outcome; one unknown to this version is shown by its name.
func lookOf(o verdict.Outcome) look {
	if l, ok := looks[o]; ok {
		return l
	}
	return look{"·", string(o), magenta}
}

// wordOf returns the word for an outcome.
func wordOf(o verdict.Outcome, l lang.Lang) string { return l.Say(shownLook(o).word) }

// verdictGrounds returns the reasons of the overall verdict, worst first, each a short phrase. There is always at least
// one.
func verdictGrounds(r *Results, l lang.Lang) []string {
	t := sumUpRuns(r)
	var out []string
	add := func(cond bool, format string, args ...any) {
		if cond {
			out = append(out, l.Say(format, args...))
		}
	}
	add(r.Partial || r.Exit == verdict.ExitInterrupted, "interrupted before its end")
	add(t.harness > 0, "the harness itself failed in %s", l.Count(t.harness, "scenario"))
	add(t.harness == 0 && r.Exit == verdict.ExitHarness, "the harness itself failed")
	add(t.unreachable || r.Exit == verdict.ExitUnreachable, "a target could not be judged")
	add(t.failed > 0, "%d of %s failed", t.failed, l.Count(t.total, "clause"))
	add(t.badBaseline > 0, oneOr(t.badBaseline, "%s of the baseline no longer holds",
		"%s of the baseline no longer hold"), l.Count(t.badBaseline, "row"))
	add(t.badBaseline == 0 && t.unexpected > 0, "%s passed that the baseline expects to fail",
		l.Count(t.unexpected, "clause"))
	for _, t := range r.Load.exceededThresholds() {
		add(true, "%s", t.String())
	}
	for _, limit := range r.Limits {
		if limit.exceeded() || limit.Exchanges == 0 {
			out = append(out, limit.describe(l))
		}
	}
	add(r.Passive && r.Load == nil, "only traffic between others was judged, which certifies nothing")
	add(r.Load != nil, "a load judges what traffic shows, which certifies nothing")
	add(t.untested > 0, oneOr(t.untested, "%s was not tested", "%s were not tested"),
		l.Count(t.untested, "binding clause"))
	if cut := cutOff(r); len(cut) > 0 && len(out) == 0 && r.Verdict == verdict.Incomplete {
		ids := strings.Join(cut[:min(len(cut), maxAsked)], l.Say(", "))
		if len(cut) > maxAsked {
			ids += ", …"
		}
		add(true, oneOr(len(cut), "%s was cut off: %s", "%s were cut off: %s"), l.Count(len(cut), "scenario"), ids)
	}
	add(r.Verdict == verdict.Conformant && len(out) == 0 && t.expected == 0, "every applicable binding clause holds")
	add(t.expected > 0, oneOr(t.expected, "%s was expected by the baseline", "%s were expected by the baseline"),
		l.Count(t.expected, "failure"))
	add(t.spared > 0, oneOr(t.spared, "%s passed this time, and the baseline says that it is flaky",
		"%s passed this time, and the baseline says that they are flaky"), l.Count(t.spared, "clause"))
	add(t.warned > 0, "%s", l.Count(t.warned, "warning"))
	add(r.Selection != "", "only %s was run", r.Selection)
	add(len(out) == 0, "no binding clause was tested")
	return append(describeAsked(r, l), out...)
}

// cutOff returns the ids of the scenarios that were cut off and might have broken a binding clause: these alone keep a
// run incomplete in which every clause was tested.
func cutOff(r *Results) (ids []string) {
	for _, run := range r.Runs {
		binding := map[string]bool{}
		for _, c := range run.Clauses {
			binding[c.ID] = c.Level.Binding() && !c.Excluded && !c.OtherRole
		}
		for _, s := range run.Scenarios {
			if !slices.Contains(ids, s.ID) && slices.ContainsFunc(s.Clauses, func(j verdict.Judgement) bool {
				return j.Unfinished && j.Outcome == verdict.NotTested && binding[j.Clause]
			}) {
				ids = append(ids, s.ID)
			}
		}
	}
	return ids
}

var clauseID = regexp.MustCompile(`\b[A-Z]+-\d+[a-z]?\b`)

// describeAsked says what became of the clauses that the run was narrowed to by their ids, as other clauses that the
// same traffic shows are judged, too: "AS-079 passed". It is empty if there are no such clauses, or many.
func describeAsked(r *Results, l lang.Lang) (out []string) {
	ids := clauseID.FindAllString(r.Selection, -1)
	if len(ids) > maxAsked || strings.Contains(strings.ReplaceAll(r.Selection, "not @exclusive", ""), "not ") {
		return nil
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		var worst verdict.Outcome
		for _, run := range r.Runs {
			for _, c := range run.Clauses {
				if c.ID == id && !c.OtherRole && (worst == "" || c.Outcome != verdict.Passed) {
					worst = c.Outcome
				}
			}
		}
		if worst != "" {
			out = append(out, id+" "+wordOf(worst, l))
		}
	}
	return out
}

const maxAsked = 5

// bindingOf says how many of the clauses that were not tested bind: only these keep a run from being conformant.
func bindingOf(run *Run, l lang.Lang) string {
	n := 0
	for _, c := range run.Clauses {
		if c.Outcome == verdict.NotTested && c.Level.Binding() && !c.Excluded && !c.OtherRole {
			n++
		}
	}
	return l.Say(", %d of them binding", n)
}

// sums are the counts over all runs that the grounds of a verdict are based on.
type sums struct {
	total, failed, warned, untested, expected, spared, unexpected, badBaseline, harness int

	unreachable bool
}

func sumUpRuns(r *Results) sums {
	var t sums
	for _, run := range r.Runs {
		for _, c := range run.Clauses {
			t.addClause(c)
		}
		for _, s := range run.Scenarios {
			if s.Outcome == verdict.HarnessError {
				t.harness++
			}
		}
		t.badBaseline += len(troubledRows(run.Baseline))
		for _, row := range run.Baseline {
			if row.State == verdict.RowSpared {
				t.spared++
			}
		}
		t.unreachable = t.unreachable || run.Environment != ""
	}
	return t
}

func (t *sums) addClause(c Clause) {
	if c.Excluded || c.OtherRole {
		return
	}
	t.total++
	switch c.Outcome {
	case verdict.Failed:
		t.failed++
	case verdict.Warned:
		t.warned++
	case verdict.ExpectedFail:
		t.expected++
	case verdict.UnexpectedPass:
		t.unexpected++
	case verdict.NotTested, verdict.EnvError:
		if c.Level.Binding() {
			t.untested++
		}
	}
}

// troubledRows returns the baseline rows that need to be fixed: all but those that applied, and those whose clauses
// were not judged.
func troubledRows(rows []BaselineRow) []BaselineRow {
	var out []BaselineRow
	for _, row := range rows {
		if !verdict.Forgives(row.State) && row.State != verdict.RowUnused {
			out = append(out, row)
		}
	}
	return out
}

// endingRows returns the rows that still apply, but whose last day is near, counted from the start of the run.
func endingRows(r *Results, run *Run) []BaselineRow {
	var out []BaselineRow
	for _, row := range run.Baseline {
		if _, soon := verdict.DaysLeft(row.Expires, r.Started); soon && row.State != verdict.RowExpired {
			out = append(out, row)
		}
	}
	return out
}

// endingText says when the last day of a row is.
func endingText(r *Results, row BaselineRow, l lang.Lang) string {
	when := l.Say("today")
	if days, _ := verdict.DaysLeft(row.Expires, r.Started); days > 0 {
		when = l.Say("in %s", l.Count(days, "day"))
	}
	return rowScope(row, l) + l.Say("expires %s, on %s: %s", when, row.Expires, row.Reason)
}

// rowScope says what a row is narrowed to; "" for nothing.
func rowScope(row BaselineRow, l lang.Lang) string {
	var parts []string
	if row.Role != "" {
		parts = append(parts, l.Say("role %s", row.Role))
	}
	if row.Driver != "" {
		parts = append(parts, l.Say("driver %s", row.Driver))
	}
	if len(parts) == 0 {
		return ""
	}
	return l.Say("(%s) ", strings.Join(parts, l.Say(", ")))
}

// baselineReason returns the reason of the row that excuses a clause over a driver; "" if none does.
func baselineReason(run *Run, clause, driver string) string {
	for _, row := range run.Baseline {
		if row.Clause == clause && row.State == verdict.RowApplied && (row.Driver == "" || row.Driver == driver) {
			return "baseline: " + row.Reason
		}
	}
	return ""
}

// evidenceLabel says what a piece of evidence is.
func evidenceLabel(e Evidence) string {
	switch {
	case strings.HasPrefix(e.Type, "image/"):
		return "picture"
	case e.Type == "text/html":
		return "page"
	default:
		return "evidence"
	}
}

// oneOr returns the phrase for one thing, or that for several.
func oneOr(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// formatDuration formats fractional milliseconds for people.
func formatDuration(ms float64, l lang.Lang) string {
	switch {
	case ms < 10:
		return l.Say("%.1f ms", ms)
	case ms < 1000:
		return l.Say("%.0f ms", ms)
	case ms < 60_000:
		return l.Say("%.1f s", ms/1000)
	default:
		s := int(ms / 1000)
		return l.Say("%d min %02d s", s/60, s%60)
	}
}

// formatTime formats a time in UTC, so that a report reads the same everywhere.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// shortDigest returns enough of a digest to recognise it.
func shortDigest(d string) string {
	algorithm, hex, ok := strings.Cut(d, ":")
	if !ok || len(hex) <= 12 {
		return d
	}
	return algorithm + ":" + hex[:12]
}

// compareSections orders section numbers numerically: 2 before 2.1 before 10.
func compareSections(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		n, errN := strconv.Atoi(x)
		m, errM := strconv.Atoi(y)
		c := cmp.Compare(x, y)
		if errN == nil && errM == nil {
			c = cmp.Compare(n, m)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
