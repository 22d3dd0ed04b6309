package bundled_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	runtimeproto "parley/protocol/sessionruntime"
	"parley/reference-server/agentclient"
	"parley/reference-server/agentselect"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/reference-server/sessionruntime"
	"parley/reference-server/web"
)

// opponent is a bundled server, behind the door of `parley serve`, with limits that a test reaches.
type opponent struct {
	name string
	make func(t *testing.T, l limits) (launch.Handler, error)
	path string // of its connections
	sse  bool   // they are event streams
	join string // the first message of a client; {me} is its name
	ask  string // a message whose answer contains {text}; "": path is the page to ask for

	timed bool   // a reader that does not read is dropped for the time of a write, and not for what waits for it
	post  string // a path that takes bodies; "": none does
}

// largest are the bytes of a message or body that an opponent takes, at least.
const largest = 64 << 10

// ours is an origin that the opponents allow.
const ours = "https://tool.example"

const join = `{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"{me}"}}`

// opponents are the bundled servers that listen. The session-runtime orchestrator on stdio and the agent of
// external-agent do not.
var opponents = []opponent{
	{name: "agent-select over SSE", make: selecting, path: "/events", sse: true, post: "/message",
		ask: `{"type":"switch_agent","agentId":"a","sessionId":"{text}","connectionId":"{conn}"}`},
	{name: "agent-select over WebSocket", make: selecting, path: "/agents/ws", post: "/message",
		ask: `{"type":"switch_agent","agentId":"a","sessionId":"{text}"}`},
	{name: "session-chat", path: "/chat/ws", ask: `{"type":"ping","agent_id":"{text}"}`,
		make: func(_ *testing.T, l limits) (launch.Handler, error) {
			return sessionchat.New(sessionchat.Options{AllowOrigins: []string{ours}, Limits: sessionchat.Limits{
				Connections: l.connections, Write: l.write, Outgoing: 1 << 20, Message: largest}})
		}},
	{name: "session-runtime", path: runtimeproto.Path, ask: `{"parley":"fence","id":"{text}"}`, timed: true,
		make: func(_ *testing.T, l limits) (launch.Handler, error) {
			return sessionruntime.NewServer(sessionruntime.Options{AllowOrigins: []string{ours},
				Limits: sessionruntime.Limits{Connections: l.connections, Write: l.write, Outgoing: 1 << 20, Message: largest}})
		}},
	{name: "external-agent relay", path: proto.Path, ask: `{"id":"{text}"}`,
		make: func(_ *testing.T, l limits) (launch.Handler, error) {
			return relay.New(relay.Options{Origins: []string{ours}, Limits: relaying(l)})
		}},
	{name: "external-agent host", path: proto.Path, join: join, post: "/say",
		ask: `{"v":"mvp-0.2","type":"snapshot.get","id":"{text}","payload":{}}`,
		make: func(t *testing.T, l limits) (launch.Handler, error) {
			l.connections *= 2 // its hosts are connections too
			return externalagent.New(externalagent.Options{Logs: t.TempDir(), AllowOrigins: []string{ours},
				Relay: relay.Options{Limits: relaying(l)}})
		}},
	{name: "agent-client page", path: "/app.js", timed: true,
		make: func(_ *testing.T, l limits) (launch.Handler, error) {
			return ends{agentclient.New(agentclient.Options{AllowOrigins: []string{ours}})}, nil
		}},
}

func selecting(_ *testing.T, l limits) (launch.Handler, error) {
	return agentselect.New(agentselect.Options{AllowOrigins: []string{ours}, Limits: agentselect.Limits{
		Connections: l.connections, Write: l.write, QueueBytes: 1 << 20, Body: largest}})
}

func relaying(l limits) relay.Limits {
	return relay.Limits{Connections: l.connections, Write: l.write, QueueBytes: 1 << 20, Frame: largest}
}

// against calls f with each opponent.
func against(t *testing.T, f func(t *testing.T, o opponent)) {
	for _, o := range opponents {
		t.Run(o.name, func(t *testing.T) { f(t, o) })
	}
}

// held bounds what an opponent may hold of what a client has sent and not read the answers to: 1 MiB by its limits, and
// what is on its way.
const held = 4 << 20

// TestSlowReader checks that a client that does not read is dropped by its server's rule, that the server keeps little
// for it until then, and that others go on.
func TestSlowReader(t *testing.T) {
	against(t, func(t *testing.T, o opponent) {
		if o.timed {
			o.waitsForReader(t)
		}
		l := limits{write: time.Hour, door: web.RequestGuard{Answer: time.Hour}}
		if o.timed {
			l = limits{write: 200 * time.Millisecond, door: web.RequestGuard{Answer: 200 * time.Millisecond}}
		}
		h := o.open(t, l)
		slow, other := h.guest(), h.guest()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		flooded := make(chan bool)
		go func() { flooded <- slow.floods(ctx) }()
		if !o.timed || o.ask != "" {
			other.talks(20)
		}
		p := h.ln.to(slow.conn.LocalAddr())
		p.ends(t)
		cancel()
		if <-flooded {
			t.Error("it has taken all messages of a client that does not read")
		}
		if kept := p.read.Load() - p.written.Load(); kept > held {
			t.Errorf("it kept %d bytes for a client that does not read", kept)
		}
		h.guest().talks(1)
		if !o.timed || o.ask != "" {
			other.talks(10)
		}
	})
}

// waitsForReader checks that a server that drops nobody for what waits does not read on from a client that does not
// read, and serves others meanwhile.
func (o opponent) waitsForReader(t *testing.T) {
	t.Helper()
	h := o.open(t, limits{write: time.Hour, door: web.RequestGuard{Answer: time.Hour}})
	slow, other := h.guest(), h.guest()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flooded := make(chan bool)
	go func() { flooded <- slow.floods(ctx) }()
	p := h.ln.to(slow.conn.LocalAddr())
	p.stuck(t)
	p.rests(t)
	other.talks(20)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if !p.isOpen() {
		t.Error("the slow client was dropped meanwhile")
	}
	if kept, grown := p.read.Load()-p.written.Load(), int64(after.HeapAlloc)-int64(before.HeapAlloc); kept > held ||
		grown > 4*held {
		t.Errorf("it kept %d bytes for a client that does not read, and the memory has grown by %d", kept, grown)
	}
	_ = slow.conn.Close()
	cancel()
	if <-flooded {
		t.Error("it has taken all messages of a client that does not read")
	}
}

// TestConnections checks that one connection more than there may be is refused with 503 and disturbs none, and that
// another one is admitted once one has gone.
func TestConnections(t *testing.T) {
	against(t, func(t *testing.T, o opponent) {
		const most = 3
		l := limits{connections: most, write: time.Minute, door: web.RequestGuard{Requests: most}}
		if o.ask != "" {
			l.door = web.RequestGuard{} // its own limit
		}
		h := o.open(t, l)
		var in []*visitor
		for range most {
			v := h.guest()
			in = append(in, v)
			if o.ask == "" { // a page has no connections, but answers that are under way
				go v.floods(t.Context())
				h.ln.to(v.conn.LocalAddr()).stuck(t)
				continue
			}
			v.talks(1)
		}
		if !h.full() {
			t.Error("one more was admitted")
		}
		if in[0].leaves(); o.ask == "" {
			h.ln.to(in[0].conn.LocalAddr()).ends(t)
		}
		late := time.Now().Add(patience)
		for h.full() {
			if time.Now().After(late) {
				t.Fatal("none is admitted, although one has gone")
			}
		}
		for _, v := range in[1:] {
			if o.ask != "" {
				v.talks(1)
			}
		}
	})
}

// full reports whether a further visitor is refused; one that is admitted talks and leaves.
func (h *house) full() bool {
	h.t.Helper()
	v, err := h.visit()
	if err != nil {
		return true
	}
	defer v.leaves()
	if h.of.ask == "" {
		if err := v.send(h.t.Context(), ""); err != nil {
			h.t.Fatal(err)
		}
		text, err := v.next()
		if err != nil {
			h.t.Fatal(err)
		}
		return strings.HasPrefix(text, "503 ")
	}
	v.talks(1)
	return false
}

// asks sends a request as it is, and returns the connection.
func (h *house) asks(head string, body io.Reader) *visitor {
	h.t.Helper()
	v := &visitor{h: h}
	v.dial()
	if _, err := io.WriteString(v.conn, head); err != nil {
		h.t.Fatal(err)
	}
	if body != nil {
		_, _ = io.Copy(v.conn, body) // fails when the server has read enough
	}
	return v
}

// status returns the status of the response, 0 if there is none.
func (v *visitor) status() int {
	v.h.t.Helper()
	_ = v.conn.SetReadDeadline(time.Now().Add(patience))
	res, err := http.ReadResponse(v.in, nil)
	if err != nil {
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			v.h.t.Fatal("no response")
		}
		return 0
	}
	return res.StatusCode
}

// TestBodies checks that a message or body that is too long ends its connection or request soon, and so does one that
// does not arrive. What is as long as it may be is taken.
func TestBodies(t *testing.T) {
	const soon = 200 * time.Millisecond
	against(t, func(t *testing.T, o opponent) {
		h := o.open(t, limits{write: time.Minute, door: web.RequestGuard{Header: soon, Body: soon}})
		path, want := o.post, http.StatusRequestEntityTooLarge
		if path == "" {
			path, want = o.path, http.StatusMethodNotAllowed
		}
		const long = 16 << 20
		head := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Content-Length: %d\r\n\r\n"
		v := h.asks(fmt.Sprintf(head, long), io.LimitReader(bufio.NewReader(xs{}), long))
		p := h.ln.to(v.conn.LocalAddr())
		if p.ends(t); p.read.Load() > 1<<20 {
			t.Errorf("it read %d bytes of a body that is too long", p.read.Load())
		}
		if got := v.status(); got != want && got != 0 { // its response may be lost with the connection
			t.Errorf("a body that is too long: HTTP %d, want %d", got, want)
		}
		h.ln.to(h.asks(fmt.Sprintf(head, 100), strings.NewReader("slow")).conn.LocalAddr()).ends(t)
		h.ln.to(h.asks("GET "+path+" HTTP/1.1\r\nHo", nil).conn.LocalAddr()).ends(t)
		if o.post != "" {
			v := h.asks(fmt.Sprintf(head, largest), io.LimitReader(xs{}, largest))
			if got := v.status(); got != http.StatusBadRequest { // it is whole, and no JSON
				t.Errorf("a body of the largest size: HTTP %d", got)
			}
		}
		if o.sse || o.ask == "" {
			return
		}
		fits := h.guest()
		frame := strings.ReplaceAll(o.ask, "{text}", strings.Repeat("x", largest-len(o.ask)+len("{text}")))
		if err := fits.send(t.Context(), frame); err != nil {
			t.Fatal(err)
		}
		fits.talks(1)
		if err := fits.send(t.Context(), frame+" "); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := fits.next(); err != nil {
				if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
					t.Errorf("a message that is too long: %v", err)
				}
				return
			}
		}
	})
}

// xs is a text without an end.
type xs struct{}

// Read implements io.Reader.
func (xs) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestNamesAndOrigins checks that a request to a foreign host name and one from a foreign page are refused, and that
// those to and from this machine, and from allowed pages, are served.
func TestNamesAndOrigins(t *testing.T) {
	against(t, func(t *testing.T, o opponent) {
		h := o.open(t, limits{write: time.Minute})
		served := http.StatusSwitchingProtocols
		if o.sse || o.ask == "" {
			served = http.StatusOK
		}
		const refused = http.StatusForbidden
		for _, row := range []struct {
			host, origin string
			want         int
		}{
			{"localhost:8124", "", served},
			{"127.0.0.1", "", served},
			{"[::1]:8124", "http://[::1]:3000", served},
			{"localhost", "http://localhost:3000", served},
			{"localhost", ours, served},
			{"evil.example", "", refused},
			{"evil.example:8124", "http://evil.example:8124", refused},
			{"localhost.evil.example", "http://localhost:3000", refused},
			{"localhost", "https://evil.example", refused},
			{"localhost", "http://localhost.evil.example", refused},
			{"localhost", "null", refused},
		} {
			head := "GET " + o.path + " HTTP/1.1\r\nHost: " + row.host + "\r\n"
			if row.origin != "" {
				head += "Origin: " + row.origin + "\r\n"
			}
			if served == http.StatusSwitchingProtocols {
				head += "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
					"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
			}
			v := h.asks(head+"\r\n", nil)
			if got := v.status(); got != row.want {
				t.Errorf("to %q from %q: HTTP %d, want %d", row.host, row.origin, got, row.want)
			}
			_ = v.conn.Close()
		}
	})
}
