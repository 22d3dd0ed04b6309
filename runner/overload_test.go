package runner

import (
	"testing"
	"time"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/agentselect"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// crowd is a driver's part of a run with many scenarios at once.
func crowd(t *testing.T) *driverRun {
	t.Helper()
	p, err := protocols.Kinds().ForURL("agent-select", "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	return &driverRun{crowded: true, slots: newSlots(2, 0), envs: &steps.Env{Profile: p}}
}

// TestSetAside: a scenario that may have missed something because of the load is set aside, even if it also received
// something wrong.
func TestSetAside(t *testing.T) {
	records := []transcript.Record{{N: 1, Dir: transcript.Received, Kind: transcript.Frame}}
	missing := steps.Failure{Clause: "AS-001", Outcome: verdict.Failed, Missing: true}
	wrong := steps.Failure{Clause: "AS-002", Outcome: verdict.Failed, Finding: verdict.Finding{At: 1}}
	vague := steps.Failure{Clause: "AS-003", Outcome: verdict.Failed}
	failed := func(late int, list ...steps.Failure) steps.Result {
		return steps.Result{Outcome: verdict.Failed, Late: late, Failures: list, Records: records}
	}
	refused := failed(0, steps.Failure{Clause: "AS-004", Finding: verdict.Finding{At: 1}})
	refused.Records = []transcript.Record{
		{N: 1, Dir: transcript.Received, Kind: transcript.Failure, Label: "dial: connect: connection refused"}}
	for _, row := range []struct {
		reason string
		res    steps.Result
		want   bool
	}{
		{"something is missing", failed(1, missing), true},
		{"something is missing, something is wrong", failed(1, missing, wrong), true},
		{"something is missing, something may be wrong", failed(1, missing, vague), false},
		{"something is wrong", failed(1, wrong), false},
		{"nothing was late", failed(0, missing), false},
		{"the target was unreachable",
			notTestedIfLost(steps.Result{Outcome: verdict.EnvError, Reason: "connection refused"}), true},
		{"a request was refused", refused, true},
		{"all is well", steps.Result{Outcome: verdict.Passed, Late: 1}, false},
	} {
		d := crowd(t)
		if set := (&run{}).setAside(d, Planned{}, row.res); set != row.want || len(d.aside[answersMissed]) > 0 != row.want {
			t.Errorf("%s: set aside %v", row.reason, !row.want)
		}
	}
	if (&run{}).setAside(&driverRun{}, Planned{}, failed(1, missing)) {
		t.Error("set aside alone, where nothing can be the crowd's fault")
	}
	cut := steps.Result{Outcome: verdict.NotTested, Squeezed: true}
	if !(&run{}).setAside(&driverRun{envs: crowd(t).envs}, Planned{}, cut) {
		t.Error("it lost records to the scenarios of another run in this process, and was not set aside")
	}
}

// TestAsideDecidesNothing: a failure in a scenario that may run again does not count as a failed clause yet, so other
// scenarios that judge the clause get whole limits.
func TestAsideDecidesNothing(t *testing.T) {
	d := crowd(t)
	res := steps.Result{Outcome: verdict.Failed, Late: 1,
		Clauses:  []verdict.Judgement{{Clause: "AS-001", Outcome: verdict.Failed}},
		Failures: []steps.Failure{{Clause: "AS-001", Outcome: verdict.Failed, Missing: true}}}
	if !(&run{}).setAside(d, Planned{}, res) {
		t.Fatal("it was not set aside")
	}
	other := steps.NewWorld(d.envs, nil, "n", []string{"@AS-001"}, nil)
	if limit := d.envs.Event(); other.Limit(limit) != limit {
		t.Errorf("another scenario gets %v of %v", other.Limit(limit), limit)
	}
	d.envs.Judged(res)
	if limit := d.envs.Event(); other.Limit(limit) >= limit {
		t.Errorf("once the clause has failed, another scenario gets %v of %v", other.Limit(limit), limit)
	}
}

// TestAfresh: the rerun alone replaces what a scenario missed beside others, but not what was wrong.
func TestAfresh(t *testing.T) {
	records := []transcript.Record{{N: 1, Dir: transcript.Received, Kind: transcript.Frame, At: time.Second}}
	first := steps.Result{Outcome: verdict.Failed, Records: records, Failures: []steps.Failure{
		{Clause: "AS-001", Outcome: verdict.Failed, Missing: true},
		{Clause: "AS-002", Outcome: verdict.Failed, Finding: verdict.Finding{At: 1}}}}
	alone := steps.Result{Outcome: verdict.Passed, Clauses: []verdict.Judgement{
		{Clause: "AS-001", Outcome: verdict.Passed}, {Clause: "AS-002", Outcome: verdict.Passed}}}
	d := crowd(t)
	d.again = &rerun{first: map[string]steps.Result{"k": first}}
	got := d.combineRerun(Planned{key: "k"}, alone)
	if got.Outcome != verdict.Failed || len(got.Failures) != 1 || got.Clauses[0].Outcome != verdict.Passed ||
		got.Clauses[1].Outcome != verdict.Failed || d.again.passed != 1 {
		t.Errorf("%d pass; %+v", d.again.passed, got)
	}
	if got := d.combineRerun(Planned{key: "other"}, alone); got.Outcome != verdict.Passed || d.again.passed != 1 {
		t.Errorf("one that was not set aside is %s, %d pass", got.Outcome, d.again.passed)
	}
}

// TestWrongByItself: after a full target has closed a connection, only findings count that are wrong in a message by
// itself.
func TestWrongByItself(t *testing.T) {
	r := &run{protocol: agentselect.Protocol{}}
	for _, m := range r.protocol.Monitors() {
		if r.wrongByItself(steps.Failure{Clause: "AS-001", Monitor: m.Name}) != m.PerRecord {
			t.Errorf("a finding of %s: %v", m.Name, !m.PerRecord)
		}
	}
	if r.wrongByItself(steps.Failure{Clause: "AS-001"}) {
		t.Error("a finding of a step")
	}
}
