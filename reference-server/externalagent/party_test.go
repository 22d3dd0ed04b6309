package externalagent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

type object = map[string]any

// bench is a server on a socket.
type bench struct {
	t    testing.TB
	s    *Server
	url  string
	http *http.Client
	logs string
}

func start(t testing.TB, o Options) *bench {
	t.Helper()
	if o.Logs == "" {
		o.Logs = t.TempDir()
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	b := &bench{t: t, s: s, url: srv.URL, http: srv.Client(), logs: o.Logs}
	t.Cleanup(func() {
		b.close()
		srv.Close()
	})
	return b
}

func (b *bench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.s.Close(ctx); err != nil {
		b.t.Error(err)
	}
}

// wire is a connection to a relay.
type wire interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, data []byte) error
}

type socket struct{ *websocket.Conn }

func (s socket) Read(ctx context.Context) ([]byte, error) {
	_, data, err := s.Conn.Read(ctx)
	return data, err
}

func (s socket) Write(ctx context.Context, data []byte) error {
	return s.Conn.Write(ctx, websocket.MessageText, data)
}

// party is a party of a relay session.
type party struct {
	t testing.TB
	wire
	n int
}

// join joins a relay session over a socket.
func (b *bench) join(session, role string) *party {
	b.t.Helper()
	ws, _, err := websocket.Dial(b.t.Context(), b.url+proto.Path, &websocket.DialOptions{HTTPClient: b.http})
	if err != nil {
		b.t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	b.t.Cleanup(func() { _ = ws.CloseNow() })
	p := &party{t: b.t, wire: socket{ws}}
	p.expect(proto.RelayJoined, p.send(proto.RelayJoin, object{"role": role, "sessionId": session}))
	return p
}

func (p *party) send(kind string, payload object) string {
	p.t.Helper()
	p.n++
	id := fmt.Sprintf("req-%d", p.n)
	data, err := json.Marshal(object{"v": proto.Version, "type": kind, "id": id, "payload": payload})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.Write(p.t.Context(), data); err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p *party) expect(kind, id string) object {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	data, err := p.Read(ctx)
	if err != nil {
		p.t.Fatalf("want %s to %q: %v", kind, id, err)
	}
	var msg object
	if err := json.Unmarshal(data, &msg); err != nil {
		p.t.Fatal(err)
	}
	if replyTo, _ := msg["replyTo"].(string); msg["type"] != kind || replyTo != id {
		p.t.Fatalf("want %s to %q, got %s", kind, id, data)
	}
	return msg["payload"].(object)
}

func (p *party) start() string {
	p.t.Helper()
	id := p.expect(proto.SessionStarted, p.send(proto.SessionStart, object{"studyId": "a",
		"participantId": "b"}))["sessionId"]
	p.expect(proto.StateUpdated, "")
	return id.(string)
}

func (p *party) do(tool string, params object) object {
	p.t.Helper()
	p.expect(proto.ToolResult, p.send(proto.ToolCall, object{"toolName": tool, "params": params, "reason": "test"}))
	return p.expect(proto.StateUpdated, "")
}

func (p *party) snapshot() object {
	p.t.Helper()
	return p.expect(proto.SnapshotState, p.send(proto.SnapshotGet, object{}))
}

// book takes the first item of everything.
func (p *party) book() object {
	p.t.Helper()
	state := p.snapshot()
	for state["uiSpec"] != nil {
		spec := state["uiSpec"].(object)
		if items := spec["items"].([]any); len(items) > 0 {
			params := object{"itemId": items[0].(object)["id"]}
			if spec["stage"] == proto.TicketStage {
				params["quantity"] = 1
				p.do(proto.SetQuantity, params)
			} else {
				p.do(proto.Select, params)
			}
		}
		state = p.do(proto.Next, object{})
	}
	return state
}

// logged returns the types in a log, in order.
func logged(t testing.TB, dir, logFile string) (types []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(logFile, host.DefaultLogName)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e object
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, e["type"].(string))
	}
	return types
}
