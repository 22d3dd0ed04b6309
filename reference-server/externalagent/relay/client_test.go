package relay

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// object is a decoded JSON object.
type object = map[string]any

// bench is a relay on a loopback socket.
type bench struct {
	t      testing.TB
	server *Server
	url    string
	http   *http.Client
	close  func()
}

func startServer(t testing.TB, o Options) *bench {
	t.Helper()
	if o.Limits.Close == 0 {
		o.Limits.Close = 50 * time.Millisecond // for parties that are not reading when the relay closes
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	transport := &http.Transport{}
	b := &bench{t: t, server: s, url: web.URL, http: &http.Client{Transport: transport}}
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
		s.empty(t)
	}
	t.Cleanup(b.close)
	return b
}

// empty fails if the server retains any state of departed parties.
func (s *Server) empty(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, m := len(s.sessions), len(s.allConnections()); n != 0 || m != 0 {
		t.Errorf("%d sessions and %d connections are left", n, m)
	}
}

// party is a client, over a socket or attached.
type party struct {
	t  testing.TB
	ws *websocket.Conn // nil if attached
	Conn
}

// socket makes a Conn from the text frames of a WebSocket.
type socket struct{ ws *websocket.Conn }

func (s socket) Read(ctx context.Context) ([]byte, error) {
	_, data, err := s.ws.Read(ctx)
	return data, err
}
func (s socket) Write(ctx context.Context, frame []byte) error {
	return s.ws.Write(ctx, websocket.MessageText, frame)
}
func (s socket) Close() error { return s.ws.Close(websocket.StatusNormalClosure, "") }

// dial opens a socket without joining.
func (b *bench) dial() *party {
	b.t.Helper()
	ws, _, err := websocket.Dial(b.t.Context(), b.url+proto.Path, &websocket.DialOptions{HTTPClient: b.http})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(64 << 20)
	return &party{b.t, ws, socket{ws}}
}

// join joins over a socket.
func (b *bench) join(role, session string) *party {
	b.t.Helper()
	p := b.dial()
	p.send(joining("join", role, session))
	p.wantMessage(joined("join", role, session))
	return p
}

// attach joins as an attached party.
func (b *bench) attach(role, session string) *party {
	b.t.Helper()
	c, err := b.server.Attach(session, role)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	return &party{b.t, nil, c}
}

// ways has both ways to join.
var ways = map[string]func(b *bench, role, session string) *party{"socket": (*bench).join, "attached": (*bench).attach}

func joining(id, role, session string) object {
	return object{"v": "mvp-0.2", "type": "relay.join", "id": id, "payload": object{"role": role, "sessionId": session}}
}

func joined(id, role, session string) object {
	return object{"v": "mvp-0.2", "type": "relay.joined", "replyTo": id, "payload": object{"role": role,
		"sessionId": session}}
}

// agentRequest returns an agent's request.
func agentRequest(id string) string {
	return fmt.Sprintf(`{"v":"mvp-0.2","type":"snapshot.get","id":%q,"payload":{}}`, id)
}

// hostReply returns a host's reply; hostMessage returns an unsolicited message.
func hostReply(id, text string) string {
	return fmt.Sprintf(`{"v":"mvp-0.2","type":"snapshot.state","replyTo":%q,"payload":{"text":%q}}`, id, text)
}

func hostMessage(text string) string {
	return fmt.Sprintf(`{"v":"mvp-0.2","type":"user.message","payload":{"text":%q}}`, text)
}

func (p *party) send(msg any) {
	p.t.Helper()
	data, isText := []byte(nil), false
	if text, ok := msg.(string); ok {
		data, isText = []byte(text), true
	}
	if !isText {
		var err error
		if data, err = json.Marshal(msg); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := p.Write(p.t.Context(), data); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next frame verbatim.
func (p *party) next() string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, err := p.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p *party) nextObject() object {
	p.t.Helper()
	var msg object
	if err := json.Unmarshal([]byte(p.next()), &msg); err != nil {
		p.t.Fatal(err)
	}
	return msg
}

// wantMessage requires the next frame to equal msg; a string is compared byte for byte.
func (p *party) wantMessage(msg any) {
	p.t.Helper()
	if text, isText := msg.(string); isText {
		if got := p.next(); got != text {
			p.t.Fatalf("got %s, want %s", got, text)
		}
		return
	}
	if diff := cmp.Diff(msg, any(p.nextObject())); diff != "" {
		p.t.Fatalf("-want +got:\n%s", diff)
	}
}

// wantRefusal requires the next frame to be an error with the code and, unless id is nil, with replyTo id.
func (p *party) wantRefusal(id any, code string) {
	p.t.Helper()
	msg := p.nextObject()
	payload, _ := msg["payload"].(object)
	text, _ := payload["message"].(string)
	want := object{"v": "mvp-0.2", "type": "error", "payload": object{"code": code, "message": text}}
	if id != nil {
		want["replyTo"] = id
	}
	if diff := cmp.Diff(want, msg); diff != "" || text == "" {
		p.t.Fatalf("-want +got:\n%s", diff)
	}
}

var fences atomic.Int64

// wantNothing fails if anything arrives before the refusal of an invalid envelope. By then the relay has handled
// everything that the party sent before.
func (p *party) wantNothing() {
	p.t.Helper()
	id := fmt.Sprint("fence-", fences.Add(1))
	p.send(object{"id": id})
	p.wantRefusal(id, proto.InvalidMessage)
}

// wantEnd requires the connection to end with the status, ignoring earlier frames.
func (p *party) wantEnd(code websocket.StatusCode) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if _, err := p.Read(ctx); err != nil {
			if got := websocket.CloseStatus(err); got != code {
				p.t.Errorf("connection ended with %v (%v), want %v", got, err, code)
			}
			return
		}
	}
}

// awaitLeft waits until the relay has forgotten the departed parties and only stay parties remain.
func (b *bench) awaitLeft(stay int) {
	b.t.Helper()
	deadline := time.After(patience)
	for tick := time.NewTicker(time.Millisecond); ; {
		if len(b.server.allConnections()) == stay {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("%d connections, want %d", len(b.server.allConnections()), stay)
		}
	}
}
