package runner

import (
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

// TestStanding: a wrong message in a scenario that ran beside others stays a failure whatever its rerun shows. What
// was missing then, and how connections ended, is judged by the rerun alone.
func TestStanding(t *testing.T) {
	records := []transcript.Record{
		{N: 1, Dir: transcript.Sent, Kind: transcript.Request},
		{N: 2, Dir: transcript.Received, Kind: transcript.Stream},
		{N: 3, Dir: transcript.Received, Kind: transcript.Closed},
	}
	const passed, failed, untested = verdict.Passed, verdict.Failed, verdict.NotTested
	failure := func(id string, at int) steps.Failure {
		return steps.Failure{Clause: id, Outcome: failed, Finding: verdict.Finding{At: at, Observed: "it"}}
	}
	result := func(a, b verdict.Outcome, list ...steps.Failure) steps.Result {
		res := steps.Result{Outcome: passed, Failures: list, Records: records,
			Clauses: []verdict.Judgement{{Clause: "A", Outcome: a}, {Clause: "B", Outcome: b}}}
		if len(list) > 0 {
			res.Outcome = failed
		}
		return res
	}
	seen := failure("M", 2)
	seen.Monitor = "m"
	well := result(passed, passed)
	for _, row := range []struct {
		reason       string
		first, alone steps.Result
		total, a, b  verdict.Outcome
		failures     int // of steps
		monitors     int // failures of them
		elsewhere    int // failures that the kept transcript does not show
	}{
		{"a message was wrong", result(failed, untested, failure("A", 2)), well, failed, failed, passed, 1, 0, 0},
		{"a connection ended", result(failed, untested, failure("A", 3)), well, passed, passed, passed, 0, 0, 0},
		{"nothing came", result(failed, untested, failure("A", 1)), well, passed, passed, passed, 0, 0, 0},
		{"no record shows it", result(failed, untested, failure("A", 0)), well, passed, passed, passed, 0, 0, 0},
		{"both", result(failed, failed, failure("A", 2), failure("B", 3)), well, failed, failed, passed, 1, 0, 0},
		{"rerun breaks another clause", result(failed, untested, failure("A", 2)), result(passed, failed, failure("B", 2)),
			failed, failed, failed, 2, 0, 1},
		{"no time for the rerun", result(failed, untested, failure("A", 2)),
			steps.Result{Outcome: untested, Clauses: result(untested, untested).Clauses}, failed, failed, untested, 1, 0, 0},
		{"a monitor found it", steps.Result{Outcome: untested, Records: records, Failures: []steps.Failure{seen}},
			well, passed, passed, passed, 0, 1, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := standingFailures(row.first, row.alone)
			if got.Outcome != row.total || got.Clauses[0].Outcome != row.a || got.Clauses[1].Outcome != row.b {
				t.Errorf("%s, %+v", got.Outcome, got.Clauses)
			}
			monitors, elsewhere := counted(got)
			if len(got.Failures)-monitors != row.failures || monitors != row.monitors || elsewhere != row.elsewhere {
				t.Errorf("%d failures, %d of monitors, %d elsewhere: %+v", len(got.Failures), monitors, elsewhere, got)
			}
		})
	}
}

// counted returns the number of a result's monitor failures, and of its step failures that the transcript does not
// show.
func counted(res steps.Result) (monitors, elsewhere int) {
	for _, f := range res.Failures {
		said := func(j verdict.Judgement) bool { return j.Monitor == f.Monitor && j.Outcome == f.Outcome }
		if byMonitor(f) && slices.ContainsFunc(res.Monitors, said) {
			monitors++
		}
		if f.At == 0 && strings.HasSuffix(f.Observed, whenAlone) {
			elsewhere++
		}
	}
	return monitors, elsewhere
}
