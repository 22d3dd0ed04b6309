package runner

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features"
	"parley/reports"
	"parley/verdict"
)

func TestCheckBaseline(t *testing.T) {
	l, err := features.Ledger("agent-select")
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
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			err := checkBaseline(r.b, l)
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
