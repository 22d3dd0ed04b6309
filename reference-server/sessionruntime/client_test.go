package sessionruntime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionruntime"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

type object = map[string]any

// party is the client of a bus.
type party struct {
	t    testing.TB
	send func(text string) error
	read func() (string, error)
	n    int
}

// bench is a server on a loopback socket.
type bench struct {
	t      testing.TB
	server *Server
	url    string
	http   *http.Client
}

func startServer(t testing.TB, o Options) *bench {
	t.Helper()
	if o.Limits.Close == 0 {
		o.Limits.Close = 50 * time.Millisecond // for clients that are not reading when the server closes
	}
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	transport := &http.Transport{}
	b := &bench{t: t, server: s, url: web.URL, http: &http.Client{Transport: transport}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		web.Close()
		transport.CloseIdleConnections()
	})
	return b
}

func (b *bench) dial() (*party, *websocket.Conn) {
	b.t.Helper()
	ws, _, err := websocket.Dial(b.t.Context(), b.url+proto.Path, &websocket.DialOptions{HTTPClient: b.http})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(64 << 20)
	return &party{
		t:    b.t,
		send: func(text string) error { return ws.Write(b.t.Context(), websocket.MessageText, []byte(text)) },
		read: func() (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, data, err := ws.Read(ctx)
			return string(data), err
		},
	}, ws
}

// pipes starts a bus on stdio. done receives the result of ServeStdio.
func pipes(t testing.TB, ctx context.Context, o Options) (p *party, in *io.PipeWriter, done <-chan error) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- ServeStdio(ctx, inR, outW, o)
		_ = outW.Close()
	}()
	lines := bufio.NewReaderSize(outR, 4<<20)
	return &party{
		t:    t,
		send: func(text string) error { _, err := io.WriteString(inW, text+"\n"); return err },
		read: func() (string, error) {
			line, err := lines.ReadString('\n')
			return strings.TrimSuffix(line, "\n"), err
		},
	}, inW, ended
}

// overBoth runs a test over a WebSocket, and over stdio.
func overBoth(t *testing.T, o Options, f func(t *testing.T, p *party)) {
	t.Run("ws", func(t *testing.T) {
		p, _ := startServer(t, o).dial()
		p.t = t
		f(t, p)
	})
	t.Run("stdio", func(t *testing.T) {
		p, in, done := pipes(t, context.Background(), o)
		f(t, p)
		_ = in.Close()
		if rest, err := p.read(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the end: %s, %v", rest, err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func (p *party) sendRaw(text string) {
	p.t.Helper()
	if err := p.send(text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *party) sendFrame(frame object) {
	p.t.Helper()
	data, err := json.Marshal(frame)
	if err != nil {
		p.t.Fatal(err)
	}
	p.sendRaw(string(data))
}

func (p *party) next() object {
	p.t.Helper()
	text, err := p.read()
	if err != nil {
		p.t.Fatal(err)
	}
	var frame object
	if err := json.Unmarshal([]byte(text), &frame); err != nil {
		p.t.Fatalf("%.300s: %.300v", text, err)
	}
	return frame
}

// setUp sets up a session with agents a and b, where a is active.
func (p *party) setUp(session string, limits object) {
	p.t.Helper()
	p.sendFrame(object{"parley": "setup", "session_id": session, "agents": []string{"a", "b"}, "active_agent_id": "a",
		"limits": limits})
	if got := p.next(); got["parley"] != "ready" || got["session_id"] != session || len(got) != 2 {
		p.t.Fatalf("set-up: %v", got)
	}
}

func (p *party) message(session, event, subtype, sender string, payload any, metadata object) {
	p.t.Helper()
	p.n++
	p.sendFrame(object{
		"id": fmt.Sprint(sender, p.n), "session_id": session, "event": event, "subtype": subtype, "sender": sender,
		"target":  "SYSTEM",
		"payload": payload, "metadata": metadata, "timestamp": "2026-02-13T10:22:17Z",
	})
}

func (p *party) input(session, turn string) {
	p.t.Helper()
	p.message(session, "USER_INPUT", "", "frontend", "hello", object{"turn_id": turn})
}

// wantMessages requires one frame of each kind and nothing else before a fence.
func (p *party) wantMessages(kinds ...string) (frames []object) {
	p.t.Helper()
	p.n++
	id := fmt.Sprint("fence-", p.n)
	p.sendFrame(object{"parley": "fence", "id": id})
	var got []string
	for {
		frame := p.next()
		if frame["parley"] == "fenced" && frame["id"] == id {
			break
		}
		frames = append(frames, frame)
		got = append(got, kindOf(frame))
	}
	if fmt.Sprint(got) != fmt.Sprint(kinds) {
		p.t.Fatalf("got %v, want %v", got, kinds)
	}
	return frames
}

func kindOf(frame object) string {
	if s, _ := frame["subtype"].(string); s != "" {
		return s
	}
	if s, is := frame["event"].(string); is {
		return s
	}
	return fmt.Sprint(frame["parley"])
}
