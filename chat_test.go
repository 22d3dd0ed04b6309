package parley_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/model"
	"parley/reference-server/bundled"
	"parley/reference-server/sessionchat"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// badChat is a target that is no session-chat server, in one way or another.
type badChat struct {
	name   string
	talk   func(ctx context.Context, c *websocket.Conn) // what it does with a connection, until it returns
	may    []string                                     // binding clauses that such a target may pass all the same
	reason string
	why    string // what is said of one that is not judged, as nothing of the protocol ever comes; "": it is judged
}

// each says something to every message of the client.
func each(say func(got []byte) []byte) func(context.Context, *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil || c.Write(ctx, websocket.MessageText, say(got)) != nil {
				return
			}
		}
	}
}

func always(text string) func(context.Context, *websocket.Conn) {
	return each(func([]byte) []byte { return []byte(text) })
}

var badChats = []badChat{
	{name: "silent", why: `opens, and nothing came`, reason: "accepts and never says a word", talk: func(ctx context.Context, c *websocket.Conn) {
		for {
			if _, _, err := c.Read(ctx); err != nil {
				return
			}
		}
	}},
	{name: "never reads", why: `opens, and nothing came`, reason: "hangs behind the handshake", talk: func(ctx context.Context, c *websocket.Conn) { <-ctx.Done() }},
	{name: "closes at once", why: `ends without a word`, reason: "ends each connection in order", talk: func(_ context.Context, c *websocket.Conn) {
		_ = c.Close(websocket.StatusNormalClosure, "")
	}},
	{name: "resets", why: `ends without a word`, reason: "drops each connection", talk: func(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() }},
	{name: "crashes at the first message", why: `ends without a word`, reason: "drops the connection that speaks", talk: func(ctx context.Context, c *websocket.Conn) {
		_, _, _ = c.Read(ctx)
		_ = c.CloseNow()
	}},
	{name: "echo", why: `it says `, reason: "sends back what it gets", talk: each(func(got []byte) []byte { return got })},
	{name: "no JSON", why: `it says "hello?"`, reason: "speaks another language", talk: always("hello?")},
	{name: "arrays", reason: "speaks in lists", talk: always(`[{"message_type":"result"}]`)},
	{name: "errors", reason: "refuses everything", talk: always(`{"message_type":"error","agent_id":null,"session_id":null,"message":{"code":"no","text":"no"},"timestamp":"t"}`)},
	{name: "pongs", reason: "takes everything for a ping", talk: always(`{"message_type":"pong","agent_id":null,"session_id":null,"message":{},"timestamp":"t"}`)},
	{name: "another agent_id", reason: "answers as somebody else", talk: always(`{"message_type":"result","agent_id":"xxx","session_id":"yyy","message":{"subtype":"success"},"timestamp":"t"}`)},
	{name: "no agent_id", may: []string{"SC-039", "SC-040", "SC-043", "SC-044"}, reason: "answers nobody", talk: always(`{"message_type":"result","session_id":"yyy","message":{"subtype":"success"},"timestamp":"t"}`)},
	{name: "type in place of message_type", may: []string{"SC-038", "SC-039", "SC-042", "SC-043", "SC-044", "SC-056"}, reason: "calls the type by the client's name", talk: each(func(got []byte) []byte {
		return bytes.Replace(got, []byte(`"type":"chat"`), []byte(`"type":"result","session_id":"s","message":{},"timestamp":"t"`), 1)
	})},
	{name: "binary", why: `it says `, reason: "answers in binary frames", talk: func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil || c.Write(ctx, websocket.MessageBinary, got) != nil {
				return
			}
		}
	}},
	{name: "a flood", reason: "never stops talking", talk: func(ctx context.Context, c *websocket.Conn) {
		for i := 0; ctx.Err() == nil; i++ {
			if c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"message_type":"noise","agent_id":null,"n":%d}`, i)) != nil {
				return
			}
		}
	}},
	{name: "a huge message", why: `limits.max-event`, reason: "answers with more than anybody reads", talk: each(func([]byte) []byte {
		return []byte(`{"message_type":"assistant","text":"` + strings.Repeat("x", 9<<20) + `"}`)
	})},
}

// TestBadChatTargets holds the verdict against targets that answer nothing, or nothing right: each is non-conformant,
// and no clause passes but those that such a target keeps.
func TestBadChatTargets(t *testing.T) {
	t.Parallel()
	for _, b := range badChats {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p, err := target.ForURLOf("session-chat", b.start(t))
			if err != nil {
				t.Fatal(err)
			}
			judgesOrNot(t, p, b.why, b.may, b.reason)
		})
	}
}

func (b badChat) start(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		b.talk(ctx, c)
	}))
	t.Cleanup(func() { cancel(); s.CloseClientConnections(); s.Close() })
	return s.URL
}

// TestExplore: random sequences find nothing in the bundled server.
func TestExplore(t *testing.T) {
	o := bundledOptions("session-chat", "")
	o.Explore, o.Seed, o.Tags, o.AllowIncomplete = 100, 1, "@explored", true
	res, err := runner.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != verdict.ExitConformant {
		t.Errorf("verdict %s\n%s", res.Verdict, console(t, res))
	}
	explored := 0
	for _, sc := range res.Runs[0].Scenarios {
		if strings.Contains(sc.ID, "explored") && sc.Outcome == verdict.Passed {
			explored++
		}
	}
	if explored != 100 {
		t.Errorf("%d sequences passed, want 100", explored)
	}
}

// TestExploreFinds: a fault that needs two sessions is found, and told by the shortest sequence that shows it.
func TestExploreFinds(t *testing.T) {
	b := bundled.For("session-chat", "")
	p := bundled.MutantProfile("session-chat", "")
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Launcher: &bundled.ChatLauncher{Brain: b.Brain, Fault: "leaks-when-switching"}, Brain: b.Brain,
		Explore: 100, Seed: 1, Shrinking: 5 * time.Minute, Tags: "@explored", Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != verdict.ExitNonConformant {
		t.Fatalf("exit %d\n%s", res.Exit, console(t, res))
	}
	var told string
	for _, n := range res.Runs[0].Notes {
		if n.Kind == "explored" {
			told = n.Text
		}
	}
	_, scenario, found := strings.Cut(told, "Scenario: ")
	lines := strings.Split(strings.TrimSpace(scenario), "\n")[1:]
	if !found || len(lines) > 6 || !strings.Contains(scenario, "every session goes on as itself") {
		t.Errorf("want a scenario of few lines, got:\n%s", told)
	}
	for _, c := range res.Runs[0].Clauses {
		if c.ID == "SC-027" && c.Outcome != verdict.Failed {
			t.Errorf("SC-027 is %s", c.Outcome)
		}
	}
}

// TestTwice: a target keeps its sessions from one run to the next, and a run takes none of another's for its own.
func TestTwice(t *testing.T) {
	brain := model.New()
	handler, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true, Backend: brain})
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
	for run := range 2 {
		p, err := target.ForURLOf("session-chat", s.URL)
		if err != nil {
			t.Fatal(err)
		}
		bundled.Unhurry(&p.Limits)
		res, err := runner.Run(context.Background(), runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true, Again: "parley run"})
		if err != nil {
			t.Fatal(err)
		}
		if res.Exit != verdict.ExitConformant {
			t.Fatalf("run %d: exit %d\n%s", run+1, res.Exit, console(t, res))
		}
	}
}
