package odd_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	vocab "parley/protocol/sessionchat"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/reference-server/sessionruntime"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// numbered gives a message an id of its own in its body.
func numbered(msg sessionchat.Message, n int) sessionchat.Message {
	body := map[string]any{"number": n}
	for name, v := range msg.Body() {
		body[name] = v
	}
	return msg.With("message", body)
}

func copyOf(msg sessionchat.Message) []sessionchat.Message { return []sessionchat.Message{msg, msg} }

var doubledChats = []struct {
	name   string
	kind   string
	sends  func(msg sessionchat.Message) []sessionchat.Message // instead of each message of the kind
	breaks []string
	told   bool
	night  bool
}{
	{name: "each answer", kind: vocab.AssistantMessage, sends: copyOf, breaks: []string{"SC-020"}},
	{name: "each answer, with another timestamp", kind: vocab.AssistantMessage, breaks: []string{"SC-020"},
		sends: func(msg sessionchat.Message) []sessionchat.Message {
			return []sessionchat.Message{msg, msg.With("timestamp", "2026-01-01T00:00:00.001Z")}
		}},
	{name: "two answers of the same text", night: true, kind: vocab.AssistantMessage,
		sends: func(msg sessionchat.Message) []sessionchat.Message {
			return []sessionchat.Message{numbered(msg, 1), numbered(msg, 2)}
		}},
	{name: "each system message", kind: vocab.SystemMessage, sends: copyOf, told: true},
	{name: "each pong", night: true, kind: vocab.PongMessage, sends: copyOf, told: true},
	{name: "each error", night: true, kind: vocab.ErrorMessage, sends: copyOf, told: true},
}

// TestMessagesTwice checks the verdicts on duplicate messages: a duplicate of the model's words breaks SC-020, since a
// person would read them twice; duplicates that the document leaves open are noted; two messages of the same text are
// correct.
func TestMessagesTwice(t *testing.T) {
	t.Parallel()
	for _, row := range doubledChats {
		t.Run(row.name, func(t *testing.T) {
			if row.night {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			brain := llm.New()
			handler, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true,
				Backend: brain,
				Outbound: func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
					all := []sessionchat.Message{msg}
					if msg.Type() == row.kind {
						all = row.sends(msg)
					}
					for _, m := range all {
						send(to.ID, m)
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			s := httptest.NewServer(handler)
			defer func() {
				if err := handler.Close(context.Background()); err != nil {
					t.Error(err)
				}
				s.CloseClientConnections()
				s.Close()
			}()
			p, err := protocols.Kinds().ForURL(vocab.Protocol, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			launch.RaiseLimits(&p.Limits)
			res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true})
			if got := suitetest.Broken(res); !slices.Equal(got, row.breaks) {
				t.Errorf("broken %v, want %v\n%s", got, row.breaks, suitetest.Console(t, res))
			}
			text := suitetest.Console(t, res)
			if told := strings.Contains(text, " events came a second time, of type "+row.kind+","); told != row.told {
				t.Errorf("it is told: %v, want %v\n%s", told, row.told, text)
			}
		})
	}
}

// sharedBus is a server of session-runtime whose connections are all on one bus: each gets what any session publishes.
func sharedBus(t *testing.T) *httptest.Server {
	t.Helper()
	h, err := sessionruntime.NewServer(sessionruntime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inner := httptest.NewServer(h)
	bus := &connections{open: map[*websocket.Conn]bool{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		up, _, err := websocket.Dial(ctx, inner.URL+r.URL.Path, nil)
		if err != nil {
			return
		}
		defer func() { _ = up.CloseNow() }()
		bus.add(c)
		defer bus.remove(c)
		var published sync.WaitGroup
		published.Go(func() {
			for {
				_, data, err := up.Read(ctx)
				if err != nil {
					return
				}
				bus.publish(data)
			}
		})
		for {
			_, data, err := c.Read(ctx)
			if err != nil || up.Write(ctx, websocket.MessageText, data) != nil {
				break
			}
		}
		cancel()
		published.Wait()
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		_ = h.Close(context.Background())
		inner.Close()
	})
	return s
}

type connections struct {
	mu   sync.Mutex
	open map[*websocket.Conn]bool
}

func (b *connections) add(c *websocket.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
}

func (b *connections) remove(c *websocket.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
}

// publish writes to all. A cancelled write closes its connection, so the end of one connection must not cancel writes
// to the others.
func (b *connections) publish(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.open {
		_ = c.Write(context.Background(), websocket.MessageText, data)
	}
}

// TestSharedBus checks that a bus may be shared by connections, and that the user is told.
func TestSharedBus(t *testing.T) {
	suitetest.AwaitTurn(t)
	p, err := protocols.Kinds().ForURL("session-runtime", sharedBus(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers = []string{target.WS}
	launch.RaiseLimits(&p.Limits)
	res := suitetest.Judge(t, suitetest.OneIn(4, runner.Options{Profile: p, AllowIncomplete: true}))
	if got := suitetest.Broken(res); len(got) > 0 || res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d, broken %v\n%s", res.Exit, got, suitetest.Console(t, res))
	}
	text := suitetest.Console(t, res)
	if strings.Count(text, " messages of sessions that other connections had set up ") != 1 {
		t.Errorf("it is not told once:\n%s", text)
	}
}
