package sessionchat

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/llm"
)

// idled returns a policy, and a channel with the keys of the sessions that leave memory.
func idled() (Policy, <-chan string) {
	keys := make(chan string, 100)
	return Policy{OnIdle: func(_ Manager, key string) { keys <- key }}, keys
}

// An idle session leaves memory and is resumed at its next chat (SC-053, SC-048, SC-016); a busy one stays.
func TestIdle(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(t.TempDir(), "chat.db")} {
		t.Run(name, func(t *testing.T) {
			policy, idle := idled()
			b := startServer(t, Options{DB: file, Idle: 20 * time.Millisecond, Policy: policy})
			c := b.dial()
			busy := c.startHeldTurn("busy", "h")
			first := c.ask("a", "[[echo a1]]")
			c.ask("b", "[[echo b1]]")
			for _, want := range []string{"a", "b"} {
				if got := <-idle; got != want {
					t.Errorf("%s left memory, want %s", got, want)
				}
			}
			again := c.ask("a", "[[recall a2]]")
			if again.session != first.session || again.text() != "a1 (1)" || again.system["resumed"] != true {
				t.Errorf("resumed: %+v", again)
			}
			if got := <-idle; got != "a" {
				t.Errorf("%s left memory", got)
			}
			b.brain.Release("h")
			if got := c.turnFrom(answered{session: busy, system: object{}}, "busy"); got.result["subtype"] != "success" {
				t.Errorf("busy: %+v", got)
			}
			if got := <-idle; got != "busy" {
				t.Errorf("%s left memory", got)
			}
			b.server.balanced(t)
		})
	}
}

// Idle sessions make room for others; busy ones don't.
func TestTooManySessions(t *testing.T) {
	policy, idle := idled()
	b := startServer(t, Options{Policy: policy, Limits: Limits{Sessions: 2}})
	c := b.dial()
	first := c.ask("a", "[[echo a1]]")
	c.startHeldTurn("b", "hb")
	c.startHeldTurn("c", "hc")
	if got := <-idle; got != "a" {
		t.Errorf("%s left memory", got)
	}
	c.chat("a", "[[echo a2]]")
	c.wantRefusal("a", "overloaded")
	b.brain.Release("hb")
	c.nextOutcome("b")
	if a := c.ask("a", "[[recall a3]]"); a.session != first.session || a.text() != "a1 (1)" {
		t.Errorf("resumed: %+v", a)
	}
}

func TestMemoryLimit(t *testing.T) {
	policy, idle := idled()
	b := startServer(t, Options{Policy: policy, Limits: Limits{Memory: 64 << 10}})
	c := b.dial()
	big := strings.Repeat("x", 24<<10)
	c.ask("a", big)
	held := c.startHeldTurn("b", "hb")
	c.chat("b", big)
	c.chat("b", big)
	c.wantNothing()
	if got := <-idle; got != "a" { // it made room
		t.Errorf("%s left memory", got)
	}
	c.chat("d", big)
	c.wantRefusal("d", "overloaded")
	b.brain.Release("hb")
	c.wantSuccess(c.turnFrom(answered{session: held, system: object{}, streams: []string{"holding hb"}}, "b"))
	c.wantSuccess(c.runTurn("b"))
	c.wantSuccess(c.runTurn("b"))
	c.chat("e", "[[echo end]]"+big+big)
	if e := c.runTurn("e"); e.result["code"] != "overloaded" { // there is room for the question but not for the answer
		t.Errorf("turn: %v", e.result)
	}
	c.ask("c", "[[echo small]]")
	b.server.balanced(t)
}

func TestHistoryLimits(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{History: 3, HistoryBytes: 4 << 10}})
	c := b.dial()
	for i := range 5 {
		c.ask("a", fmt.Sprintf("[[echo n%d]]", i))
	}
	if a := c.ask("a", "[[recall r]]"); a.text() != "n3 n4 (2)" || a.result["num_turns"] != 6.0 {
		t.Errorf("by turns: %+v", a)
	}
	c.ask("a", "[[echo big]]"+strings.Repeat("x", 4<<10))
	if a := c.ask("a", "[[recall r]]"); a.text() != "(0)" {
		t.Errorf("by bytes: %+v", a)
	}
}

func TestAnswerLimit(t *testing.T) {
	c := startServer(t, Options{Limits: Limits{Answer: 100}}).dial()
	c.chat("a", "[[stream n 1000]]")
	a := c.runTurn("a")
	if a.result["code"] != "model_failed" || len(a.text()) > 100 || len(a.text()) < 80 {
		t.Errorf("turn: %+v", a)
	}
	c.ask("a", "[[echo n]]")
}

func TestTurnLimit(t *testing.T) {
	c := startServer(t, Options{Limits: Limits{Turn: 3 * time.Second}}).dial() // longer than a turn that is not held takes
	c.startHeldTurn("a", "never")
	if got := c.nextMessage()["message"].(object); got["subtype"] != "error" || got["code"] != "model_failed" {
		t.Errorf("result: %v", got)
	}
	c.chat("a", "[[echo n]]")
	c.runTurn("a")
}

func TestTooManyConnections(t *testing.T) {
	policy, ended := leaving(10)
	b := startServer(t, Options{Policy: policy, Limits: Limits{Connections: 1}})
	c := b.dial()
	_, res, err := websocket.Dial(t.Context(), b.url+"/chat/ws", &websocket.DialOptions{HTTPClient: b.http})
	if err == nil || res == nil || res.StatusCode != 503 {
		t.Errorf("second: %v, %v", res, err)
	}
	_ = c.ws.Close(websocket.StatusNormalClosure, "")
	<-ended
	b.server.balanced(t) // takes the lock that a closing connection holds until there is room
	b.dial().wantNothing()
}

// flood sends as much as it can.
type flood struct{ ended chan struct{} }

func (f flood) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	if !strings.Contains(r.Messages[len(r.Messages)-1].Text, "flood") {
		return emit(llm.Part{Text: "ok"})
	}
	defer close(f.ended)
	for {
		if err := emit(llm.Part{Text: strings.Repeat("x", 64<<10)}); err != nil {
			return err
		}
	}
}

// A client that does not read is dropped without delaying any other client.
func TestSlowReader(t *testing.T) {
	policy, ended := leaving(10)
	backend := flood{make(chan struct{})}
	b := startServer(t, Options{Policy: policy, Backend: backend,
		Limits: Limits{Write: 100 * time.Millisecond, Answer: 1 << 30}})
	slow, c := b.dial(), b.dial()
	slow.chat("a", "flood")
	for range 20 {
		c.ask("b", "[[echo n]]")
	}
	<-ended
	<-backend.ended
	c.ask("a", "hello again")
	b.server.balanced(t)
}

// Likewise a client that asks without reading.
func TestOutgoingLimit(t *testing.T) {
	policy, ended := leaving(10)
	b := startServer(t, Options{Policy: policy, Limits: Limits{Outgoing: 64 << 10}})
	slow, c := b.dial(), b.dial()
	ping := []byte(`{"type":"ping","agent_id":"` + strings.Repeat("x", 10<<10) + `"}`)
	for slow.ws.Write(t.Context(), websocket.MessageText, ping) == nil {
		select {
		case <-ended:
			c.ask("a", "[[echo n]]")
			return
		default:
		}
	}
	<-ended
	c.ask("a", "[[echo n]]")
}

// The largest message passes unchanged to the model, the store, and back.
func TestLargestMessage(t *testing.T) {
	c := startServer(t, Options{}).dial()
	envelope := len(`{"type":"chat","agent_id":"a","content":""}`)
	content := "[[echo n]]" + strings.Repeat("x", int(DefaultLimits.Message)-envelope-len("[[echo n]]"))
	if a := c.ask("a", content); a.text() != content {
		t.Errorf("%d bytes came back, of %d", len(a.text()), len(content))
	}
	if a := c.ask("a", "[[recall n2]]"); a.text() != "n (1)" {
		t.Errorf("after it: %.80q", a.text())
	}
}
