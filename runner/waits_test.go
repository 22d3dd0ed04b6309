package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

// waitsShown is an observer that gets what scenarios wait for.
type waitsShown chan func() string

// Planned implements runner.Observer.
func (waitsShown) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (waitsShown) ScenarioDone(reports.Scenario) {}

// ShowWaits implements runner.WaitObserver.
func (o waitsShown) ShowWaits(longest func() string) { o <- longest }

// TestShowWaits: while a scenario waits for what the target owes, an observer can say what, and by which clauses; when
// the run has been ended it waits no more.
func TestShowWaits(t *testing.T) {
	all := bundled.All.Mutants(protocols.Kinds(), "session-runtime", "")
	i := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == "input-not-routed" })
	b := bundled.All.For(protocols.Kinds(), "session-runtime", "")
	patient, unfenced := *b.Profile, *binding.Of(b.Profile)
	patient.Limits.Event.Duration, patient.Limits.Scenario.Duration, unfenced.Fence = time.Hour, time.Hour, false
	patient.Sections = []target.Section{{Key: patient.Protocol, Value: &unfenced}}
	shown := make(waitsShown, 1)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	over := make(chan error, 1)
	go func() {
		_, err := runner.Run(ctx, runner.Options{Protocols: protocols.All, Profile: &patient, Tags: "@RT-4A-01",
			Launcher: all[i].Launch(b.Brain), Brain: b.Brain, Observer: shown, Out: t.TempDir(), Again: "parley run"})
		over <- err
	}()
	longest := <-shown
	text := ""
	for text == "" {
		select {
		case err := <-over:
			t.Fatalf("the run ends, and nothing is said: %v", err)
		case <-time.After(10 * time.Millisecond):
			text = longest()
		}
	}
	if !strings.HasPrefix(text, "waiting for the input on its way to agent agent-") ||
		!strings.HasSuffix(text, " s, RT-001 RT-013 RT-015 +2; Ctrl-C") {
		t.Errorf("it says %q", text)
	}
	interrupt()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if got := longest(); got != "" {
		t.Errorf("after the run: %q", got)
	}
}
