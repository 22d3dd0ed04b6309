package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// relay puts a host behind a WebSocket on a loopback address.
type relay struct {
	*httptest.Server
	served sync.WaitGroup // connections
	mu     sync.Mutex
	host   *host
	opened int
	closed []websocket.StatusCode // by the agent, or because of an error
	// on sees every message before the host, with the connection for replies. It returns false to end the connection.
	on func(ctx context.Context, ws *websocket.Conn, msg Message) bool
}

func startRelay(t *testing.T, h *host) *relay {
	r := &relay{host: h}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		r.Close()
		r.served.Wait()
	})
	return r
}

func (r *relay) serve(w http.ResponseWriter, q *http.Request) {
	r.served.Add(1)
	defer r.served.Done()
	if q.URL.Path != proto.Path {
		http.NotFound(w, q)
		return
	}
	ws, err := websocket.Accept(w, q, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	r.mu.Lock()
	r.opened++
	r.mu.Unlock()
	for {
		_, data, err := ws.Read(q.Context())
		if err != nil {
			r.mu.Lock()
			r.closed = append(r.closed, websocket.CloseStatus(err))
			r.mu.Unlock()
			return
		}
		msg, err := decodeObject(data)
		if err != nil || !r.answer(q.Context(), ws, msg) {
			return
		}
	}
}

func (r *relay) answer(ctx context.Context, ws *websocket.Conn, msg Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on != nil && !r.on(ctx, ws, msg) {
		return false
	}
	for _, a := range r.host.handle(msg) {
		if ws.Write(ctx, websocket.MessageText, wire.Encode(a)) != nil {
			return false
		}
	}
	return true
}

func TestRunBooks(t *testing.T) {
	var log bytes.Buffer
	r := startRelay(t, &host{})
	o, err := Run(t.Context(), Options{URL: r.URL + proto.Path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.served.Wait()
	if err != nil || !o.Booked || !o.Ended || o.Calls != 13 {
		t.Fatalf("%+v, %v", o, err)
	}
	if diff := cmp.Diff(straight, r.host.calls); diff != "" {
		t.Error(diff)
	}
	if r.opened != 1 || len(r.closed) != 1 || r.closed[0] != websocket.StatusNormalClosure {
		t.Errorf("%d connections, closed with %v", r.opened, r.closed)
	}
	if lines := strings.Split(log.String(), "\n"); len(lines) < 50 || !strings.Contains(log.String(), "tool=select") {
		t.Errorf("log: %s", log.String())
	}
}

func TestRunTakesWebSocketURLs(t *testing.T) {
	r := startRelay(t, &host{})
	o, err := Run(t.Context(), Options{URL: strings.Replace(r.URL, "http", "ws", 1) + proto.Path})
	if err != nil || !o.Booked {
		t.Fatalf("%+v, %v", o, err)
	}
	for _, url := range []string{"", "relay", "ftp://relay/agent/ws", "ws://", "http://a b/", "://"} {
		if _, err := Run(t.Context(), Options{URL: url}); err == nil {
			t.Errorf("%q is taken for a URL", url)
		}
	}
}

// Connections that end in every possible way, and frames of every kind.
func TestRunGoesOn(t *testing.T) {
	n := 0
	r := startRelay(t, &host{})
	r.on = func(ctx context.Context, ws *websocket.Conn, msg Message) bool {
		n++
		for _, kind := range []websocket.MessageType{websocket.MessageBinary, websocket.MessageText} {
			for _, data := range []string{"", "[]", "{", "null",
				`{"v":"mvp-0.2","type":"x","payload":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`} {
				if ws.Write(ctx, kind, []byte(data)) != nil {
					return false
				}
			}
		}
		switch n {
		case 4:
			return false
		case 12:
			go ws.Close(websocket.StatusGoingAway, "restart") //nolint:errcheck
		case 20:
			_ = ws.Write(ctx, websocket.MessageText, bytes.Repeat([]byte("x"), 1<<20+1)) // beyond the limit
		}
		return true
	}
	o, err := Run(t.Context(), Options{URL: r.URL + proto.Path, Limits: Limits{Frame: 1 << 20}})
	if err != nil || !o.Booked || o.Connections != 4 || r.host.sessions != 1 {
		t.Fatalf("%+v, %v, %d sessions", o, err, r.host.sessions)
	}
}

// A stopped agent closes its connection properly.
func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	r := startRelay(t, &host{})
	r.on = func(_ context.Context, _ *websocket.Conn, msg Message) bool {
		if msg.Type() == proto.ToolCall {
			cancel(why)
		}
		return true
	}
	o, err := Run(ctx, Options{URL: r.URL + proto.Path})
	r.served.Wait()
	if !errors.Is(err, why) || o.Booked || o.Calls == 0 {
		t.Errorf("%+v, %v", o, err)
	}
	if len(r.closed) != 1 || r.closed[0] != websocket.StatusGoingAway {
		t.Errorf("closed with %v", r.closed)
	}
}

func TestRunGivesUp(t *testing.T) {
	r := startRelay(t, &host{})
	_, err := Run(t.Context(), Options{URL: r.URL + "/elsewhere", GiveUp: 50 * time.Millisecond})
	if !errors.Is(err, ErrNoConnection) || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}

// silent is a connection that never receives anything.
type silent struct {
	ended chan struct{}
	once  sync.Once
	write func(ctx context.Context) error
}

func (s *silent) Read(ctx context.Context) (websocket.MessageType, []byte, error) {
	select {
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	case <-s.ended:
		return 0, nil, errors.New("ended")
	}
}

func (s *silent) Write(ctx context.Context, _ websocket.MessageType, _ []byte) error {
	if s.write != nil {
		return s.write(ctx)
	}
	return nil
}

func (s *silent) Close(websocket.StatusCode, string) error { return s.CloseNow() }

func (s *silent) CloseNow() error { s.once.Do(func() { close(s.ended) }); return nil }

// The loop's timers: a missing relay.joined, hanging writes, hanging dials.
func TestRunKeepsTime(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		dial func(ctx context.Context) (Socket, error)
		want []time.Duration // between dials
	}{
		"no relay.joined": {func(context.Context) (Socket, error) { return &silent{ended: make(chan struct{})}, nil },
			[]time.Duration{5005 * time.Millisecond, 5010 * time.Millisecond}},
		"writes hang": {func(context.Context) (Socket, error) {
			return &silent{ended: make(chan struct{}), write: hang}, nil
		},
			[]time.Duration{10005 * time.Millisecond, 10010 * time.Millisecond}},
		"dials hang": {func(ctx context.Context) (Socket, error) {
			return nil, hang(ctx)
		}, []time.Duration{5005 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				ctx, cancel := context.WithTimeout(t.Context(), 21*time.Second)
				defer cancel()
				_, err := Run(ctx, Options{URL: "ws://relay.test", Dial: func(ctx context.Context, _ string) (Socket, error) {
					at = append(at, time.Now())
					return c.dial(ctx)
				}})
				if err == nil || len(at) <= len(c.want) {
					t.Fatalf("%d dials, %v", len(at), err)
				}
				for i, want := range c.want {
					if got := at[i+1].Sub(at[i]); got != want {
						t.Errorf("dial %d came after %v, not %v", i+2, got, want)
					}
				}
			})
		})
	}
}

// The agent also leaves a relay that never answers a close, and one that floods it.
func TestRunLeavesARelayThatDoesNotListen(t *testing.T) {
	h := &host{}
	r := startRelay(t, h)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	r.on = func(ctx context.Context, ws *websocket.Conn, msg Message) bool {
		if msg.Type() != proto.ToolCall {
			return true
		}
		cancel()
		for ws.Write(ctx, websocket.MessageText, []byte(`{}`)) == nil { // and never reads again
			select {
			case <-release:
				return false
			default:
			}
		}
		return false
	}
	if _, err := Run(ctx, Options{URL: r.URL + proto.Path,
		Limits: Limits{Close: 50 * time.Millisecond}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
