package examination

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/protocol/externalagent"
	"parley/reference-server/bundled"
	"parley/steps/protocols"
	"parley/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLent checks that a target lent to a run still offers the optional target interfaces.
func TestLent(t *testing.T) {
	for _, role := range protocols.All.Roles(externalagent.Protocol) {
		launcher := bundled.All.For(protocols.Kinds(), externalagent.Protocol, role).Launcher
		running, err := launcher.Launch(t.Context(), target.LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer withinLimit(time.Second, running.Stop)
		var missing *target.NotDeclaredError
		k := sharedTarget{running}
		if _, err := k.LogFolder(); (err == nil) != (role != externalagent.Agent) {
			t.Errorf("%s: logs: %v", role, err)
		}
		if err := k.Say(t.Context(), "none", "hello"); errors.As(err, &missing) != (role != externalagent.Host) {
			t.Errorf("%s: user-says: %v", role, err)
		}
		called, err := k.Call(t.Context(), target.CallOptions{URL: "ws://127.0.0.1:1"})
		if (err == nil) != (role == externalagent.Agent) {
			t.Errorf("%s: call: %v", role, err)
		}
		if err == nil {
			withinLimit(time.Second, called.Stop)
		}
	}
}
