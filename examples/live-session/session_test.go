// Package session shows a live session in a Go test: parties of a protocol talk to a target in the steps of the
// features, one at a time, and each step says what it has judged. Here the target is the bundled agent-select server;
// protocols.Kinds().Load reads the profile of yours, or ForURL makes one of a running server's address; then Launcher
// is target.NewLauncher(profile).
package session

import (
	"testing"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transcript"
	"parley/verdict"
)

// TestSwitch: two clients are connected, and a switch of one is its own.
func TestSwitch(t *testing.T) {
	server := bundled.All.For(protocols.Kinds(), "agent-select", "server")
	s, err := simulator.Open(t.Context(), runner.Options{Protocols: protocols.All, Profile: server.Profile,
		Launcher: server.Launcher, Brain: server.Brain})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	a, b := s.Party("client A"), s.Party("client B")
	do(t, a, `is connected`)
	do(t, a, `has a session`)
	do(t, b, `is connected`)
	mark := s.Transcript().Len()
	do(t, a, `switches to "debugger"`)
	judged := do(t, a, `is switched from "general" to "debugger"`)
	for _, one := range judged.Outcomes {
		t.Logf("%s %s", one.Clause, one.Outcome)
	}

	// What came is at hand as well: the wire, and the messages of the protocol.
	got, err := s.Transcript().Await(t.Context(), mark, func(r *transcript.Record) bool {
		return r.Conn == "A" && r.Event != nil && r.Event.Type == "agent_switched"
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got.Line(160))

	// The monitors look at the whole session.
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for clause, outcome := range s.Outcomes() {
		if outcome == verdict.Failed {
			t.Errorf("%s is broken", clause)
		}
	}

	// The session as a scenario, for parley run --features.
	t.Log(s.Scenario("A switch"))
}

// do carries out a step that has to hold.
func do(t *testing.T, p simulator.Party, step string) steps.Judged {
	t.Helper()
	judged, err := p.Do(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	if judged.Err != nil {
		t.Fatal(judged.Err)
	}
	for _, f := range judged.Failures {
		t.Errorf("%s is broken: expected %s, observed %s", f.Clause, f.Expected, f.Observed)
	}
	return judged
}
