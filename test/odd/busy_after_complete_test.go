package odd_test

import (
	"testing"
	"time"

	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/test/suitetest"
)

// lagging returns a server whose sessions stay busy for a while after complete: switches and chats are refused until
// then.
func lagging(lag time.Duration) func(o *agentselect.Options) {
	return func(o *agentselect.Options) {
		until := map[string]time.Time{} // by session
		var say tell
		o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
			say = send
			if id, ok := ev.Data["sessionId"].(string); ok && ev.Type == vocab.CompleteEvent {
				until[id] = time.Now().Add(lag)
			}
			send(to.ID, ev)
		}
		o.Inbound = func(m agentselect.Manager, from agentselect.ConnInfo, msg agentselect.Message) bool {
			session := agentselect.Correct.Target(m, from, msg)
			if msg["type"] != vocab.ChatType || !time.Now().Before(until[session]) {
				return true
			}
			say(from.ID, agentselect.Event{Type: vocab.ErrorEvent,
				Data: agentselect.EventData{"message": "Session is busy: a conversation is in progress"}})
			return false
		}
		o.Policy.Busy = func(m agentselect.Manager, session string) bool {
			return time.Now().Before(until[session]) || agentselect.Correct.Busy(m, session)
		}
	}
}

// TestLagging checks that a server may stay busy for a moment after complete, which no document mentions.
func TestLagging(t *testing.T) {
	suitetest.AwaitTurn(t)
	for run := range 2 {
		brain := llm.New()
		p := suitetest.BundledTarget("agent-select", "").Profile
		p.Drivers = []string{"sse"}
		l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
			lagging(40 * time.Millisecond)(&o)
			return agentselect.New(o)
		})
		res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l, Brain: brain})
		if got := suitetest.Broken(res); len(got) > 0 {
			t.Errorf("run %d: broken %v, want none\n%s", run+1, got, suitetest.Console(t, res))
		}
	}
}
