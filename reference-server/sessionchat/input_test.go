package sessionchat

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

const invalid, missing, unknown = "invalid_message", "missing_field", "unknown_type"

var longID = strings.Repeat("x", DefaultLimits.AgentID+1)

var badInput = []struct {
	sent    string
	agentID any
	code    string
}{
	{``, nil, invalid},
	{`{`, nil, invalid},
	{`nonsense`, nil, invalid},
	{`null`, nil, invalid},
	{`[]`, nil, invalid},
	{`"chat"`, nil, invalid},
	{`7`, nil, invalid},
	{`{} {}`, nil, invalid},
	{`{"type":"chat","agent_id":"a","content":"x"} x`, nil, invalid},
	{`{"type":"chat","type":"chat","agent_id":"a","content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":"a","agent_id":"b","content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":"a","content":"x","options":{"k":1,"k":2}}`, nil, invalid},
	{`{"type":"chat","agent_id":"\ud800","content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":"a","content":"x",}`, nil, invalid},
	{`{"type":"chat","agent_id":"a","content":NaN}`, nil, invalid},
	{strings.Repeat(`{"a":`, 20_000), nil, invalid},

	{`{}`, nil, invalid},
	{`{"agent_id":"a","content":"x"}`, "a", invalid},
	{`{"type":null,"agent_id":"a","content":"x"}`, "a", invalid},
	{`{"type":7,"agent_id":"a","content":"x"}`, "a", invalid},
	{`{"type":["chat"],"agent_id":"a","content":"x"}`, "a", invalid},
	{`{"type":"","agent_id":"a","content":"x"}`, "a", unknown},
	{`{"type":"Chat","agent_id":"a","content":"x"}`, "a", unknown},
	{`{"type":"chat ","agent_id":"a","content":"x"}`, "a", unknown},
	{`{"type":"switch","agent_id":"a"}`, "a", unknown},
	{`{"type":"` + strings.Repeat("long", 9999) + `"}`, nil, unknown},
	{`{"Type":"chat","agent_id":"a","content":"x"}`, "a", invalid},

	{`{"type":"chat"}`, nil, missing},
	{`{"type":"chat","content":"x"}`, nil, missing},
	{`{"type":"chat","agent_id":"","content":"x"}`, "", missing},
	{`{"type":"chat","agent_id":null,"content":"x"}`, nil, missing},
	{`{"type":"chat","Agent_ID":"a","content":"x"}`, nil, missing},
	{`{"type":"chat","agentId":"a","content":"x"}`, nil, missing},
	{`{"type":"chat","agent_id":7,"content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":false,"content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":{"id":"a"},"content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":["a"],"content":"x"}`, nil, invalid},
	{`{"type":"chat","agent_id":"` + longID + `","content":"x"}`, nil, invalid},

	{`{"type":"chat","agent_id":"a"}`, "a", missing},
	{`{"type":"chat","agent_id":"a","content":null}`, "a", missing},
	{`{"type":"chat","agent_id":"a","content":""}`, "a", missing},
	{`{"type":"chat","agent_id":"a","content":7}`, "a", invalid},
	{`{"type":"chat","agent_id":"a","content":["x"]}`, "a", invalid},
	{`{"type":"chat","agent_id":"a","content":{"text":"x"}}`, "a", invalid},

	{`{"type":"chat","agent_id":"a","content":"x","options":null}`, "a", invalid},
	{`{"type":"chat","agent_id":"a","content":"x","options":"m"}`, "a", invalid},
	{`{"type":"chat","agent_id":"a","content":"x","options":[]}`, "a", invalid},
	{`{"type":"chat","agent_id":"a","content":"x","options":{"model":7}}`, "a", invalid},
	{`{"type":"chat","agent_id":"a","content":"x","options":{"model":null}}`, "a", invalid},

	{`{"type":"interrupt"}`, nil, missing},
	{`{"type":"interrupt","agent_id":""}`, "", missing},
	{`{"type":"interrupt","agent_id":7}`, nil, invalid},
	{`{"type":"interrupt","agent_id":"nobody"}`, "nobody", "not_running"},
}

// Refused input starts no session, asks no model, and leaves the connection usable.
func TestBadInput(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	for _, row := range badInput {
		c.send(row.sent)
		c.wantRefusal(row.agentID, row.code)
	}
	c.wantNothing()
	b.server.mu.Lock()
	sessions := b.server.m.Sessions()
	b.server.mu.Unlock()
	if len(sessions) > 0 {
		t.Errorf("sessions %q", sessions)
	}
	for _, id := range []string{"a", "b", "nobody"} {
		if _, found, err := b.server.store.Lookup(t.Context(), id); found || err != nil {
			t.Errorf("stored: %v, %v, %v", id, found, err)
		}
	}
	if all := b.brain.Find(everything); len(all) > 0 {
		t.Errorf("the model was asked: %v", all)
	}
	if a := c.ask("a", "[[echo usable]]"); a.result["num_turns"] != 1.0 {
		t.Errorf("the first turn: %+v", a)
	}
}

func TestBadFrames(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Message: 1 << 10}})
	t.Run("binary", func(t *testing.T) {
		c := b.dial()
		if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		c.wantClosed(websocket.StatusUnsupportedData)
	})
	t.Run("invalid UTF-8", func(t *testing.T) {
		c := b.dial()
		c.send([]byte("{\"type\":\"chat\",\"agent_id\":\"a\",\"content\":\"\xff\"}"))
		c.wantClosed(websocket.StatusInvalidFramePayloadData)
	})
	t.Run("too big", func(t *testing.T) {
		c := b.dial()
		c.chat("a", strings.Repeat("x", 1<<10))
		c.wantClosed(websocket.StatusMessageTooBig)
	})
	t.Run("maximum size", func(t *testing.T) {
		c := b.dial()
		msg := `{"type":"chat","agent_id":"a","content":"`
		c.send(msg + strings.Repeat("x", 1<<10-len(msg)-2) + `"}`)
		c.wantSuccess(c.runTurn("a"))
	})
	t.Run("frames after a bad one are ignored", func(t *testing.T) {
		c := b.dial()
		if err := c.ws.Write(t.Context(), websocket.MessageBinary, nil); err != nil {
			t.Fatal(err)
		}
		_ = c.ws.Write(context.Background(), websocket.MessageText, []byte(`{"type":"chat","agent_id":"late","content":"x"}`))
		c.wantClosed(websocket.StatusUnsupportedData)
		if _, found, _ := b.server.store.Lookup(t.Context(), "late"); found {
			t.Error("a session was made")
		}
	})
}
