package reports

import (
	"strings"
	"testing"

	"parley/features/verdict"
)

// TestConsoleEnd: what follows the verdict is the first causes, and then what to do next.
func TestConsoleEnd(t *testing.T) {
	failed := brokenRun(5)
	incomplete := Run{Protocol: "p", Role: "server", Target: Target{Profile: "my.yaml", Origin: FromProfile},
		Clauses: []Clause{{ID: "X-001", Level: verdict.Must, Outcome: verdict.NotTested}}}
	for _, one := range []struct {
		name  string
		r     Results
		quiet bool
		after []string // how the lines behind the verdict begin
	}{
		{"failed", Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []Run{failed}}, false,
			[]string{"  1  ", "  2  ", "  3  ", "     and 2 more causes", "  next  parley "}},
		{"quiet", Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []Run{failed}}, true, nil},
		{"incomplete", Results{Verdict: verdict.Incomplete, Exit: 5, Runs: []Run{incomplete}}, false,
			[]string{"  next  parley doctor my.yaml"}},
		{"a folder", Results{Verdict: verdict.Incomplete, Exit: 5, Runs: []Run{{Folder: "./my pack",
			Target: Target{URL: "http://localhost:3000"}}}}, false,
			[]string{"  next  parley init --protocol './my pack' http://localhost:3000"}},
		{"no runs", Results{Verdict: verdict.Incomplete, Exit: 5}, false, nil},
		{"conformant", Results{Verdict: verdict.Conformant, Runs: []Run{{Clauses: []Clause{{ID: "X-001",
			Level: verdict.Must, Outcome: verdict.Passed}}}}}, false, nil},
	} {
		got := consoleText(t, &one.r, ConsoleOptions{Width: 120, Quiet: one.quiet})
		_, after, _ := strings.Cut(got, strings.ToUpper(string(one.r.Verdict))+"  ")
		lines := strings.Split(strings.TrimRight(after, "\n"), "\n")[1:]
		for i, want := range one.after {
			if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
				t.Errorf("%s: line %d does not begin with %q:\n%s", one.name, i, want, after)
			}
		}
		if len(one.after) == 0 && len(lines) > 0 {
			t.Errorf("%s: the verdict is not last:\n%s", one.name, after)
		}
	}
}

// TestFoldedNotes: how messages differ over drivers is told at length in the verbose report only.
func TestFoldedNotes(t *testing.T) {
	run := Run{Notes: []Note{{Kind: foldedNote, Text: "X-001 failed over ws and passed over sse"},
		{Kind: foldedNote, Text: "sse (-) and ws (+) differ:\n+ client A: error", Scenario: "X-1-01"},
		{Kind: foldedNote, Text: "sse (-) and ws (+) differ:\n- client B: error", Scenario: "X-1-02"}}}
	r := &Results{Verdict: verdict.Conformant, Runs: []Run{run}}
	short, long := consoleText(t, r, ConsoleOptions{}), consoleText(t, r, ConsoleOptions{Verbose: true})
	if strings.Contains(short, "client A") || !strings.Contains(short, "(X-1-01, X-1-02)") ||
		!strings.Contains(short, "X-001 failed over ws") {
		t.Errorf("the notes are not folded:\n%s", short)
	}
	if !strings.Contains(long, "+ client A: error") || !strings.Contains(long, "- client B: error") {
		t.Errorf("the verbose report lacks notes:\n%s", long)
	}
}
