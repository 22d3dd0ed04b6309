package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"parley/features/verdict"
)

func writtenBy(t *testing.T, write func(io.Writer, *Results) error, r *Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMarkdown: the texts of a target make no HTML, no links, no mentions and no table cells.
func TestMarkdown(t *testing.T) {
	r := narrowed()
	r.Runs[0].Scenarios[1].Failures[0].Observed = "a | b\n@all [x](http://evil.example) `c` <img src=x> www.evil.example"
	text := writtenBy(t, WriteMarkdown, r)
	for _, want := range []string{MarkdownMark + "\n", "✗ Parley: non-conformant", "AS-080 MUST", "AS-024 SHOULD",
		"expires in 3 days", "no model stub was reached: AS-047 AS-048", "2 expected failures",
		"a \\| b<br>&#64;all \\[x\\](http&#58;//evil.example) \\`c\\` &lt;img src=x&gt; www&#46;evil.example",
		"parley run --protocol agent-select --target my.yaml --tags @AS-080"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, bad := range []string{"<script", "<img", "http://", " [x]"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in\n%s", bad, text)
		}
	}
	cells := 0
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "| AS-") {
			continue
		}
		cells++
		if n := len(regexp.MustCompile(`(^|[^\\])\|`).FindAllString(line, -1)); n != 7 {
			t.Errorf("%d bars in %s", n, line)
		}
	}
	if cells != 3 {
		t.Errorf("%d clauses are in tables, want 3", cells)
	}
}

// TestGitHub: each annotation is one line, whatever the target sent, and names the profile or the user's own feature.
func TestGitHub(t *testing.T) {
	r := narrowed()
	r.Runs[0].Scenarios[1].Failures[0].Observed = "one\n::error::two, 100%: three"
	r.Runs[0].Scenarios[1].Location = "tests/my.feature:7"
	text := writtenBy(t, WriteGitHub, r)
	want := []string{
		`^::error file=my.yaml,title=AS-080 MUST agent-select server::agentId must match .*%0Aobserved agent_switched`,
		`^::error file=my.yaml,title=AS-085 MUST agent-select server::.*driver ws`,
		`^::warning file=tests/my.feature,line=7,title=AS-024 SHOULD agent-select server::` +
			`.*one%0A::error::two, 100%25: three`,
		`^::warning file=my.yaml,title=baseline AS-085::\(driver sse\) expires in 3 days`,
		`^::notice title=parley%3A non-conformant::`,
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), text)
	}
	for i, w := range want {
		if !regexp.MustCompile(w).MatchString(lines[i]) {
			t.Errorf("line %d is %s\nwant %s", i, lines[i], w)
		}
	}
}

// TestGitHubCountsTheRest: GitHub shows ten annotations of a kind, and the tenth tells of the others.
func TestGitHubCountsTheRest(t *testing.T) {
	r := &Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []Run{{Protocol: "p", Role: "server"}}}
	for _, id := range "abcdefghijklm" {
		r.Runs[0].Clauses = append(r.Runs[0].Clauses, Clause{ID: string(id), Level: verdict.Must, Outcome: verdict.Failed})
	}
	text := writtenBy(t, WriteGitHub, r)
	if n := strings.Count(text, "::error "); n != ghMost || !strings.Contains(text, "and 4 errors more") {
		t.Errorf("%d errors in\n%s", n, text)
	}
}

func TestBadge(t *testing.T) {
	clauses := func(outcomes ...verdict.Outcome) []Run {
		var list []Clause
		for _, o := range outcomes {
			list = append(list, Clause{ID: "AS-001", Level: verdict.Must, Outcome: o})
		}
		return []Run{{Clauses: list}}
	}
	passed := clauses(verdict.Passed)
	excused := clauses(verdict.Passed, verdict.ExpectedFail)
	flaky := clauses(verdict.Passed)
	flaky[0].Baseline = []BaselineRow{{Clause: "AS-001", Flaky: true, State: verdict.RowSpared}}
	for _, c := range []struct {
		reason, colour, message string
		r                       Results
	}{
		{"conformant", "brightgreen", "conformant", Results{Verdict: verdict.Conformant, Runs: passed}},
		{"a failure", "red", "non-conformant (1 of 1)",
			Results{Verdict: verdict.NonConformant, Exit: 1, Runs: clauses(verdict.Failed)}},
		{"a baseline", "blue", "as-expected (1 known failure)", Results{Verdict: verdict.AsExpected, Runs: excused}},
		{"a flaky row", "blue", "as-expected", Results{Verdict: verdict.AsExpected, Runs: flaky}},
		{"a baseline in a file that says conformant", "blue", "as-expected (1 known failure)",
			Results{Verdict: verdict.Conformant, Runs: excused}},
		{"a flaky row in a file that says conformant", "blue", "as-expected",
			Results{Verdict: verdict.Conformant, Runs: flaky}},
		{"incomplete", "lightgrey", "incomplete", Results{Verdict: verdict.Incomplete, Exit: 5, Runs: passed}},
		{"incomplete, which was allowed", "lightgrey", "incomplete", Results{Verdict: verdict.Incomplete, Runs: passed}},
		{"interrupted", "lightgrey", "incomplete", Results{Verdict: verdict.Conformant, Partial: true, Runs: passed}},
		{"the target could not be reached", "lightgrey", "incomplete",
			Results{Verdict: verdict.Conformant, Exit: 3, Runs: passed}},
		{"filtered, with a baseline", "lightgrey", "incomplete",
			Results{Verdict: verdict.AsExpected, Selection: "@x", Runs: excused}},
		{"passive", "lightgrey", "incomplete", Results{Verdict: verdict.Conformant, Passive: true, Runs: passed}},
		{"nothing was run", "lightgrey", "incomplete", Results{Verdict: verdict.Conformant}},
	} {
		var got struct {
			SchemaVersion         int
			Label, Message, Color string
			IsError               bool
		}
		if err := json.Unmarshal([]byte(writtenBy(t, WriteShields, &c.r)), &got); err != nil {
			t.Fatal(err)
		}
		if got.SchemaVersion != 1 || got.Label != "parley" || got.Color != c.colour || got.Message != c.message ||
			got.IsError == (c.colour == "brightgreen") {
			t.Errorf("%s: %+v", c.reason, got)
		}
		svg := writtenBy(t, WriteBadge, &c.r)
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil || !strings.Contains(svg, ">"+c.message+"</text>") {
			t.Errorf("%s: %v\n%s", c.reason, err, svg)
		}
		if green := strings.Contains(svg, "#1a7f37"); green != (c.colour == "brightgreen") {
			t.Errorf("%s: green is %t", c.reason, green)
		}
	}
}
