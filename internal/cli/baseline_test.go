package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
)

// TestBaselineUpdate checks that exactly the rows of what is fixed go, in whole runs alone.
func TestBaselineUpdate(t *testing.T) {
	dir := t.TempDir()
	file, from := filepath.Join(dir, "expected.yaml"), filepath.Join(dir, "results.json")
	const text = `# mine
expected:
  # fixed
  - {clause: AS-041, reason: fixed}
  - {clause: AS-042, reason: still broken}
  - {clause: AS-043, reason: comes and goes, flaky: true}
  - {clause: AS-044, reason: fixed over ws, driver: ws}
  - {clause: AS-045, reason: broken over ws, driver: ws}
  - {clause: AS-046, reason: not tested}
  - {clause: SC-042, reason: not run}
`
	over := func(sse, ws verdict.Outcome) map[string]verdict.Outcome {
		return map[string]verdict.Outcome{"sse": sse, "ws": ws}
	}
	p, f := verdict.Passed, verdict.Failed
	run := reports.Run{Protocol: "agent-select", Role: "server", Verdict: verdict.NonConformant, Clauses: []reports.Clause{
		{ID: "AS-041", Level: verdict.Must, Outcome: verdict.UnexpectedPass, ByDriver: over(p, p)},
		{ID: "AS-042", Level: verdict.Must, Outcome: verdict.ExpectedFail, ByDriver: over(p, verdict.ExpectedFail)},
		{ID: "AS-043", Level: verdict.Must, Outcome: p, ByDriver: over(p, p)},
		{ID: "AS-044", Level: verdict.Must, Outcome: f, ByDriver: over(f, verdict.UnexpectedPass)},
		{ID: "AS-045", Level: verdict.Must, Outcome: verdict.ExpectedFail, ByDriver: over(p, verdict.ExpectedFail)},
		{ID: "AS-046", Level: verdict.Must, Outcome: verdict.NotTested},
	}}
	run.Totals.Clauses.Total = len(run.Clauses)
	run.Totals.Clauses.ByOutcome = map[verdict.Outcome]int{p: 1, f: 1, verdict.UnexpectedPass: 1, verdict.ExpectedFail: 2,
		verdict.NotTested: 1}
	write(t, file, text)
	writeResults(t, from, &reports.Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []reports.Run{run}})
	var out bytes.Buffer
	update := func(o baselineOptions) {
		t.Helper()
		out.Reset()
		if err := updateBaseline(context.Background(), file, o, &streams{Out: &out}); err != nil {
			t.Fatal(err)
		}
	}
	update(baselineOptions{from: []string{from}, dryRun: true})
	if got := read(t, file); got != text || !strings.Contains(out.String(), "2 of 7 rows dropped, 5 kept") {
		t.Errorf("a dry run wrote\n%s\nand said\n%s", got, &out)
	}
	update(baselineOptions{from: []string{from}})
	want := strings.NewReplacer("  - {clause: AS-041, reason: fixed}\n", "",
		"  - {clause: AS-044, reason: fixed over ws, driver: ws}\n", "").Replace(text)
	if got := read(t, file); got != want {
		t.Errorf("the baseline is now\n%s\nwant\n%s", got, want)
	}
	update(baselineOptions{from: []string{from}})
	if got := read(t, file); got != want || !strings.HasPrefix(out.String(), "0 of 5 rows dropped") {
		t.Errorf("a second update changed it to\n%s\nand said\n%s", got, &out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeResults(t *testing.T, path string, r *reports.Results) {
	t.Helper()
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	write(t, path, b.String())
}
