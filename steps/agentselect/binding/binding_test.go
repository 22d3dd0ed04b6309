package binding

import (
	"testing"

	"parley/target"
)

func TestNames(t *testing.T) {
	a := Default()
	a.Events = map[string]string{"agent_list": "agents", "message": "complete", "complete": "done"}
	for _, tt := range []struct{ reason, wire, want string }{
		{"a new name", "agents", "agent_list"},
		{"a name that another event has left", "complete", "message"},
		{"a name that no longer means anything", "agent_list", ""},
		{"an unchanged name", "error", "error"},
		{"a name unknown to the binding", "heartbeat", "heartbeat"},
	} {
		if got := a.EventOf(tt.wire); got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.reason, tt.wire, got, tt.want)
		}
	}
	if got := a.EventName("complete"); got != "done" {
		t.Errorf("complete is called %q", got)
	}
	if got := a.MessageName("chat"); got != "chat" {
		t.Errorf("chat is called %q", got)
	}
	if got := a.SSE.Delete.For("a/b c"); got != "/session/a%2Fb%20c" {
		t.Errorf("the path of a session is %s", got)
	}
}

func TestEnvelopeFor(t *testing.T) {
	a := Default()
	a.Envelope = Envelope{SSEEvent: true, RequestID: "/id"}
	if a.EnvelopeFor(target.SSE) != a.Envelope || a.EnvelopeFor(target.WS) != Default().Envelope {
		t.Errorf("sse %+v, ws %+v", a.EnvelopeFor(target.SSE), a.EnvelopeFor(target.WS))
	}
}
