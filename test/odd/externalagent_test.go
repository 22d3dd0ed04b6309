package odd_test

import (
	"context"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/freeport"
	"parley/internal/tier"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/bundle"
	"parley/reference-server/externalagent/host"
	"parley/runner"
	agentwire "parley/steps/externalagent/binding"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
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

// counted counts the targets that it launches.
type counted struct {
	target.Launcher
	launched atomic.Int32
}

// Launch implements target.Launcher.
func (c *counted) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	c.launched.Add(1)
	return c.Launcher.Launch(ctx, o)
}

// TestOneRelaySession: a host with a single relay session is judged on six instances of it side by side, each with one
// scenario at a time, unless the user wants one scenario at a time.
func TestOneRelaySession(t *testing.T) {
	launched := map[int]int32{}
	for _, concurrency := range []int{0, 1} {
		o := suitetest.Bundled("external-agent", "host")
		agentwire.Of(o.Profile).Session = "default"
		launcher := &counted{Launcher: o.Launcher}
		o.Launcher, o.Concurrency, o.Tags = launcher, concurrency, "@4.2"
		res := suitetest.Judge(t, o)
		if broken := suitetest.Broken(res); len(broken) > 0 {
			t.Errorf("broken: %v\n%s", broken, suitetest.Console(t, res))
		}
		launched[concurrency] = launcher.launched.Load()
	}
	if launched[0] != launched[1]+5 {
		t.Errorf("%d targets were launched, and %d with one scenario at a time: want five more", launched[0], launched[1])
	}
}

// TestClockInUISpec: a clock in the uiSpec of an otherwise correct host changes on its own, and no verdict.
func TestClockInUISpec(t *testing.T) {
	suitetest.AwaitTurn(t)
	for _, hertz := range []float64{1, 3, 5} {
		if hertz != 3 && !tier.All() {
			continue
		}
		o := suitetest.Bundled("external-agent", "host")
		o.Launcher = bundle.Launcher(func(_ host.View, msg host.Message, send func(host.Message)) {
			if ui, ok := msg.Payload()["uiSpec"].(map[string]any); ok {
				ui = maps.Clone(ui)
				ui["clock"] = math.Floor(float64(time.Now().UnixMilli()) * hertz / 1000)
				payload := maps.Clone(msg.Payload())
				payload["uiSpec"] = ui
				msg = msg.With("payload", payload)
			}
			send(msg)
		})
		res := suitetest.Judge(t, o)
		if broken := suitetest.Broken(res); len(broken) > 0 {
			t.Errorf("%v Hz: broken: %v\n%s", hertz, broken, suitetest.Console(t, res))
		}
		told := 0
		for _, n := range res.Runs[0].Notes {
			if strings.HasPrefix(n.Text, "not compared in any scenario, as it changes on its own: uiSpec/clock (since ") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%v Hz: what is not compared is told %d times: %v", hertz, told, res.Runs[0].Notes)
		}
	}
}
