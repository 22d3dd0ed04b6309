package parley_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"parley/reference-server/externalagent/agent"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// TestAgentConnectsByItself: an agent that nobody starts, and that comes again and again, is judged where it knocks.
func TestAgentConnectsByItself(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var agents sync.WaitGroup
	agents.Go(func() {
		for ctx.Err() == nil {
			_, _ = agent.Run(ctx, agent.Options{URL: "ws://" + addr + "/agent/ws", Patience: 200 * time.Millisecond, GiveUp: time.Minute,
				Backoff: agent.Backoff{First: time.Millisecond, Max: 10 * time.Millisecond}})
		}
	})
	t.Cleanup(func() { cancel(); agents.Wait() })
	p := target.DefaultFor("external-agent")
	p.Role, p.Capabilities = "agent", []string{target.Reconnect}
	p.ExternalAgent.Agent.Listen = addr
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != verdict.Conformant {
		t.Errorf("verdict %s\n%s", res.Verdict, console(t, res))
	}
}
