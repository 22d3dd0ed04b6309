package runner

import (
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/agentselect"
	"parley/target"
)

// TestPreflight: what is not run after a stage of preflight, and why. A stage that passed never blocks anything.
func TestPreflight(t *testing.T) {
	ran := struct{ target.Running }{}
	for _, c := range []struct {
		reason string
		res    steps.Result
		blocks string // beginning of the reason of what follows; "": nothing is blocked
	}{
		{"passed, and no step said how far the target came", steps.Result{Run: ran, Outcome: verdict.Passed}, ""},
		{"only a SHOULD was broken", steps.Result{Run: ran, Outcome: verdict.Warned}, ""},
		{"the answer was wrong", steps.Result{Run: ran, Outcome: verdict.Failed, Reached: steps.Greeted}, ""},
		{"no answer", steps.Result{Run: ran, Outcome: verdict.NotTested, Reached: steps.Opened},
			"preflight: connecting did not work (AS-1.1-01"},
		{"no target to try it with", steps.Result{Outcome: verdict.NotTested},
			"preflight: connecting was not tested (AS-1.1-01"},
	} {
		r, d := &run{protocol: agentselect.Protocol{}}, &driverRun{}
		r.advancePreflight(d, Planned{ID: "AS-1.1-01", Stage: 1}, c.res)
		if got := d.blockingStage(Planned{Stage: 2}); !strings.HasPrefix(got, c.blocks) ||
			(got == "") != (c.blocks == "") {
			t.Errorf("%s: the next stage is blocked by %q, want %q", c.reason, got, c.blocks)
		}
	}
}

// TestNonce: a rerun of a scenario uses neither the sessions nor the releases of its first run.
func TestNonce(t *testing.T) {
	r, d := &run{salt: 0xabc}, &driverRun{name: "ws"}
	for _, want := range []string{"sc-4-1-1-11-ws-abc", "sc-4-1-1-11-ws-abcr2", "sc-4-1-1-11-ws-abcr3"} {
		if got := r.makeNonce(d, "SC-4.1.1-11"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := r.makeNonce(&driverRun{name: "ws"}, "SC-4.1.1-11"); got != "sc-4-1-1-11-ws-abc" {
		t.Errorf("another driver's is %q", got)
	}
}
