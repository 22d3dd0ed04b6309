package reports

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/verdict"
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

// grounds returns the reasons of the overall verdict, worst first, each a short phrase. There is always at least one.
func grounds(r *Results) []string {
	t := tally(r)
	var out []string
	add := func(cond bool, format string, args ...any) {
		if cond {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(r.Partial || r.Exit == verdict.ExitInterrupted, "interrupted before its end")
	add(t.harness > 0, "the harness itself failed in %s", count(t.harness, "scenario"))
	add(t.harness == 0 && r.Exit == verdict.ExitHarness, "the harness itself failed")
	add(t.unreachable || r.Exit == verdict.ExitUnreachable, "a target could not be judged")
	add(t.failed > 0, "%d of %s failed", t.failed, count(t.total, "clause"))
	add(t.badBaseline > 0, "%s of the baseline no longer hold%s", count(t.badBaseline, "row"), ending(t.badBaseline))
	add(t.badBaseline == 0 && t.unexpected > 0, "%s passed that the baseline expects to fail",
		count(t.unexpected, "clause"))
	for _, t := range r.Load.exceeded() {
		add(true, "%s", t.String())
	}
	add(r.Passive && r.Load == nil, "only traffic between others was judged, which certifies nothing")
	add(r.Load != nil, "a load judges what traffic shows, which certifies nothing")
	add(t.untested > 0, "%s not tested", was(t.untested, "binding clause"))
	add(r.Verdict == verdict.Conformant && len(out) == 0 && t.expected == 0, "every applicable binding clause holds")
	add(t.expected > 0, "%s expected by the baseline", was(t.expected, "failure"))
	add(t.spared > 0, "%s passed this time, and the baseline says that %s flaky", count(t.spared, "clause"),
		areOf(t.spared))
	add(t.warned > 0, "%s", count(t.warned, "warning"))
	add(r.Selection != "", "only %s was run", r.Selection)
	add(len(out) == 0, "no binding clause was tested")
	return out
}

// sums are the counts over all runs that the grounds of a verdict are based on.
type sums struct {
	total, failed, warned, untested, expected, spared, unexpected, badBaseline, harness int

	unreachable bool
}

func tally(r *Results) sums {
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
func endingText(r *Results, row BaselineRow) string {
	when := "today"
	if days, _ := verdict.DaysLeft(row.Expires, r.Started); days > 0 {
		when = "in " + count(days, "day")
	}
	return rowScope(row) + "expires " + when + ", on " + row.Expires + ": " + row.Reason
}

// rowScope says what a row is narrowed to; "" for nothing.
func rowScope(row BaselineRow) string {
	var parts []string
	if row.Role != "" {
		parts = append(parts, "role "+row.Role)
	}
	if row.Driver != "" {
		parts = append(parts, "driver "+row.Driver)
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ") "
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

// count returns a number with its noun: 1 clause, 2 clauses.
func count(n int, noun string) string { return strconv.Itoa(n) + " " + plural(n, noun) }

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// was is count with its verb: 1 clause was, 2 clauses were.
func was(n int, noun string) string {
	if n == 1 {
		return count(n, noun) + " was"
	}
	return count(n, noun) + " were"
}

// areOf is the pronoun of n things with its verb.
func areOf(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

func ending(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

// duration formats fractional milliseconds for people.
func duration(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	default:
		s := int(ms / 1000)
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
}

// moment formats a time in UTC, so that a report reads the same everywhere.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

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
