package odd_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"parley/internal/freeport"
	"parley/reference-server/externalagent/agent"
	"parley/runner"
	agentwire "parley/steps/externalagent/binding"
	"parley/steps/protocols"
	"parley/test/suitetest"
	"parley/verdict"
)

// TestAgentConnectsByItself checks that an agent that connects repeatedly by itself is judged at the configured
// address.
func TestAgentConnectsByItself(t *testing.T) {
	free, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer free.Release()
	addr := free.Addr()
	ctx, cancel := context.WithCancel(t.Context())
	var agents sync.WaitGroup
	agents.Go(func() {
		for ctx.Err() == nil {
			_, _ = agent.Run(ctx,
				agent.Options{URL: "ws://" + addr + "/agent/ws", Patience: 200 * time.Millisecond, GiveUp: time.Minute,
					Backoff: agent.Backoff{First: time.Millisecond, Max: 10 * time.Millisecond}})
		}
	})
	t.Cleanup(func() { cancel(); agents.Wait() })
	p := protocols.Kinds().New("external-agent")
	p.Role, p.Capabilities = "agent", []string{agentwire.Reconnect}
	agentwire.Of(p).Agent.Listen = addr
	res := suitetest.Judge(t, runner.Options{Profile: p})
	if res.Verdict != verdict.Conformant {
		t.Errorf("verdict %s\n%s", res.Verdict, suitetest.Console(t, res))
	}
}
