package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports/lang"
)

// compared is a result with one clause for each outcome, given as AS-001 first.
func compared(digest string, outcomes ...verdict.Outcome) *Results {
	r := &Results{Suite: Suite{Version: "1", Digest: digest}, Verdict: verdict.NonConformant,
		Started: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
		Runs:    []Run{{Protocol: "agent-select", Role: "server", Target: Target{Name: "mine", Version: digest}}}}
	for i, o := range outcomes {
		r.Runs[0].Clauses = append(r.Runs[0].Clauses, Clause{ID: "AS-00" + string(rune('1'+i)), Level: verdict.Must,
			Text: "a text", Outcome: o})
	}
	return r
}

func ids(list []Change) (out []string) {
	for _, c := range list {
		out = append(out, c.Clause)
	}
	return out
}

func TestCompareOutcomes(t *testing.T) {
	const p, f, x, n, w = verdict.Passed, verdict.Failed, verdict.ExpectedFail, verdict.NotTested, verdict.Warned
	for _, c := range []struct {
		reason     string
		old, now   verdict.Outcome
		kind       string // of the change: broken, fixed, untested or ""
		regression bool
	}{
		{"nothing changed", p, p, "", false},
		{"it still fails", f, f, "", false},
		{"it fails now", p, f, "broken", true},
		{"it was not tested, and fails", n, f, "broken", true},
		{"it was warned of, and fails", w, f, "broken", true},
		{"it fails now, and the baseline excuses it", p, x, "broken", false},
		{"the baseline excuses it now", f, x, "", false},
		{"the baseline does not excuse it any more", x, f, "", false},
		{"it is warned of", p, w, "broken", false},
		{"it passes", f, p, "fixed", false},
		{"it passes, and the baseline does not know", x, verdict.UnexpectedPass, "fixed", false},
		{"it is warned of no more", w, p, "fixed", false},
		{"it is not tested", p, n, "untested", true},
		{"it failed, and is not tested", f, n, "untested", true},
		{"the target could not be reached", p, verdict.EnvError, "untested", true},
		{"the harness failed", p, verdict.HarnessError, "untested", true},
		{"it does not apply", p, verdict.NotApplicable, "untested", false},
		{"it is tested now", n, p, "", false},
		{"it was never tested", n, n, "", false},
	} {
		got := Compare(compared("a", p, c.old), compared("a", p, c.now))
		want := map[string][]string{}
		if c.kind != "" {
			want[c.kind] = []string{"AS-002"}
		}
		found := map[string][]string{}
		for kind, list := range map[string][]Change{"broken": got.Runs[0].Broken, "fixed": got.Runs[0].Fixed,
			"untested": got.Runs[0].Untested, "suite": got.Runs[0].Suite} {
			if len(list) > 0 {
				found[kind] = ids(list)
			}
		}
		if diff := cmp.Diff(want, found); diff != "" || (got.Regressions() == 1) != c.regression {
			t.Errorf("%s: %d regressions; want(-) got(+):\n%s", c.reason, got.Regressions(), diff)
		}
	}
}

// TestCompareDrivers: a clause that failed over one driver breaks newly if it fails over another that it passed.
func TestCompareDrivers(t *testing.T) {
	side := func(sse, ws verdict.Outcome) *Results {
		r := compared("a", verdict.Failed)
		r.Runs[0].Clauses[0].ByDriver = map[string]verdict.Outcome{"sse": sse, "ws": ws}
		return r
	}
	got := Compare(side(verdict.Failed, verdict.Passed), side(verdict.Failed, verdict.Failed))
	if list := got.Runs[0].Broken; len(list) != 1 || list[0].How(lang.English) != "failed → failed over ws" ||
		got.Regressions() != 1 {
		t.Errorf("%+v", got.Runs[0].Broken)
	}
	got = Compare(side(verdict.Failed, verdict.NotTested), side(verdict.Failed, verdict.Failed))
	if got.Regressions() != 0 {
		t.Errorf("over a driver that was not tested: %+v", got.Runs[0].Broken)
	}
}

// TestCompareSuites: what only one of the suites has is no regression, and slowness is told of
// the same scenarios alone.
func TestCompareSuites(t *testing.T) {
	old, now := compared("a", verdict.Passed, verdict.Passed), compared("b", verdict.Passed, verdict.Failed)
	now.Runs[0].Clauses[1].ID = "AS-009"
	now.Runs[0].Clauses[0].Level = verdict.Should
	got := Compare(old, now)
	var suite []string
	for _, c := range got.Runs[0].Suite {
		suite = append(suite, c.Clause+" "+c.Reason+": "+c.How(lang.English))
	}
	want := []string{"AS-001 MUST before, SHOULD now: passed → passed", "AS-009 new: absent → failed",
		"AS-002 removed: passed → absent"}
	if diff := cmp.Diff(want, suite); diff != "" || got.Regressions() != 0 || !got.SuiteChanged {
		t.Errorf("%d regressions, changed %t; want(-) got(+):\n%s", got.Regressions(), got.SuiteChanged, diff)
	}
}

func TestCompareSpeed(t *testing.T) {
	side := func(digest string, ms ...float64) *Results {
		r := compared(digest, verdict.Passed)
		for i, d := range ms {
			r.Runs[0].Scenarios = append(r.Runs[0].Scenarios, Scenario{ID: string(rune('a' + i)), Driver: "sse", Duration: d,
				Outcome: verdict.Passed})
		}
		return r
	}
	old := side("a", 10, 500, 3000, 600)
	got := Compare(old, side("a", 100, 1000, 5000, 1300)).Runs[0].Slower
	want := []Slowdown{{"d", "", "sse", 600, 1300}, {"b", "", "sse", 500, 1000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if got := Compare(old, side("b", 100, 1000, 5000, 1300)).Runs[0].Slower; len(got) > 0 {
		t.Errorf("scenarios of another suite are compared: %v", got)
	}
}

// TestCompareRuns: a protocol that is not run any more is untested, and one that is run now is judged.
func TestCompareRuns(t *testing.T) {
	old, now := compared("a", verdict.Passed, verdict.NotApplicable), compared("a", verdict.Failed, verdict.Passed)
	now.Runs[0].Protocol = "session-chat"
	got := Compare(old, now)
	if len(got.Runs) != 2 || len(got.Runs[0].Untested) != 1 || len(got.Runs[1].Broken) != 1 || got.Regressions() != 2 {
		t.Errorf("%d regressions: %+v", got.Regressions(), got.Runs)
	}
}

// TestCompareFormats: each format names every change, harmlessly, and sums up.
func TestCompareFormats(t *testing.T) {
	old, now := sample(), sample()
	for i := range old.Runs[0].Clauses {
		if c := &old.Runs[0].Clauses[i]; c.ID == "AS-085" {
			c.Outcome = verdict.Passed
		}
	}
	c := Compare(old, now)
	var text, page, md strings.Builder
	for _, err := range []error{WriteComparisonText(&text, c, 100, false), WriteComparisonHTML(&page, c),
		WriteComparisonMarkdown(&md, c)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, body := range []string{text.String(), page.String(), md.String()} {
		for _, want := range []string{"AS-085", "1 regression · 1 newly broken", "passed → failed",
			"The error that answers a switch carries an errorCode."} {
			if !strings.Contains(body, want) {
				t.Errorf("no %q in\n%.3000s", want, body)
			}
		}
	}
	if strings.Contains(page.String(), "<script>alert") || strings.Contains(md.String(), "<script>") {
		t.Error("a text of the target is not escaped")
	}
	if !strings.Contains(text.String(), "again      parley run") {
		t.Errorf("no command in\n%s", text.String())
	}
}

func TestMatrix(t *testing.T) {
	a, b, c := compared("1.0", verdict.Passed, verdict.Passed), compared("1.1", verdict.Passed, verdict.Failed),
		compared("1.1", verdict.Passed, verdict.NotTested)
	b.Started = b.Started.Add(time.Hour)
	c.Runs[0].Target = Target{Name: nasty}
	c.Selection = "@x"
	m := NewMatrix(c, b, a)
	if len(m.Tables) != 1 {
		t.Fatalf("%d tables", len(m.Tables))
	}
	var columns []string
	for i, col := range m.Tables[0].Columns {
		columns = append(columns, col.Target+" "+col.Version+" "+fmt.Sprint(m.Tables[0].Counts(i))+" "+col.Note)
	}
	want := []string{shown + " 2026-03-01 09:30 {1 2} only @x", "mine 1.0 {2 2} ", "mine 1.1 {1 2} "}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if got := m.Tables[0].Rows[1].Outcomes; cmp.Diff([]verdict.Outcome{verdict.NotTested, verdict.Passed, verdict.Failed},
		got) != "" {
		t.Errorf("AS-002 is %v", got)
	}
	var page, md strings.Builder
	if err := WriteMatrixHTML(&page, m); err != nil {
		t.Fatal(err)
	}
	if err := WriteMatrixMarkdown(&md, m); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(md.String(), "| AS-002 MUST | ? not tested | ✓ passed | ✗ failed |\n") ||
		!strings.Contains(md.String(), "1 further clause passed everywhere") || strings.Contains(md.String(), "<script") ||
		!strings.Contains(md.String(), "different suites") {
		t.Errorf("the matrix is\n%s", &md)
	}
	if strings.Contains(page.String(), "<script>alert") || strings.Count(page.String(), `<tr class="item">`) != 2 {
		t.Errorf("the page is\n%s", &page)
	}
}

// TestCompareNarrowed: it is said once that a run was narrowed, changes with one reason are one group, clauses that
// cannot fail are no news, and the numbers add up.
func TestCompareNarrowed(t *testing.T) {
	p, n := verdict.Passed, verdict.NotTested
	old, now := compared("sha256:00", p, p, p, p), compared("sha256:00", n, n, n, verdict.Failed)
	now.Selection = "AS-001"
	for i := range 3 {
		now.Runs[0].Clauses[i].Reason = "no scenario that judges it was run"
	}
	old.Runs[0].Clauses[2].Level, now.Runs[0].Clauses[2].Level = verdict.Info, verdict.Info
	var b strings.Builder
	if err := WriteComparisonText(&b, Compare(old, now), 120, false); err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{
		"The two runs did not run the same (new: only AS-001 was run)": 1, "no scenario that judges it was run": 1,
		"  2 clauses: passed → not tested\n": 1, "Not tested now, and never a failure: 1 clause": 1,
		"\n3 regressions · 1 newly broken, 2 newly untested, ": 1,
	} {
		if got := strings.Count(b.String(), text); got != times {
			t.Errorf("%q %d times, want %d, in:\n%s", text, got, times, b.String())
		}
	}
}
