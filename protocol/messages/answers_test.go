package messages_test

import (
	"testing"

	"parley/protocol/messages"
)

// TestAnswers checks which messages are answers to which others: by their types, their conversations, and the ids that
// both have.
func TestAnswers(t *testing.T) {
	o := func(pairs ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	for _, row := range []struct {
		reason, protocol, kind string
		message                any
		to                     string
		asked                  any
		want                   bool
	}{
		{"a result ends a chat", "session-chat", "result", o("agent_id", "a"), "chat", o("agent_id", "a"), true},
		{"of the same conversation", "session-chat", "result", o("agent_id", "b"), "chat", o("agent_id", "a"), false},
		{"an error may name no conversation", "session-chat", "error", o(), "chat", o("agent_id", "a"), true},
		{"a piece does not", "session-chat", "stream", o("agent_id", "a"), "chat", o("agent_id", "a"), false},
		{"a ping has another answer", "session-chat", "result", o(), "ping", o(), false},
		{"the id is repeated", "external-agent", "tool.result", o("replyTo", "7"), "tool.call", o("id", "7"), true},
		{"another id", "external-agent", "tool.result", o("replyTo", "8"), "tool.call", o("id", "7"), false},
		{"no id where one was given", "external-agent", "error", o(), "tool.call", o("id", "7"), false},
		{"a prefix stands for all its types", "session-runtime", "ERROR ROUTE_TIMEOUT", o(), "USER_INPUT MENTION", o(), true},
		{"an unknown protocol has no answers", "no-such-protocol", "result", o(), "chat", o(), false},
	} {
		if got := messages.For(row.protocol).Answers(row.kind, row.message, row.to, row.asked); got != row.want {
			t.Errorf("%s: %s answers %s: %v", row.reason, row.kind, row.to, got)
		}
	}
	set := messages.For("agent-select")
	for kind, want := range map[string][2]bool{"switch_agent": {true, true}, "session_create": {false, true},
		"abort": {false, false}} {
		if got := [2]bool{set.Awaits(kind, false), set.Awaits(kind, true)}; got != want {
			t.Errorf("%s is answered over HTTP and on a socket: %v, want %v", kind, got, want)
		}
	}
}
