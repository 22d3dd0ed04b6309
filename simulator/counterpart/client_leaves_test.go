package counterpart_test

import (
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/counterpart"
	"parley/transport/transcript"
)

// TestHeldWhileClientLeaves: a message that is held for a client keeps nobody from closing the connection. It is
// dropped, the transcript says so, and names the client as the side that closed.
func TestHeldWhileClientLeaves(t *testing.T) {
	for _, tt := range []struct {
		reason string
		leave  func(c *client) error
		end    string
	}{
		{"by a close frame", func(c *client) error { return c.c.Close(websocket.StatusNormalClosure, "bye") },
			`the client closed the connection: "bye"`},
		{"without one", func(c *client) error { return c.c.CloseNow() }, "the connection broke off: "},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			p := open(t, options(t, "agent-select", "server"))
			c := dial(t, p, socket)
			session := c.beginSession()
			if err := p.SetMind(t.Context(), counterpart.Ask, "agent_switched"); err != nil {
				t.Fatal(err)
			}
			c.sendMessage(`{"type":"switch_agent","agentId":"debugger","sessionId":"` + session + `"}`)
			held(t, p, 1)
			if err := tt.leave(c); err != nil {
				t.Errorf("the close was not answered: %v", err)
			}
			held(t, p, 0)
			r, err := p.Transcript().Await(c.ctx, 0, func(r *transcript.Record) bool { return r.Kind == transcript.Closed })
			if err != nil || r.Dir != transcript.Received || len(r.Label) < len(tt.end) || r.Label[:len(tt.end)] != tt.end {
				t.Errorf("the end is %s %q, %v; want %q", r.Dir, r.Label, err, tt.end)
			}
			const said = "the client has left before anybody decided on message agent_switched: it is dropped"
			if _, ok := find(p, transcript.Noted, said); !ok {
				t.Errorf("no remark says so: %v", p.Transcript().All())
			}
		})
	}
}
