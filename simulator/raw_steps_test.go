package simulator_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// heard is placed in front of targets, and keeps what clients send to them. It is a target.Launcher.
type heard struct {
	target.Launcher

	mu   sync.Mutex
	said []string
}

// Launch implements target.Launcher.
func (h *heard) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	run, err := h.Launcher.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(run.BaseURL())
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			h.socket(w, r, to.JoinPath(r.URL.Path).String())
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		h.say("%s %s %q", r.Method, r.URL.Path, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	return &behind{run, front}, nil
}

func (h *heard) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

// socket passes on the messages of a WebSocket.
func (h *heard) socket(w http.ResponseWriter, r *http.Request, to string) {
	up, _, err := websocket.Dial(r.Context(), to, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = up.CloseNow() }()
	down, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = down.CloseNow() }()
	down.SetReadLimit(-1)
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	pump := func(from, to *websocket.Conn, note func(websocket.MessageType, []byte)) {
		defer cancel()
		for {
			kind, body, err := from.Read(ctx)
			if err != nil {
				_ = to.Close(max(websocket.CloseStatus(err), websocket.StatusNormalClosure), "")
				return
			}
			note(kind, body)
			if to.Write(ctx, kind, body) != nil {
				return
			}
		}
	}
	group.Go(func() { pump(up, down, func(websocket.MessageType, []byte) {}) })
	pump(down, up, func(kind websocket.MessageType, body []byte) { h.say("%v %q", kind, body) })
}

// behind is a target that is reached through its front.
type behind struct {
	target.Running
	front *httptest.Server
}

// BaseURL implements target.Running.
func (b *behind) BaseURL() string { return b.front.URL }

// Stop implements target.Running.
func (b *behind) Stop(ctx context.Context) error {
	err := b.Running.Stop(ctx)
	b.front.CloseClientConnections()
	b.front.Close()
	return err
}

// bodies are messages that a feature file could corrupt.
var bodies = []string{`{"type":"ping", "by":"hand"}`, "", "no JSON", " indented\n\ttab\n  \n\nend ",
	"\"\"\"\nquotes \\\"\\\"\\\"", "cr\r\nlf\n", "zero\x00 bell\a", "汉字 \u202e", "| a | b \\n |",
	"# comment", "@tag", "<name>", strings.Repeat("x", 100_000)}

// TestRawRoundTrip: a saved scenario sends the bytes that were sent by hand.
func TestRawRoundTrip(t *testing.T) {
	var want []string
	for _, body := range bodies {
		want = append(want, fmt.Sprintf("%q", body))
	}
	for _, row := range []struct {
		protocol, driver string
		connects, before string
	}{
		{"session-chat", "ws", "connects", ""},
		{"agent-select", "sse", "is connected", "POST /message "},
	} {
		t.Run(row.protocol, func(t *testing.T) {
			b := bundled.All.For(protocols.Kinds(), row.protocol, "")
			launcher := &heard{Launcher: b.Launcher}
			o := runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: launcher, Brain: b.Brain,
				Drivers: []string{row.driver}}
			s, err := simulator.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i, body := range bodies {
				byHand(t, s, fmt.Sprintf("C%d", i), row.connects, row.before+body)
			}
			text := s.Scenario("raw")
			s.Close()
			if got := launcher.with(want); !slices.Equal(got, want) {
				t.Errorf("by hand it says  %.999s\nwant  %.999s", got, want)
			}

			again := &heard{Launcher: b.Launcher}
			o.Launcher, o.Own = again, []runner.OwnFeature{{Path: "raw.feature", Text: []byte(text)}}
			if _, err := runner.Run(t.Context(), o); err != nil {
				t.Fatalf("%v\n%.3000s", err, text)
			}
			if got := again.with(want); !slices.Equal(got, want) {
				t.Errorf("again it says  %.999s\nwant  %.999s\n%.3000s", got, want, text)
			}
		})
	}
}

// byHand connects a party, sends a message and ends the connection.
func byHand(t *testing.T, s *simulator.Session, party, connects, message string) {
	t.Helper()
	got, err := s.Party("client "+party).Do(t.Context(), connects)
	if err != nil || got.Err != nil {
		t.Fatal(err, got.Err)
	}
	mark, err := s.Send(t.Context(), party, []byte(message))
	if err != nil {
		t.Fatalf("%q: %v", message, err)
	}
	how := driver.Graceful        // a reset may discard what a socket has not delivered
	if s.Driver() == target.SSE { // the end of the connection may discard an unanswered request
		how = driver.Reset
		if _, err := s.Transcript().Await(t.Context(), mark,
			func(r *transcript.Record) bool { return r.Reply == mark }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Hang(t.Context(), party, how); err != nil {
		t.Fatal(err)
	}
}

// with returns those of the wanted bodies that were sent, in order.
func (h *heard) with(want []string) (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, said := range h.said {
		for _, one := range want {
			if said == "MessageText "+one || said == "POST /message "+one {
				out = append(out, one)
			}
		}
	}
	return out
}

// TestRawSteps: what a raw step sends, and what it reports if it cannot.
func TestRawSteps(t *testing.T) {
	s := open(t, "session-chat")
	if got, err := s.Party("client A").Do(t.Context(), "connects"); err != nil || got.Err != nil {
		t.Fatal(err, got.Err)
	}
	for _, row := range []struct{ reason, step, below, want string }{
		{"bytes in a text frame", "A sends raw base64:", "e30\n=", ""},
		{"no base64", "client A sends raw base64:", "{}", "the text below is not base64"},
		{"a binary frame, which ends the connection", "client A sends raw binary:", "AP8=", ""},
		{"nobody", "client B sends raw:", "{}", "not tested: client B is not connected (connected: A)"},
	} {
		mark := s.Transcript().Len()
		got, err := s.Do(t.Context(), row.step, steps.StepArg{Text: &row.below})
		if err != nil {
			t.Fatalf("%s: %v", row.reason, err)
		}
		if row.want != "" {
			if got.Err == nil || !strings.Contains(got.Err.Error(), row.want) {
				t.Errorf("%s: %v, want %q", row.reason, got.Err, row.want)
			}
			continue
		}
		if got.Err != nil {
			t.Errorf("%s: %v", row.reason, got.Err)
		}
		sent := slices.DeleteFunc(s.Transcript().Page(mark, 10), // apart from what arrives meanwhile
			func(r transcript.Record) bool { return r.Dir != transcript.Sent })
		binary := strings.Contains(row.step, "binary")
		if len(sent) != 1 || len(sent[0].Bytes) != 2 || (sent[0].Type == "binary") != binary {
			t.Errorf("%s: sent %v", row.reason, sent)
		}
	}
	got, err := s.Do(t.Context(), "the connection of client A is reset", steps.StepArg{})
	if err != nil || got.Err != nil {
		t.Error(err, got.Err)
	}
	text := "{}"
	got, err = s.Do(t.Context(), "client A sends raw:", steps.StepArg{Text: &text})
	if err != nil || got.Err == nil || !strings.Contains(got.Err.Error(), "not tested: ") {
		t.Errorf("behind the end: %v, %v", err, got.Err)
	}
	if len(got.Outcomes) > 0 {
		t.Errorf("a raw step judges %v", got.Outcomes)
	}
}
