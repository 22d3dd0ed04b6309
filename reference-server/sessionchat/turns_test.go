package sessionchat

import (
	"fmt"
	"slices"
	"testing"

	"parley/internal/llm"
)

func everything(llm.Request) bool { return true }

// Sessions run concurrently on one connection (SC-004, SC-024 to SC-028).
func TestInterleaving(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	c.startHeldTurn("A", "ha")
	c.startHeldTurn("B", "hb")
	c.ask("C", "[[echo c1]]") // neither waits for the others
	b.brain.Release("hb")
	if got := c.nextOutcome("B"); got != "success" {
		t.Errorf("B: %s", got)
	}
	c.wantNothing()
	b.brain.Release("ha")
	if got := c.nextOutcome("A"); got != "success" {
		t.Errorf("A: %s", got)
	}
	if a := c.ask("A", "[[recall ra]]"); a.text() != "ha (1)" {
		t.Errorf("A recalls %s", a.text())
	}
}

func TestManyStreams(t *testing.T) {
	c := startServer(t, Options{}).dial()
	const sessions, parts = 20, 50
	for i := range sessions {
		c.chat(fmt.Sprint(i), fmt.Sprintf("[[stream n%d %d]]", i, parts))
	}
	turns := make([]answered, sessions)
	for open := sessions; open > 0; {
		msg := c.nextMessage()
		var i int
		if _, err := fmt.Sscan(msg["agent_id"].(string), &i); err != nil {
			t.Fatal(err)
		}
		if !c.add(&turns[i], fmt.Sprint(i), msg) {
			open--
		}
	}
	for i, a := range turns {
		c.wantSuccess(a)
		if len(a.streams) != parts || a.streams[parts-1] != fmt.Sprintf("stream n%d %d/%d ", i, parts, parts) {
			t.Errorf("session %d: %d parts", i, len(a.streams))
		}
	}
}

// Chats to a busy agent_id run in order, each for the connection that asked.
func TestQueue(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Queue: 2}})
	c, d := b.dial(), b.dial()
	session := c.startHeldTurn("a", "h")
	c.chat("a", "[[echo second]]")
	c.wantNothing()
	d.chat("a", "[[recall third]]")
	d.wantNothing()
	c.chat("a", "[[echo fourth]]")
	c.wantRefusal("a", "overloaded")
	d.ask("b", "[[echo other]]") // each session has its own queue
	b.brain.Release("h")
	if got := c.nextOutcome("a"); got != "success" {
		t.Errorf("first: %s", got)
	}
	second, third := c.runTurn("a"), d.runTurn("a")
	if second.text() != "[[echo second]]" || third.text() != "h second (2)" || second.session != session ||
		third.session != session {
		t.Errorf("second %+v, third %+v", second, third)
	}
	c.ask("a", "[[echo fourth]]")
	c.wantNothing()
	d.wantNothing()
}

// A disconnect ends the turns of the connection, including queued ones; other connections can continue the session
// (SC-054, SC-059).
func TestDisconnect(t *testing.T) {
	b := startServer(t, Options{})
	c, d := b.dial(), b.dial()
	session := c.startHeldTurn("a", "h1")
	c.chat("a", "[[echo dropped]]")
	c.wantNothing()
	d.chat("a", "[[recall kept]]")
	d.wantNothing()
	if err := c.ws.CloseNow(); err != nil {
		t.Fatal(err)
	}
	a := d.runTurn("a")
	if a.session != session || a.text() != "h1 (1)" || a.system["resumed"] != false {
		t.Errorf("from the other connection: %+v", a)
	}
	if len(b.brain.Requests("dropped")) > 0 {
		t.Error("the chat of a connection that has ended ran")
	}
	e := b.dial()
	if a := e.ask("a", "[[recall again]]"); a.session != session || a.text() != "h1 kept (2)" {
		t.Errorf("from a new connection: %+v", a)
	}
}

// leaving returns a policy, and a channel with the connections that have ended.
func leaving(room int) (Policy, <-chan string) {
	ended := make(chan string, room)
	return Policy{OnDisconnect: func(_ Manager, c ConnInfo) bool { ended <- c.ID; return true }}, ended
}

// Chats, interrupts and disconnects race. Every announced turn ends with one result, and no session stays busy.
func TestStorm(t *testing.T) {
	const parties, chats = 4, 25
	policy, ended := leaving(parties*chats + 1)
	b := startServer(t, Options{Policy: policy, Limits: Limits{Sessions: 4, Queue: 3}})
	t.Run("parties", func(t *testing.T) {
		for p := range parties {
			t.Run(fmt.Sprint(p), func(t *testing.T) {
				t.Parallel()
				for i := range chats {
					storm(dial(t, b.http, b.url), p, i)
				}
			})
		}
	})
	for range parties * chats {
		<-ended
	}
	c := b.dial()
	for i := range 3 {
		id := fmt.Sprint(i)
		for {
			c.chat(id, "[[echo end]]")
			if msg := c.nextMessage(); msg["message_type"] == "system" {
				c.turnFrom(answered{session: msg["session_id"].(string), system: object{}}, id)
				break
			} // else overloaded by turns that are about to end
		}
	}
	b.server.balanced(t)
}

func storm(c *client, party, i int) {
	id := fmt.Sprint((party + i) % 3)
	c.chat(id, fmt.Sprintf("[[stream p%dx%d 20]]", party, i))
	if i%2 == 0 {
		c.interrupt(id)
	}
	for i%3 != 0 {
		if kind := c.nextMessage()["message_type"]; kind == "result" || kind == "error" {
			break
		}
	}
	_ = c.ws.CloseNow()
}

// balanced fails unless nothing runs or waits, every turn of a session is complete, and all text is counted.
func (s *Server) balanced(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.m; len(m.queues) > 0 || m.idle.Len() != len(m.sessions) {
		t.Errorf("left over: %d queues, %d of %d sessions idle", len(m.queues), m.idle.Len(), len(m.sessions))
	}
	weights := 0
	for _, sess := range s.m.sessions {
		weights += sess.weight
		for i, turn := range sess.turns {
			if turn.N != i+1 || turn.Outcome == "" {
				t.Errorf("session %s: turn %d is %+v", sess.key, i, turn)
			}
		}
		if slices.ContainsFunc(sess.turns, func(u *Turn) bool { return u.Content == "" }) {
			t.Errorf("session %s lost what was said", sess.key)
		}
	}
	if weights != s.m.bytes {
		t.Errorf("%d bytes are counted, %d are kept", s.m.bytes, weights)
	}
}
