package orchestrator

import (
	"strings"
	"testing"

	proto "parley/protocol/sessionruntime"
)

// TestDropped: what is mistaken is told with its reason, and gets no answer; what others exchange is not.
func TestDropped(t *testing.T) {
	for _, c := range []struct {
		name, want string
		msg        proto.Message
	}{
		{"unknown event", `unknown event "BOGUS" (known: USER_INPUT, `,
			proto.Message{Event: "BOGUS", Sender: proto.FromFrontend, Target: proto.ToSystem}},
		{"unknown target", `unknown target "MARS" (known: SYSTEM, `,
			proto.Message{Event: proto.UserInput, Sender: proto.FromFrontend, Target: "MARS"}},
		{"no sender", "it has no sender", proto.Message{Event: proto.UserInput, Target: proto.ToSystem}},
		{"frontend to others", "the target is BROADCAST",
			proto.Message{Event: proto.UserInput, Sender: proto.FromFrontend, Target: proto.ToBroadcast}},
		{"not the agent's", `takes no CONTROL SWITCH_AGENT from the sender "a"`,
			proto.Message{Event: proto.Control, Subtype: proto.SwitchAgent, Sender: "a", Target: proto.ToSystem}},
		{"between others", "", proto.Message{Event: proto.AgentOutput, Sender: "a", Target: proto.ToFrontend}},
		{"an event of an agent", "", proto.Message{Event: proto.Event, Subtype: "X", Sender: "a", Target: proto.ToSystem}},
		{"a log entry", "", proto.Message{Event: proto.Event, Sender: proto.FromLogger, Target: proto.ToLogger}},
	} {
		var told []string
		m := New(Options{SessionID: "s", Agents: []string{"a"}, Active: "a",
			Dropped: func(_ proto.Message, why string) { told = append(told, why) }})
		c.msg.SessionID = "s"
		if out := m.OnMessage(c.msg); len(out) > 0 {
			t.Errorf("%s: answered by %v", c.name, out)
		}
		if got := strings.Join(told, "; "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: told %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDroppedTwice: a message that repeats an id is told too.
func TestDroppedTwice(t *testing.T) {
	told := 0
	m := New(Options{SessionID: "s", Agents: []string{"a"}, Active: "a", Dropped: func(proto.Message, string) { told++ }})
	msg := proto.Message{ID: "m1", SessionID: "s", Event: proto.UserInput, Sender: proto.FromFrontend,
		Target: proto.ToSystem, Payload: "hello"}
	if len(m.OnMessage(msg)) == 0 || told != 0 || len(m.OnMessage(msg)) != 0 || told != 1 {
		t.Errorf("told %d times", told)
	}
}
