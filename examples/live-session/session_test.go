// Package session shows a live session in a Go test: parties of a protocol talk to a target with the steps of the
// features, one at a time, and each step returns its judgements. Here the target is the bundled agent-select server.
// For your own, protocols.Kinds().Load reads a profile, or ForURL makes one from a running server's address; Launcher
// is then target.NewLauncher(profile).
package session

import (
	"testing"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

// TestSwitch: with two clients connected, a switch of one does not affect the other.
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

	// The records are available as well: the raw bytes, and the messages of the protocol.
	got, err := s.Transcript().Await(t.Context(), mark, func(r *transcript.Record) bool {
		return r.Conn == "A" && r.Event != nil && r.Event.Type == "agent_switched"
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got.Line(160))

	// The monitors judge the whole session.
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

// do runs a step that must pass.
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
