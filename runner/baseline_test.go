package runner

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features"
	"parley/features/verdict"
	"parley/reports"
	"parley/steps/protocols"
)

func TestCheckBaseline(t *testing.T) {
	l, err := features.Ledger("agent-select")
	if err != nil {
		t.Fatal(err)
	}
	p, err := protocols.All.Find("agent-select")
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		reason string
		b      *verdict.Baseline
		want   string
	}{
		{"no baseline", nil, ""},
		{"clauses of the ledger", &verdict.Baseline{Expected: []verdict.Expected{{Clause: "AS-042"}, {Clause: "AC-110"}}},
			""},
		{"an unknown clause", &verdict.Baseline{Expected: []verdict.Expected{{Clause: "AS-042"}, {Clause: "AS-999"}}},
			"baseline: AS-999 is not a clause of agent-select"},
		{"a role and a driver of the protocol", &verdict.Baseline{Expected: []verdict.Expected{
			{Clause: "AS-042", Role: "server", Driver: "ws"}, {Clause: "AS-043", Driver: "r3labs"}}}, ""},
		{"a role of another", &verdict.Baseline{Expected: []verdict.Expected{{Clause: "AS-042", Role: "relay"}}},
			`baseline: AS-042: agent-select has no role "relay" (it has server)`},
		{"an unknown driver", &verdict.Baseline{Expected: []verdict.Expected{{Clause: "AS-042", Driver: "http"}}},
			`baseline: AS-042: agent-select has no driver "http" (it has sse, ws, r3labs)`},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			err := checkBaseline(r.b, l, p)
			var usage *UsageError
			if (r.want == "") != (err == nil) || err != nil && (!errors.As(err, &usage) || err.Error() != r.want) {
				t.Errorf("checkBaseline: %v, want %q", err, r.want)
			}
		})
	}
}

func TestApplyBaseline(t *testing.T) {
	clauses := []reports.Clause{
		{ID: "AS-001", Outcome: verdict.Failed, Reason: "that"},
		{ID: "AS-002", Outcome: verdict.Passed},
		{ID: "AS-003", Outcome: verdict.NotTested, Reason: "no model"},
		{ID: "AS-004", Outcome: verdict.Failed, Reason: "that"},
		{ID: "AS-005", Outcome: verdict.Failed, Reason: "that"},
	}
	r := &run{o: Options{Baseline: &verdict.Baseline{Expected: []verdict.Expected{
		{Clause: "AS-001", Reason: "issue 1", Expires: "9999-12-31"}, {Clause: "AS-002", Reason: "issue 2"},
		{Clause: "AS-003", Reason: "issue 3"},
		{Clause: "AS-004", Reason: "issue 4", Expires: "2020-01-01"}, {Clause: "AS-999", Reason: "issue 9"}}}}}
	got := r.applyBaseline(clauses)
	want := []reports.BaselineRow{
		{Clause: "AS-001", Reason: "issue 1", Expires: "9999-12-31", State: verdict.RowApplied},
		{Clause: "AS-002", Reason: "issue 2", State: verdict.RowStale},
		{Clause: "AS-003", Reason: "issue 3", State: verdict.RowUnused},
		{Clause: "AS-004", Reason: "issue 4", Expires: "2020-01-01", State: verdict.RowExpired},
		{Clause: "AS-999", Reason: "issue 9", State: verdict.RowUnknown},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows; want(-) got(+):\n%s", diff)
	}
	after := []reports.Clause{
		{ID: "AS-001", Outcome: verdict.ExpectedFail, Reason: "baseline: issue 1"},
		{ID: "AS-002", Outcome: verdict.UnexpectedPass, Reason: "baseline: issue 2"},
		{ID: "AS-003", Outcome: verdict.NotTested, Reason: "no model"},
		{ID: "AS-004", Outcome: verdict.Failed, Reason: "that"},
		{ID: "AS-005", Outcome: verdict.Failed, Reason: "that"},
	}
	if diff := cmp.Diff(after, clauses); diff != "" {
		t.Errorf("clauses; want(-) got(+):\n%s", diff)
	}
	if rows := (&run{}).applyBaseline(clauses); rows != nil {
		t.Errorf("no baseline has rows: %+v", rows)
	}
}

// TestApplyNarrowedBaseline checks rows about one driver, about another role, and about flaky clauses.
func TestApplyNarrowedBaseline(t *testing.T) {
	type over = map[string]verdict.Outcome
	clauses := []reports.Clause{
		{ID: "AS-001", Outcome: verdict.Failed, ByDriver: over{"sse": verdict.Passed, "ws": verdict.Failed}},
		{ID: "AS-002", Outcome: verdict.Failed, ByDriver: over{"sse": verdict.Failed, "ws": verdict.Failed}, Reason: "that"},
		{ID: "AS-003", Outcome: verdict.Failed, ByDriver: over{"sse": verdict.Failed, "ws": verdict.Passed}, Reason: "that"},
		{ID: "AS-004", Outcome: verdict.Passed, ByDriver: over{"sse": verdict.Passed, "ws": verdict.Passed}},
		{ID: "AS-005", Outcome: verdict.Failed, ByDriver: over{"sse": verdict.Failed}, Reason: "that"},
		{ID: "AS-006", Outcome: verdict.Passed, ByDriver: over{"sse": verdict.Passed}},
	}
	r := &run{role: "server", o: Options{Baseline: &verdict.Baseline{Expected: []verdict.Expected{
		{Clause: "AS-001", Reason: "1", Driver: "ws"}, {Clause: "AS-002", Reason: "2", Driver: "ws"},
		{Clause: "AS-003", Reason: "3", Driver: "ws"}, {Clause: "AS-004", Reason: "4", Flaky: true},
		{Clause: "AS-005", Reason: "5", Role: "relay"}, {Clause: "AS-006", Reason: "6", Driver: "stdio"}}}}}
	rows := r.applyBaseline(clauses)
	var states []string
	for _, row := range rows {
		states = append(states, row.Clause+" "+row.State)
	}
	want := []string{"AS-001 applied", "AS-002 applied", "AS-003 stale", "AS-004 passed this time", "AS-006 not tested"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("rows; want(-) got(+):\n%s", diff)
	}
	after := []reports.Clause{
		{ID: "AS-001", Outcome: verdict.ExpectedFail, Reason: "baseline: 1",
			ByDriver: over{"sse": verdict.Passed, "ws": verdict.ExpectedFail}},
		{ID: "AS-002", Outcome: verdict.Failed, Reason: "that",
			ByDriver: over{"sse": verdict.Failed, "ws": verdict.ExpectedFail}},
		{ID: "AS-003", Outcome: verdict.Failed, Reason: "that",
			ByDriver: over{"sse": verdict.Failed, "ws": verdict.UnexpectedPass}},
		{ID: "AS-004", Outcome: verdict.Passed, ByDriver: over{"sse": verdict.Passed, "ws": verdict.Passed}},
		{ID: "AS-005", Outcome: verdict.Failed, ByDriver: over{"sse": verdict.Failed}, Reason: "that"},
		{ID: "AS-006", Outcome: verdict.Passed, ByDriver: over{"sse": verdict.Passed}},
	}
	if diff := cmp.Diff(after, clauses); diff != "" {
		t.Errorf("clauses; want(-) got(+):\n%s", diff)
	}
	if !isForgiven(rows) || isForgiven(rows[2:3]) || !isForgiven(rows[3:4]) || isForgiven(rows[4:]) {
		t.Error("rows that applied, and flaky ones that passed, forgive; others do not")
	}
	scenarios := []reports.Scenario{brokenOver("sse", "AS-002"), brokenOver("ws", "AS-002")}
	excuseClauses(scenarios, clauses)
	if scenarios[0].Outcome != verdict.Failed || scenarios[1].Outcome != verdict.ExpectedFail {
		t.Errorf("over sse the scenario is %s, over ws %s", scenarios[0].Outcome, scenarios[1].Outcome)
	}
}

// brokenOver is a scenario that broke a clause over a driver.
func brokenOver(driver, clause string) reports.Scenario {
	return reports.Scenario{Driver: driver, Outcome: verdict.Failed, Failures: []reports.Failure{{Clause: clause}},
		Clauses: []verdict.Judgement{{Clause: clause, Outcome: verdict.Failed}}}
}
