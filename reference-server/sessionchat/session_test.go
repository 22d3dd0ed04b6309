package sessionchat

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestFirstChatCreates(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	c.wantNothing() // opening sends nothing (SC-001)
	first := c.ask("a", "[[stream n1 3]]")
	if !uuid.MatchString(first.session) || len(first.streams) != 3 || first.system["resumed"] != false ||
		first.system["model"] != "default" {
		t.Errorf("first turn: %+v", first)
	}
	if first.result["num_turns"] != 1.0 || first.result["duration_ms"].(float64) < 0 {
		t.Errorf("result %v", first.result)
	}
	second := c.ask("a", "[[recall n2]]")
	if second.session != first.session || second.text() != "n1 (1)" || second.result["num_turns"] != 2.0 {
		t.Errorf("second turn: %+v", second)
	}
	got := b.brain.Requests("n2")
	want := []llm.Message{
		{Role: "user", Text: "[[stream n1 3]]"}, {Role: "assistant", Text: first.text()},
		{Role: "user", Text: "[[recall n2]]"},
	}
	if len(got) != 1 || cmp.Diff(want, got[0].Messages) != "" {
		t.Errorf("request: %v", cmp.Diff(want, got[0].Messages))
	}
}

func TestSessionsAreApart(t *testing.T) {
	c := startServer(t, Options{}).dial()
	a := c.ask("A", "[[echo a1]]")
	b := c.ask("B", "[[recall b1]]")
	again := c.ask("A", "[[recall a2]]")
	if a.session == b.session || a.session != again.session || b.text() != "(0)" || again.text() != "a1 (1)" {
		t.Errorf("A %+v\nB %+v\nA again %+v", a, b, again)
	}
}

// An agent_id is an opaque key, and content is passed on unchanged (SC-019, SC-060).
func TestOddStrings(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	ids := []string{
		"x", "X", " x", "x ", "x\x00", "x\x00y", "\u00e9", "e\u0301", "'; DROP TABLE sessions; --", "../../etc/passwd",
		"%s%d", "null",
		"0", "\U0001f600", "\u2028", `"\`, strings.Repeat("long ", 10_000), "\t\r\n", "\ufeffx", "conn_1", "{}",
	}
	sessions := map[string]string{}
	for i, id := range ids {
		content := fmt.Sprintf(" \n%s\t[[echo odd%d]]\x00\u2029 ", id, i)
		a := c.ask(id, content)
		if a.text() != content {
			t.Errorf("%.40q: echoed %.80q", id, a.text())
		}
		if other, seen := sessions[a.session]; seen {
			t.Errorf("%.40q and %.40q share a session", id, other)
		}
		sessions[a.session] = id
	}
	for i, id := range ids {
		if a := c.ask(id, "[[recall again]]"); a.text() != fmt.Sprintf("odd%d (1)", i) {
			t.Errorf("%.40q: recalled %.80q", id, a.text())
		}
	}
}

func TestOptions(t *testing.T) {
	b := startServer(t, Options{Model: "house"})
	c := b.dial()
	for _, row := range []struct{ options, want string }{
		{`{"model":"m-1"}`, "m-1"},
		{`{}`, "house"},
		{`{"model":""}`, "house"},
		{`{"temperature":1e999,"deep":[{"x":null}],"Model":7}`, "house"},
	} {
		c.send(`{"type":"chat","agent_id":"a","content":"[[echo opt]]","options":` + row.options + `}`)
		a := c.runTurn("a")
		c.wantSuccess(a)
		got := b.brain.Requests("opt")
		if r := got[len(got)-1]; r.Model != row.want || !r.Stream || a.system["model"] != row.want {
			t.Errorf("%s: model %q, stream %v, told %v", row.options, r.Model, r.Stream, a.system)
		}
	}
}

func TestPing(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	c.startHeldTurn("a", "h")
	for sent, want := range map[string]any{
		`{"type":"ping"}`: nil, `{"type":"ping","agent_id":"a","x":1}`: "a", `{"type":"ping","agent_id":7}`: nil,
	} {
		c.send(sent)
		msg := c.nextMessage()
		if msg["message_type"] != "pong" || msg["agent_id"] != want || msg["session_id"] != nil ||
			len(msg["message"].(object)) != 0 {
			t.Errorf("%s: %v", sent, msg)
		}
	}
	b.brain.Release("h")
	c.nextOutcome("a")
}

func TestToolCallsAndEmptyAnswers(t *testing.T) {
	c := startServer(t, Options{}).dial()
	if a := c.ask("a", `[[tool n read {"x":1}]]`); !strings.Contains(a.text(), "read") {
		t.Errorf("tool call: %+v", a)
	}
	if a := c.ask("b", "[[stream n 0]]"); a.whole != "" {
		t.Errorf("empty answer: %+v", a)
	}
	if a := c.ask("b", "[[recall n2]]"); a.text() != "n (1)" {
		t.Errorf("after an empty answer: %+v", a)
	}
}

func TestModelFails(t *testing.T) {
	b := startServer(t, Options{})
	c := b.dial()
	c.chat("a", "[[stream n1 2]] [[fail n1 503]]")
	a := c.runTurn("a")
	if a.result["subtype"] != "error" || a.result["code"] != "model_failed" || a.whole != nil || len(a.streams) != 2 {
		t.Errorf("failed turn: %+v", a)
	}
	c.chat("a", "[[fail n2]]") // before any output
	if a := c.runTurn("a"); a.result["subtype"] != "error" || a.streams != nil {
		t.Errorf("failed turn: %+v", a)
	}
	if again := c.ask("a", "[[recall n3]]"); again.text() != "n1 n2 (2)" || again.session != a.session {
		t.Errorf("after it: %+v", again)
	}
	var got []string
	for _, m := range b.brain.Requests("n3")[0].Messages {
		got = append(got, m.Role+" "+m.Text)
	}
	want := []string{
		"user [[stream n1 2]] [[fail n1 503]]", "assistant " + a.text(), "user [[fail n2]]", "assistant [no answer: failed]",
		"user [[recall n3]]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestHTTP(t *testing.T) {
	b := startServer(t, Options{AllowOrigins: []string{"https://friend.example"}})
	get := func(path string) (int, string) {
		res, err := b.http.Get(b.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if status, body := get("/health"); status != 200 || body != `{"status":"ok"}` {
		t.Errorf("health: %d %s", status, body)
	}
	if status, _ := get("/chat/ws"); status != http.StatusUpgradeRequired {
		t.Errorf("no upgrade: %d", status)
	}
	if status, _ := get("/"); status != 404 {
		t.Errorf("elsewhere: %d", status)
	}
	for origin, want := range map[string]int{
		"https://evil.example": 403, "null": 403, "http://localhost:1": 101, "https://friend.example": 101,
	} {
		ws, res, err := websocket.Dial(t.Context(), b.url+"/chat/ws", &websocket.DialOptions{
			HTTPClient: b.http, HTTPHeader: http.Header{"Origin": {origin}},
		})
		if err == nil {
			_ = ws.CloseNow()
		}
		if res == nil || res.StatusCode != want {
			t.Errorf("%s: %v, %v", origin, res, err)
		}
	}
}

func TestClose(t *testing.T) {
	b := startServer(t, Options{})
	c, idle := b.dial(), b.dial()
	c.startHeldTurn("a", "never")
	c.chat("a", "[[echo behind]]")
	c.wantNothing()
	done := make(chan error, 1)
	go func() { done <- b.server.Close(context.Background()) }()
	if got := c.nextOutcome("a"); got != "interrupted" {
		t.Errorf("running turn: %s", got)
	}
	c.wantClosed(websocket.StatusGoingAway)
	idle.wantClosed(websocket.StatusGoingAway)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(b.brain.Requests("behind")) > 0 {
		t.Error("a waiting chat ran")
	}
	_, res, err := websocket.Dial(t.Context(), b.url+"/chat/ws", &websocket.DialOptions{HTTPClient: b.http})
	if err == nil || res == nil || res.StatusCode != 503 {
		t.Errorf("after the close: %v, %v", res, err)
	}
}

// stuck is a backend that ignores its context until it is released.
type stuck chan struct{}

func (s stuck) Answer(context.Context, llm.Request, func(llm.Part) error) error {
	<-s
	return nil
}

func TestCloseIsBounded(t *testing.T) {
	backend := make(stuck)
	b := startServer(t, Options{Backend: backend})
	c := b.dial()
	c.chat("a", "x")
	c.wantType("system")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.server.Close(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("close: %v", err)
	}
	close(backend)
}
