package counterpart_test

import (
	"testing"

	"parley/simulator/counterpart"
)

// TestHeldAfter: what is held on a WebSocket says after which message of the program it came.
func TestHeldAfter(t *testing.T) {
	o := options(t, "agent-select", "server")
	o.Mind = counterpart.Ask
	p := open(t, o)
	c := dial(t, p, socket)
	if h := held(t, p, 1)[0]; h.Latest != "" {
		t.Fatalf("before any message of the program: %+v", h)
	}
	c.sendMessage(`{"type":"session_create","requestId":"r1"}`)
	for {
		h := held(t, p, 1)[0]
		if h.Type == "session_created" {
			if h.What != "message" || h.Latest != "session_create" {
				t.Errorf("held: %+v", h)
			}
			return
		}
		if err := p.Decide(h.N, counterpart.Decision{}); err != nil {
			t.Fatal(err)
		}
	}
}
