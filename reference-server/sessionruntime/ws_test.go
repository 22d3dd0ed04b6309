package sessionruntime

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

func TestHTTP(t *testing.T) {
	b := startServer(t, Options{AllowOrigins: []string{"https://bus.example"}})
	for _, c := range []struct {
		path, origin string
		want         int
	}{
		{"/health", "", 200},
		{"/health", "http://localhost:5173", 200},
		{"/health", "https://bus.example", 200},
		{"/health", "https://evil.example", 403},
		{"/health", "null", 403},
		{proto.Path, "https://evil.example", 403},
		{proto.Path, "", 426}, // not a WebSocket handshake
		{"/", "", 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		res, err := b.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != c.want {
			t.Errorf("%s from %q: %d, want %d", c.path, c.origin, res.StatusCode, c.want)
		}
	}
	for origin, want := range map[string]int{"http://127.0.0.1:1": 101, "https://bus.example": 101,
		"https://evil.example": 403} {
		ws, res, err := websocket.Dial(t.Context(), b.url+proto.Path,
			&websocket.DialOptions{HTTPClient: b.http, HTTPHeader: http.Header{"Origin": {origin}}})
		if res == nil || res.StatusCode != want {
			t.Errorf("a socket from %s: %v", origin, err)
		}
		if err == nil {
			_ = ws.CloseNow()
		}
	}
}

func TestFramesThatEndTheConnection(t *testing.T) {
	for _, c := range []struct {
		kind websocket.MessageType
		data string
		want websocket.StatusCode
	}{
		{websocket.MessageBinary, "{}", websocket.StatusUnsupportedData},
		{websocket.MessageText, "{\"parley\":\"\xff\"}", websocket.StatusInvalidFramePayloadData},
	} {
		p, ws := startServer(t, Options{}).dial()
		p.setUp("s", nil)
		if err := ws.Write(t.Context(), c.kind, []byte(c.data)); err != nil {
			t.Fatal(err)
		}
		_ = p.send(`{"parley":"fence","id":"1"}`)
		if text, err := p.read(); websocket.CloseStatus(err) != c.want {
			t.Errorf("%q: %v, %s", c.data, err, text)
		}
	}
}

// Each connection has its own runtimes, which end with it.
func TestBusesAreApart(t *testing.T) {
	b := startServer(t, Options{})
	p, ws := b.dial()
	p.setUp("s", nil)
	q, _ := b.dial()
	q.input("s", "t1")
	q.wantMessages("error")
	_ = ws.Close(websocket.StatusNormalClosure, "")
	r, _ := b.dial()
	r.input("s", "t1")
	r.wantMessages("error")
}

func TestTooManyConnections(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Connections: 1}})
	p, _ := b.dial()
	p.setUp("s", nil)
	if _, res, err := websocket.Dial(t.Context(), b.url+proto.Path,
		&websocket.DialOptions{HTTPClient: b.http}); res == nil || res.StatusCode != 503 {
		t.Errorf("a second connection: %v", err)
	}
}

// The server sends its close frame after everything that is queued.
func TestClose(t *testing.T) {
	b := startServer(t, Options{})
	p, _ := b.dial()
	p.setUp("s", nil)
	p.input("s", "t1")
	p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
	closed := make(chan error)
	go func() { closed <- b.server.Close(context.Background()) }()
	if _, err := p.read(); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the connection ended with %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, res, err := websocket.Dial(t.Context(), b.url+proto.Path,
		&websocket.DialOptions{HTTPClient: b.http}); res == nil || res.StatusCode != 503 {
		t.Errorf("a connection to a closed server: %v", err)
	}
	if err := b.server.Close(context.Background()); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestCloseInTime(t *testing.T) {
	b := startServer(t, Options{Limits: Limits{Close: time.Hour}})
	p, _ := b.dial() // reads nothing, so it does not answer the close
	p.sendRaw(`{"parley":"fence","id":"1"}`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.server.Close(ctx); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("close: %v", err)
	}
}

// The server does not read from a client that does not read, until it does.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, in, done := pipes(t, context.Background(), Options{Limits: Limits{Outgoing: 100, Incoming: 4}})
		const many = 100
		sent := 0
		go func() {
			for ; sent < many; sent++ {
				p.sendRaw(`{"parley":"fence","id":"` + fmt.Sprint(sent) + `"}`)
			}
			_ = in.Close()
		}()
		synctest.Wait()
		if sent > 4*many/10 || sent < 4 {
			t.Errorf("%d frames were taken", sent)
		}
		for i := range many {
			if got := p.next(); got["id"] != fmt.Sprint(i) {
				t.Fatalf("frame %d: %v", i, got)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A client that never reads is dropped.
func TestDeafReader(t *testing.T) {
	loud := strings.Repeat("x", 512<<10)
	p, _ := startServer(t,
		Options{Limits: Limits{Outgoing: 64 << 10, Incoming: 1, Write: 50 * time.Millisecond}, Seams: func() Seams {
			return Seams{Runtime: func(o *orchestrator.Options) {
				o.Outbound = func(_ orchestrator.View, msg proto.Message, send func(proto.Message)) {
					msg.Payload = loud
					send(msg)
				}
			}}
		}}).dial()
	p.setUp("s", nil)
	for p.send(`{"session_id":"s","event":"CONTROL","subtype":"CANCEL","sender":"frontend","target":"SYSTEM"}`) == nil {
	}
}

// logged is a log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func TestLog(t *testing.T) {
	var l logged
	p, _ := startServer(t, Options{Logger: slog.New(slog.NewTextHandler(&l, nil))}).dial()
	p.sendRaw("x")
	p.wantMessages("error")
	p.setUp("s", nil)
	p.sendRaw(`{"session_id":"s","event":"BOGUS","sender":"frontend","target":"SYSTEM"}`)
	p.sendRaw(`{"session_id":"s","event":"USER_INPUT","sender":"frontend","target":"MARS"}`)
	p.sendRaw(`{"parley":"fence","id":"1"}`)
	p.wantMessages("fenced")
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.text.String()
	for _, want := range []string{"frame not taken", `unknown event \"BOGUS\"`, `unknown target \"MARS\"`} {
		if strings.Count(got, "\n") != 3 || !strings.Contains(got, want) {
			t.Errorf("no %s in the log: %s", want, got)
		}
	}
}

// A refusal says in the words of JSON what is wrong.
func TestRefusals(t *testing.T) {
	p, _ := startServer(t, Options{}).dial()
	for frame, want := range map[string]string{
		`{"session_id":"s","metadata":"x"}`: "metadata must be an object, not a string",
		`{"session_id":7}`:                  "session_id must be a string, not a number",
		`{"parley":"setup","session_id":"s","agents":["a"],"limts":{}}`: "set-up refused: unknown member limts " +
			"(known: session_id, agents, active_agent_id, limits.input_ack_ms, limits.cancel_ack_ms)",
		`{"parley":"setup","session_id":"s","limits":{"ack":1}}`: "set-up refused: unknown member limits.ack (known: " +
			"session_id, agents, active_agent_id, limits.input_ack_ms, limits.cancel_ack_ms)",
		`{"parley":"setup","session_id":"s","agents":"a"}`: "set-up refused: agents must be an array, not a string",
	} {
		p.sendRaw(frame)
		if got := p.next(); got["parley"] != "error" || got["text"] != want {
			t.Errorf("%s: %v, want %s", frame, got, want)
		}
	}
}

// Many connections at once.
func TestManyConnections(t *testing.T) {
	b := startServer(t, Options{})
	var all sync.WaitGroup
	for i := range 10 {
		p, _ := b.dial()
		all.Go(func() {
			session := fmt.Sprint("s", i)
			p.setUp(session, nil)
			for turn := range 10 {
				p.input(session, fmt.Sprint(turn))
				p.message(session, "AGENT_OUTPUT", "", "a", "x", object{"turn_id": fmt.Sprint(turn)})
				for _, frame := range p.wantMessages("USER_INPUT", "TURN_ACCEPTED", "AGENT_STARTED", "AGENT_OUTPUT") {
					if frame["session_id"] != session {
						t.Errorf("%s got %v", session, frame)
					}
				}
			}
		})
	}
	all.Wait()
}
