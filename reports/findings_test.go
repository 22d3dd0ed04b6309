package reports

import (
	"strings"
	"testing"

	"parley/features/verdict"
)

// TestLeftOut: a scenario that was not tested is listed with its reason even if its clause passed in another one.
func TestLeftOut(t *testing.T) {
	clauses := func(ids ...string) (out []verdict.Judgement) {
		for _, id := range ids {
			out = append(out, verdict.Judgement{Clause: id, Outcome: verdict.NotTested})
		}
		return out
	}
	run := Run{Protocol: "agent-select", Target: Target{Drivers: []string{"sse", "ws"}},
		Clauses: []Clause{{ID: "AS-001", Level: verdict.Must, Outcome: verdict.Passed},
			{ID: "AS-002", Level: verdict.Must, Outcome: verdict.NotTested, Reason: "no model"}},
		Scenarios: []Scenario{
			{ID: "AS-1.1-01", Driver: "sse", Outcome: verdict.Passed, Clauses: clauses("AS-001")},
			{ID: "AS-1.1-02", Driver: "sse", Outcome: verdict.NotTested, Reason: "no hook\nat all", Clauses: clauses("AS-001")},
			{ID: "AS-1.1-03", Driver: "ws", Outcome: verdict.NotTested, Reason: "no hook", Clauses: clauses("AS-002", "AS-001")},
			{ID: "AS-1.1-04", Driver: "sse", Outcome: verdict.NotTested, Reason: "no model", Clauses: clauses("AS-002")},
		}}
	var b strings.Builder
	if err := WriteConsole(&b, &Results{Verdict: verdict.Incomplete, Exit: 5, Runs: []Run{run}},
		ConsoleOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "Not tested, but other scenarios judged their clauses: 2 scenarios\n  no hook (2)\n    AS-1.1-02 " +
		"(sse) AS-1.1-03 (ws)\n"
	if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "AS-1.1-04") {
		t.Errorf("want\n%s\nin\n%s", want, got)
	}
}
