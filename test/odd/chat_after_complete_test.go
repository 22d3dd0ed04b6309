package odd_test

import (
	"slices"
	"sync"
	"testing"

	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/test/suitetest"
)

// hasty is a server that needs a moment between complete and the next chat of a session: a chat that comes sooner runs
// in a session of its own. The moment ends with another message of the session, and so takes as long as its client lets
// it.
type hasty struct {
	busy  bool // that message is refused if it is a switch
	named bool // complete names the session in which the turn ran
}

func (h hasty) configureServer(o *agentselect.Options) {
	var mu sync.Mutex
	settling, refusing := map[string]bool{}, map[string]bool{} // by session
	stands := map[string]string{}                              // by session: the one for which it runs
	o.Inbound = func(m agentselect.Manager, from agentselect.ConnInfo, msg agentselect.Message) bool {
		mu.Lock()
		defer mu.Unlock()
		session := agentselect.Correct.Target(m, from, msg)
		switch {
		case session == "" || !settling[session]:
		case msg["type"] == vocab.ChatType:
			other := m.NewSession(from)
			stands[other] = session
			msg["sessionId"] = other
		default:
			delete(settling, session)
			refusing[session] = h.busy
		}
		return true
	}
	o.Policy.Busy = func(m agentselect.Manager, session string) bool {
		mu.Lock()
		defer mu.Unlock()
		if refusing[session] {
			delete(refusing, session)
			return true
		}
		return agentselect.Correct.Busy(m, session)
	}
	o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
		if id, ok := ev.Data["sessionId"].(string); ok && ev.Type == vocab.CompleteEvent {
			mu.Lock()
			if of := stands[id]; of != "" {
				id = of
				if !h.named {
					ev.Data = ev.Data.With("sessionId", id)
				}
			}
			settling[id] = true
			mu.Unlock()
		}
		send(to.ID, ev)
	}
}

// TestHasty checks that what a server does with a chat right behind complete breaks the clauses of the scenarios about
// that, in every run, and no others.
func TestHasty(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		hasty  hasty
		breaks []string
	}{
		{"the session is busy, and complete tells", hasty{busy: true, named: true}, []string{"AS-019", "AS-100"}},
		{"the session is busy", hasty{busy: true}, []string{"AS-047", "AS-069"}},
		{"complete tells", hasty{named: true}, []string{"AS-019", "AS-100"}},
		{"nothing tells", hasty{}, []string{"AS-047", "AS-069"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			for run := range 3 {
				brain := llm.New()
				p := suitetest.BundledTarget("agent-select", "").Profile
				p.Drivers = []string{"sse"}
				l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
					row.hasty.configureServer(&o)
					return agentselect.New(o)
				})
				res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l, Brain: brain, AllowIncomplete: true,
					Tags: "@model or @preflight-1 or @preflight-2 or @preflight-3"})
				if got := suitetest.Broken(res); !slices.Equal(got, row.breaks) {
					t.Errorf("run %d: broken %v, want %v\n%s", run+1, got, row.breaks, suitetest.Console(t, res))
				}
			}
		})
	}
}
