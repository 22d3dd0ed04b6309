package sessionchat

import (
	"strings"
	"testing"
)

// fault is a server with one fault and its symptom: shows returns true for it, and false for a correct server.
type fault struct {
	name  string
	spoil func(o *Options)
	shows func(b *bench) bool
}

func deciding(make func() Policy) func(*Options) {
	return func(o *Options) { o.Policy = make() }
}

func telling(f func(m Manager, msg Message, send func(Message))) func(*Options) {
	return func(o *Options) {
		o.Outbound = func(m Manager, to ConnInfo, msg Message, send func(string, Message)) {
			f(m, msg, func(msg Message) { send(to.ID, msg) })
		}
	}
}

func taking(f func(msg Message) []Message) func(*Options) {
	return func(o *Options) { o.Inbound = func(_ Manager, _ ConnInfo, msg Message) []Message { return f(msg) } }
}

// A realistic fault is a small wrapper around the correct server.
func TestSeams(t *testing.T) {
	for _, f := range append(decisions, messagesAndStores...) {
		t.Run(f.name, func(t *testing.T) {
			if f.shows(startServer(t, Options{})) {
				t.Error("the correct server has the fault")
			}
			var o Options
			f.spoil(&o)
			if !f.shows(startServer(t, o)) {
				t.Error("the fault does not show")
			}
		})
	}
}

// Probes.

// plain reads up to the result of a turn without checking its form.
func (c *client) plain(agentID, content string) (all []object) {
	c.t.Helper()
	c.chat(agentID, content)
	for {
		_, data, err := c.ws.Read(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, decodeObject(c.t, data))
		if kind := all[len(all)-1]["message_type"]; kind == "result" || kind == "error" {
			return all
		}
	}
}

func decodeObject(t testing.TB, data []byte) object {
	msg, refusal := decodeMessage(data)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return object(msg)
}

// said returns all the text of a turn.
func said(turn []object) string {
	var text strings.Builder
	for _, msg := range turn {
		if piece, isPiece := msg["message"].(object)["text"].(string); isPiece && msg["message_type"] == "stream" {
			text.WriteString(piece)
		}
	}
	return text.String()
}

func sessionOf(turn []object) any { return turn[len(turn)-1]["session_id"] }

func refusedFirst(turn []object) bool { return turn[0]["message_type"] == "error" }

func recalls(want string, steps ...string) func(b *bench) bool {
	return func(b *bench) bool {
		c := b.dial()
		for _, id := range steps[:len(steps)-1] {
			c.plain(id, "[[echo "+strings.TrimSpace(id)+"1]]")
		}
		return said(c.plain(steps[len(steps)-1], "[[recall r]]")) != want
	}
}

// afterDisconnect returns a client and the session of "a" after another connection ended during its turn there. The
// client's own chat was queued after that turn, so its result proves that the server has handled the disconnect.
func (b *bench) afterDisconnect() (d *client, session any) {
	c, d := b.dial(), b.dial()
	session = c.startHeldTurn("a", "h")
	d.chat("a", "[[echo n]]")
	d.wantNothing()
	_ = c.ws.CloseNow()
	d.runTurn("a")
	return d, session
}
