package externalagent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/cucumber/godog"

	"parley/features"
	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/target"
	"parley/transport/transcript"
)

// conform runs all scenarios of the suite for a role: no clause may be broken, and nothing may be skipped except what
// the target does not declare.
func conform(t *testing.T, env *steps.Env, run target.Running, least int) {
	t.Helper()
	names, err := fs.Glob(features.FS, vocab.Protocol+"/*.feature")
	if err != nil {
		t.Fatal(err)
	}
	ran, n := 0, 0
	s := &steps.Suite{
		Protocol: Protocol{},
		Env:      env,
		Begin: func(_ context.Context, sc *godog.Scenario) steps.Slot {
			n++
			return steps.Slot{Run: run, Nonce: fmt.Sprintf("n%dx", n)}
		},
		Done: func(r steps.Result) {
			ran++
			if r.Outcome != verdict.Passed && r.Outcome != verdict.NotApplicable {
				t.Errorf("%s: %s: %s", r.Scenario.Name, r.Outcome, r.Reason)
			}
			for _, f := range r.Failures {
				t.Errorf("%s: %s breaks %s: %s", r.Scenario.Name, f.Monitor, f.Clause, f.Observed)
			}
		},
	}
	godog.TestSuite{ScenarioInitializer: s.Initialize, Options: &godog.Options{FS: features.FS, Paths: names, Tags: "@" +
		env.Role, Format: "progress", Output: io.Discard, NoColors: true, Strict: true}}.Run()
	if ran < least {
		t.Errorf("only %d scenarios were run", ran)
	}
}

func TestAConformantHost(t *testing.T) {
	p := &peer{logs: filepath.Join(t.TempDir(), "logs")}
	env := environment(t, vocab.Host, p)
	env.Profile.Capabilities = []string{binding.RelaySessions, binding.TwoAgents}
	binding.Of(env.Profile).Session = "r-{nonce}"
	binding.Of(env.Profile).Logs = p.logs
	conform(t, env, p, 100)
}

func TestAConformantRelay(t *testing.T) {
	p := &carrier{}
	env := environment(t, vocab.Relay, p)
	env.Profile.Limits.Event.Duration = patience
	env.Profile.Capabilities = []string{binding.TwoAgents}
	binding.Of(env.Profile).Session = "r-{nonce}"
	conform(t, env, p, 60)
}

// TestARelayThatEncodesAnew checks that a relay that re-encodes what it passes on is not blamed for the harness's odd
// envelopes.
func TestARelayThatEncodesAnew(t *testing.T) {
	p := &carrier{bad: func(_, _ *carried, _ *transcript.Record, body []byte) [][]byte {
		return [][]byte{bytes.ReplaceAll(body, []byte(`,"`), []byte(`, "`))}
	}}
	env := environment(t, vocab.Relay, p)
	env.Profile.Limits.Event.Duration = patience
	env.Profile.Capabilities = []string{binding.TwoAgents}
	binding.Of(env.Profile).Session = "r-{nonce}"
	conform(t, env, p, 60)
}
