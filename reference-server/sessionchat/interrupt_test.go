package sessionchat

import (
	"context"
	"fmt"
	"testing"

	"parley/internal/llm"
)

func TestInterrupt(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	session := c.startHeldTurn("a", "h1")
	c.startHeldTurn("other", "h2")
	c.interrupt("a")
	if a := c.turnFrom(answered{session: session, system: object{}}, "a"); a.result["subtype"] != "interrupted" ||
		a.whole != nil {
		t.Errorf("interrupted: %+v", a)
	}
	c.interrupt("a")
	c.wantRefusal("a", "not_running")
	if a := c.ask("a", "[[recall r1]]"); a.session != session || a.text() != "h1 (1)" {
		t.Errorf("after it: %+v", a)
	}
	got := b.brain.Requests("r1")[0].Messages
	if len(got) != 3 || got[1].Role != "assistant" || got[1].Text != "holding h1" {
		t.Errorf("history: %+v", got)
	}
	b.brain.Release("h2") // the other one continues (SC-036)
	if got := c.nextOutcome("other"); got != "success" {
		t.Errorf("other: %s", got)
	}
}

// turnFrom reads the rest of a turn.
func (c *client) turnFrom(a answered, agentID string) answered {
	c.t.Helper()
	for c.add(&a, agentID, c.nextMessage()) {
	}
	return a
}

func TestInterruptWhileStreaming(t *testing.T) {
	c := startServer(t, Options{}).dial()
	c.chat("a", fmt.Sprintf("[[stream n %d]]", llm.MaxParts))
	for range 5 {
		c.nextMessage()
	}
	c.interrupt("a")
	c.interrupt("a") // finds that turn still ending, or none
	if got := c.nextOutcome("a"); got != "interrupted" {
		t.Errorf("ended with %s", got)
	}
	c.send(object{"type": "ping"})
	if msg := c.nextMessage(); msg["message_type"] != "pong" {
		if msg["message"].(object)["code"] != "not_running" {
			t.Errorf("got %v", msg)
		}
		c.wantType("pong")
	}
	c.ask("a", "[[echo after]]")
}

// Turns queued after the interrupted one still run.
func TestInterruptKeepsTheQueue(t *testing.T) {
	c := startServer(t, Options{}).dial()
	c.startHeldTurn("a", "h1")
	c.chat("a", "[[echo second]]")
	c.interrupt("a")
	if got := c.nextOutcome("a"); got != "interrupted" {
		t.Errorf("first: %s", got)
	}
	c.wantSuccess(c.runTurn("a"))
}

// Another connection may interrupt, and also gets the result.
func TestInterruptFromElsewhere(t *testing.T) {
	b := startServer(t, Options{})
	c, d := b.dial(), b.dial()
	c.startHeldTurn("a", "h")
	d.interrupt("a")
	if got := d.nextOutcome("a"); got != "interrupted" {
		t.Errorf("told to the one who interrupted: %s", got)
	}
	if got := c.nextOutcome("a"); got != "interrupted" {
		t.Errorf("told to the one who asked: %s", got)
	}
}

// gated is a store whose calls wait for the test.
type gated struct {
	Store
	arrived chan string // the call that is about to run
	pass    chan error  // its error, or nil
}

func (g *gated) wait(what string) error {
	g.arrived <- what
	return <-g.pass
}

func (g *gated) Lookup(ctx context.Context, key string) (Record, bool, error) {
	if err := g.wait("lookup"); err != nil {
		return Record{}, false, err
	}
	return g.Store.Lookup(ctx, key)
}

func (g *gated) Save(ctx context.Context, key, sessionID string, t *Turn) error {
	what := "save the start"
	if t.Outcome != "" {
		what = "save the end"
	}
	if err := g.wait(what); err != nil {
		return err
	}
	return g.Store.Save(ctx, key, sessionID, t)
}

func gate(t *testing.T) *gated {
	t.Helper()
	inner, err := OpenStore(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &gated{inner, make(chan string), make(chan error)}
}

// An interrupt at any moment ends the turn with one result, and the session still works.
func TestInterruptAtEveryMoment(t *testing.T) {
	for _, row := range []struct{ moment, result string }{
		{"lookup", "interrupted"}, {"save the start", "interrupted"},
		{"save the end", "success"}, // the answer was complete
	} {
		t.Run(row.moment, func(t *testing.T) {
			g := gate(t)
			b := startServer(t, Options{Store: g})
			c := b.dial()
			c.chat("a", "[[echo n1]]")
			for {
				at := <-g.arrived
				if at == row.moment {
					c.interrupt("a")
					c.quietAmid(t)
				}
				g.pass <- nil
				if at == "save the end" {
					break
				}
			}
			a := c.turnFrom(answered{}, "a")
			if a.result["subtype"] != row.result || a.system == nil && row.result == "interrupted" {
				t.Errorf("turn: %+v", a)
			}
			if asked := len(b.brain.Find(everything)); (row.result == "success") != (asked == 1) {
				t.Errorf("the model was asked %d times", asked)
			}
			c.chat("a", "[[recall n2]]")
			for range 2 {
				<-g.arrived
				g.pass <- nil
			}
			if again := c.turnFrom(answered{}, "a"); again.text() != "n1 (1)" || again.session != a.session {
				t.Errorf("after it: %+v", again)
			}
		})
	}
}

// quietAmid waits until everything sent has been handled, skipping a turn's messages meanwhile.
func (c *client) quietAmid(t *testing.T) {
	t.Helper()
	c.send(object{"type": "ping"})
	for c.nextMessage()["message_type"] != "pong" {
	}
}
