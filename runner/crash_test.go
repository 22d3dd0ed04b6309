package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features"
	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

// TestBlame: a scenario that ends the target's process breaks one clause. The other clauses that it could not test
// remain not tested.
func TestBlame(t *testing.T) {
	ledger, err := features.Ledger("session-chat")
	if err != nil {
		t.Fatal(err)
	}
	const must, also, should, may = "SC-008", "SC-016", "SC-037a", "SC-034"
	for id, want := range map[string]verdict.Outcome{must: verdict.Failed, also: verdict.Failed, should: verdict.Warned,
		may: verdict.NotApplicable} {
		if got := verdict.ByLevel(ledger.Level(id), false); got != want {
			t.Fatalf("%s is %s when it is broken, want %s", id, got, want)
		}
	}
	const open, end = verdict.NotTested, "the process ended"
	clause := func(id string, o verdict.Outcome) verdict.Judgement { return verdict.Judgement{Clause: id, Outcome: o} }
	for _, row := range []struct {
		what    string
		outcome verdict.Outcome
		clauses []verdict.Judgement
		want    []verdict.Outcome
		blamed  string
		total   verdict.Outcome
	}{
		{"the first binding clause", open, []verdict.Judgement{clause(may, open), clause(should, open), clause(must, open),
			clause(also, open)},
			[]verdict.Outcome{open, open, verdict.Failed, open}, must, verdict.Failed},
		{"not a clause that already passed", open, []verdict.Judgement{clause(must, verdict.Passed), clause(also, open)},
			[]verdict.Outcome{verdict.Passed, verdict.Failed}, also, verdict.Failed},
		{"the target is gone", verdict.EnvError, []verdict.Judgement{clause(must, verdict.EnvError),
			clause(also, verdict.EnvError)},
			[]verdict.Outcome{verdict.Failed, open}, must, verdict.Failed},
		{"a step found a failure", verdict.Failed, []verdict.Judgement{clause(must, open), clause(also, verdict.Failed)},
			[]verdict.Outcome{open, verdict.Failed}, "", verdict.Failed},
		{"a warning is not enough", verdict.Warned,
			[]verdict.Judgement{clause(should, verdict.Warned), clause(must, open)},
			[]verdict.Outcome{verdict.Warned, verdict.Failed}, must, verdict.Failed},
		{"only a SHOULD", open, []verdict.Judgement{clause(should, open), clause(may, open)},
			[]verdict.Outcome{verdict.Warned, open}, should, verdict.Warned},
		{"no binding clause", open, []verdict.Judgement{clause(may, open)}, []verdict.Outcome{open}, "", open},
	} {
		t.Run(row.what, func(t *testing.T) {
			r := &run{ledger: ledger}
			res := steps.Result{Outcome: row.outcome, Clauses: row.clauses,
				Records: []transcript.Record{{N: 1, Dir: transcript.Sent}, {N: 2, Dir: transcript.Received}}}
			r.blameClause(&res, end)
			var got []verdict.Outcome
			for _, c := range res.Clauses {
				got = append(got, c.Outcome)
			}
			var want []steps.Failure
			if row.blamed != "" {
				want = []steps.Failure{{Clause: row.blamed, Outcome: row.total,
					Finding: verdict.Finding{Expected: stillRunning, Observed: end, At: 1}}}
			}
			if res.Outcome != row.total || !cmp.Equal(got, row.want) || len(res.Failures) != len(want) ||
				len(want) > 0 && (res.Failures[0].Clause != want[0].Clause || res.Failures[0].Outcome != want[0].Outcome ||
					res.Failures[0].At != 1) {
				t.Errorf("%s, %v, %+v; want %s, %v, %+v", res.Outcome, got, res.Failures, row.total, row.want, want)
			}
		})
	}
}
