package runner

import (
	"testing"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// TestReconsider: a failure that depends on what the run may find out is reported when the run is over, but it counts
// for later waits at once. What was settled meanwhile is not reported, nor what may have missed something because of
// it.
func TestReconsider(t *testing.T) {
	p, err := protocols.All.Find("external-agent")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	failed := func(late int, settled bool) steps.Result {
		return steps.Result{Outcome: verdict.Failed, Late: late,
			Clauses:  []verdict.Judgement{{Clause: "EA-072", Outcome: verdict.Failed}},
			Failures: []steps.Failure{{Clause: "EA-072", Outcome: verdict.Failed}},
			Doubt:    &steps.Doubt{Clauses: []string{"EA-072"}, Settled: func() bool { return settled }}}
	}
	for _, row := range []struct {
		reason string
		first  bool // what failed first is settled
		late   int  // waits of the second that reached their limit
		want   int  // results that are reported
	}{
		{"nothing was found out", false, 1, 2},
		{"the first changes by itself", true, 0, 1},
		{"the second may have missed something because the first counted as failed", true, 1, 0},
	} {
		r := &run{protocol: p, ledger: ledger, redact: transcript.NewRedactor(),
			results: map[string]map[string]reports.Scenario{"ws": {}}}
		d := crowd(t)
		d.name, d.crowded = "ws", false
		for i, res := range []steps.Result{failed(0, row.first), failed(row.late, false)} {
			id := []string{"EA-4.3-01", "EA-4.3-02"}[i]
			r.acceptResult(d, Planned{ID: id, key: id, file: "a.feature"}, res)
		}
		other := steps.NewWorld(d.envs, nil, "n", []string{"@EA-072"}, nil)
		if limit := d.envs.Event(); len(r.results["ws"]) > 0 || other.Limit(limit) >= limit {
			t.Errorf("%s: reported at once: %d; another scenario gets %v", row.reason, len(r.results["ws"]), other.Limit(limit))
		}
		if r.judgeAgain(t.Context(), d, 1, true); len(r.results["ws"]) != row.want || len(r.judged) != row.want {
			t.Errorf("%s: %d reported, want %d", row.reason, len(r.results["ws"]), row.want)
		}
	}
}

// TestHasty: a pass is reported at once, and withdrawn if what it was shown by proves to change by itself.
func TestHasty(t *testing.T) {
	p, err := protocols.All.Find("external-agent")
	if err != nil {
		t.Fatal(err)
	}
	for _, settled := range []bool{false, true} {
		r := &run{protocol: p, redact: transcript.NewRedactor(), results: map[string]map[string]reports.Scenario{"ws": {}}}
		d := crowd(t)
		d.name, d.crowded = "ws", false
		pl := Planned{ID: "EA-4.2-10", key: "k", file: "a.feature"}
		r.acceptResult(d, pl, steps.Result{Outcome: verdict.Passed,
			Clauses: []verdict.Judgement{{Clause: "EA-054", Outcome: verdict.Passed}},
			Doubt:   &steps.Doubt{Shown: []string{"EA-054"}, Settled: func() bool { return settled }}})
		if len(r.results["ws"]) != 1 {
			t.Error("a pass was not reported at once")
		}
		r.judgeAgain(t.Context(), d, 1, true)
		if withdrawn := len(r.results["ws"]) == 0; withdrawn != settled {
			t.Errorf("settled %v: withdrawn %v", settled, withdrawn)
		}
	}
}
