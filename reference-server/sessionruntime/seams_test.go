package sessionruntime

import (
	"testing"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// forgetful routes every message to the first session that was set up.
func forgetful() Seams {
	first := ""
	return Seams{
		Runtime: func(o *orchestrator.Options) {
			if first == "" {
				first = o.SessionID
			}
			o.Policy.Takes = func(v orchestrator.View, msg proto.Message, from orchestrator.Role, again bool) bool {
				msg.SessionID = v.SessionID()
				return orchestrator.Correct.Takes(v, msg, from, again)
			}
		},
		Route: func(proto.Message) string { return first },
	}
}

// Sessions that are mixed up, separately on each bus.
func TestSeams(t *testing.T) {
	b := startServer(t, Options{Seams: forgetful})
	for _, session := range []string{"s1", "s2"} {
		p, _ := b.dial()
		p.setUp(session, nil)
		p.setUp("other", nil)
		p.input("other", "t1")
		if got := p.wantMessages("USER_INPUT", "TURN_ACCEPTED"); got[0]["session_id"] != session {
			t.Errorf("the fault does not show: %v", got[0])
		}
	}
}

// A faulty orchestrator may publish anything.
func TestPublishedByAFault(t *testing.T) {
	deep := any("x")
	for range 11_000 {
		deep = []any{deep}
	}
	overBoth(t, Options{Seams: func() Seams {
		return Seams{Runtime: func(o *orchestrator.Options) {
			o.Outbound = func(_ orchestrator.View, msg proto.Message, send func(proto.Message)) {
				for _, payload := range []any{make(chan int), deep, "\xff"} {
					msg.Payload = payload
					send(msg)
				}
			}
		}}
	}}, func(t *testing.T, p *party) {
		p.setUp("s", nil)
		p.message("s", "CONTROL", "CANCEL", "frontend", nil, nil)
		if got := p.wantMessages("error", "error", "NO_ACTIVE_SPEAKING"); got[2]["payload"] != "\ufffd" {
			t.Errorf("payload %q", got[2]["payload"])
		}
	})
}
