package sessionchat

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// object is a decoded JSON object.
type object = map[string]any

// bench is a server on a loopback socket.
type bench struct {
	t      testing.TB
	server *Server
	brain  *llm.Brain
	url    string
	http   *http.Client
	close  func()
}

// startServer starts a server, by default with a brain as backend.
func startServer(t testing.TB, o Options) *bench {
	t.Helper()
	brain := llm.New()
	if o.Backend == nil {
		o.Backend = brain
	}
	if o.Limits.Close == 0 {
		o.Limits.Close = 50 * time.Millisecond // for clients that are not reading when the server closes
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	transport := &http.Transport{}
	b := &bench{t: t, server: s, brain: brain, url: web.URL, http: &http.Client{Transport: transport}}
	closed := false
	b.close = func() {
		if closed {
			return
		}
		closed = true
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		web.Close()
		transport.CloseIdleConnections()
	}
	t.Cleanup(b.close)
	return b
}

// client is a client on a WebSocket.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

func (b *bench) dial() *client { b.t.Helper(); return dial(b.t, b.http, b.url) }

func dial(t testing.TB, h *http.Client, url string) *client {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url+proto.Path, &websocket.DialOptions{HTTPClient: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(64 << 20)
	return &client{t, ws}
}

func (c *client) send(msg any) {
	c.t.Helper()
	data, isRaw := msg.([]byte)
	if text, isText := msg.(string); isText {
		data, isRaw = []byte(text), true
	}
	if !isRaw {
		var err error
		if data, err = json.Marshal(msg); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, data); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) chat(agentID, content string) {
	c.t.Helper()
	c.send(object{"type": "chat", "agent_id": agentID, "content": content})
}

func (c *client) interrupt(agentID string) {
	c.t.Helper()
	c.send(object{"type": "interrupt", "agent_id": agentID})
}

// nextMessage returns the next message, which must have a complete envelope.
func (c *client) nextMessage() object {
	c.t.Helper()
	msg, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	return msg
}

func (c *client) read() (object, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind, data, err := c.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	var msg object
	if err := json.Unmarshal(data, &msg); err != nil {
		return nil, err
	}
	c.t.Helper()
	_, bodied := msg["message"].(object)
	at, _ := msg["timestamp"].(string)
	stamp, err := time.Parse(rfc3339Millis, at)
	if kind != websocket.MessageText || len(msg) != 5 || !bodied || err != nil || time.Since(stamp).Abs() > time.Minute {
		c.t.Errorf("envelope: %s", data)
	}
	return msg, nil
}

// wantType requires the next message to have the type and returns its body.
func (c *client) wantType(kind string) object {
	c.t.Helper()
	msg := c.nextMessage()
	if msg["message_type"] != kind {
		c.t.Fatalf("got %v, want %s", msg, kind)
	}
	return msg["message"].(object)
}

// wantRefusal requires the next message to be an error with the code.
func (c *client) wantRefusal(agentID any, code string) {
	c.t.Helper()
	msg := c.nextMessage()
	body := msg["message"].(object)
	if text, _ := body["text"].(string); msg["message_type"] != "error" || msg["agent_id"] != agentID ||
		body["code"] != code || text == "" {
		c.t.Errorf("got %v, want an error %s for %v", msg, code, agentID)
	}
}

// wantClosed requires the connection to end with the status, ignoring earlier messages.
func (c *client) wantClosed(code websocket.StatusCode) {
	c.t.Helper()
	for {
		if _, err := c.read(); err != nil {
			if got := websocket.CloseStatus(err); got != code {
				c.t.Errorf("connection ended with %v (%v), want %v", got, err, code)
			}
			return
		}
	}
}

// answered is a turn as the client received it.
type answered struct {
	session string
	system  object
	streams []string
	whole   any // nil without an assistant message
	result  object
}

// text returns the streamed text.
func (a answered) text() string { return strings.Join(a.streams, "") }

// runTurn reads one whole turn; every message must name the agent_id and the same session.
func (c *client) runTurn(agentID string) answered {
	c.t.Helper()
	var a answered
	for {
		msg := c.nextMessage()
		if !c.add(&a, agentID, msg) {
			return a
		}
	}
}

// add adds a message to a turn; it returns false for the last one.
func (c *client) add(a *answered, agentID string, msg object) (more bool) {
	c.t.Helper()
	session, _ := msg["session_id"].(string)
	if a.session == "" {
		a.session = session
	}
	if msg["agent_id"] != agentID || session != a.session {
		c.t.Fatalf("a turn of %q in session %s: got %v", agentID, a.session, msg)
	}
	body := msg["message"].(object)
	switch kind := msg["message_type"]; {
	case kind == "system" && a.system == nil && body["subtype"] == "init":
		a.system = body
	case kind == "stream" && a.system != nil && a.whole == nil:
		a.streams = append(a.streams, body["text"].(string))
	case kind == "assistant" && a.system != nil && a.whole == nil && body["role"] == "assistant":
		a.whole = body["content"]
	case kind == "result":
		a.result = body
		return false
	default:
		c.t.Fatalf("out of order: %v after %+v", msg, *a)
	}
	return true
}

// ask sends a chat and reads its turn, which must succeed.
func (c *client) ask(agentID, content string) answered {
	c.t.Helper()
	c.chat(agentID, content)
	a := c.runTurn(agentID)
	c.wantSuccess(a)
	return a
}

func (c *client) wantSuccess(a answered) {
	c.t.Helper()
	if a.result["subtype"] != "success" || a.whole != a.text() || a.session == "" {
		c.t.Fatalf("turn: %+v", a)
	}
}

// startHeldTurn sends a chat that the brain holds, and reads up to that point.
func (c *client) startHeldTurn(agentID, nonce string) (session string) {
	c.t.Helper()
	c.chat(agentID, "[[hold "+nonce+"]]")
	c.wantType("system")
	msg := c.nextMessage()
	if msg["message"].(object)["text"] != "holding "+nonce {
		c.t.Fatalf("got %v", msg)
	}
	return msg["session_id"].(string)
}

// nextOutcome reads the rest of a held turn.
func (c *client) nextOutcome(agentID string) string {
	c.t.Helper()
	for {
		msg := c.nextMessage()
		if msg["agent_id"] != agentID {
			c.t.Fatalf("got %v, want %s", msg, agentID)
		}
		if msg["message_type"] == "result" {
			return msg["message"].(object)["subtype"].(string)
		}
	}
}

// wantNothing fails if anything arrives before the reply to a ping.
func (c *client) wantNothing() {
	c.t.Helper()
	c.send(object{"type": "ping"})
	c.wantType("pong")
}
