package agentselect

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// socket is a client on a WebSocket.
type socket struct {
	t  *testing.T
	ws *websocket.Conn
}

func (b *bench) dial() *socket {
	b.t.Helper()
	ws, _, err := websocket.Dial(b.t.Context(), b.url+"/agents/ws", &websocket.DialOptions{HTTPClient: b.http})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	s := &socket{b.t, ws}
	s.wantMessage("connected")
	s.wantMessage("agent_list")
	return s
}

func (s *socket) send(msg any) {
	s.t.Helper()
	text, isText := msg.(string)
	if !isText {
		payload, err := json.Marshal(msg)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(payload)
	}
	if err := s.ws.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) wantMessage(kind string) object {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	_, payload, err := s.ws.Read(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	var ev object
	if err := json.Unmarshal(payload, &ev); err != nil {
		s.t.Fatal(err)
	}
	if ev["type"] != kind {
		s.t.Fatalf("got %v, want %s", ev, kind)
	}
	return ev
}

func TestWebSocket(t *testing.T) {
	b := startServer(t, Options{})
	a := b.dial()
	a.send(object{"type": "switch_agent", "agentId": "debugger"})
	if d := data(a.wantMessage("error")); d["errorCode"] != "session_not_found" {
		t.Errorf("unbound: %v", d)
	}
	a.send(object{"type": "session_create", "requestId": "r1"})
	created := a.wantMessage("session_created")
	session, _ := data(created)["sessionId"].(string)
	if created["requestId"] != "r1" || session == "" {
		t.Errorf("created %v", created)
	}
	a.send(object{"type": "switch_agent", "agentId": "debugger"})
	if d := data(a.wantMessage("agent_switched")); d["currentAgentId"] != "debugger" {
		t.Errorf("switched %v", d)
	}

	// Loading moves the session between stream and socket, in both directions.
	other := b.connect()
	other.load(session)
	other.switchTo("general")
	other.wantSwitch("debugger", "general")
	a.send(object{"type": "session_load", "requestId": "r2", "sessionId": session})
	if loaded := a.wantMessage("session_loaded"); loaded["requestId"] != "r2" || data(loaded)["sessionId"] != session {
		t.Errorf("loaded %v", loaded)
	}
	other.switchTo("debugger")
	other.wantRefusal("session_not_found")

	a.send(object{"type": "chat", "content": "[[echo w1]]"})
	a.wantMessage("message")
	a.wantMessage("message")
	a.wantMessage("complete")
}

func TestWebSocketComplaints(t *testing.T) {
	a := startServer(t, Options{}).dial()
	for _, bad := range []any{
		"{", "[]", "null", object{"type": "get_agents"}, object{}, object{"type": 7}, object{"type": "chat"},
		object{"type": "session_create", "initialAgentId": "nobody"}, object{"type": "session_load", "sessionId": 7},
	} {
		a.send(bad)
		if d := data(a.wantMessage("error")); d["errorCode"] != nil || d["message"] == "" {
			t.Errorf("%v: %v", bad, d)
		}
	}
	if err := a.ws.Write(t.Context(), websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	a.wantMessage("error")
	a.send(object{"type": "session_load", "requestId": "r", "sessionId": "nobody"})
	if ev := a.wantMessage("error"); ev["requestId"] != "r" || data(ev)["errorCode"] != "session_not_found" {
		t.Errorf("load: %v", ev)
	}
	a.send(object{"type": "switch_agent", "agentId": "x"})
	a.wantMessage("error")
}

func TestWebSocketReadLimit(t *testing.T) {
	a := startServer(t, Options{}).dial()
	a.send(`{"type":"` + strings.Repeat("x", 1<<20) + `"}`)
	_, _, err := a.ws.Read(t.Context())
	if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("read: %v", err)
	}
}

func TestWebSocketOrigin(t *testing.T) {
	b := startServer(t, Options{})
	for origin, want := range map[string]int{"https://evil.example": 403, "null": 403, "http://localhost:1": 101} {
		ws, res, err := websocket.Dial(t.Context(), b.url+"/agents/ws", &websocket.DialOptions{
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

func TestCloseEndsSockets(t *testing.T) {
	b := startServer(t, Options{})
	a := b.dial()
	ended := make(chan error, 1)
	go func() {
		_, _, err := a.ws.Read(context.Background())
		ended <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.server.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("read: %v", err)
	}
}
