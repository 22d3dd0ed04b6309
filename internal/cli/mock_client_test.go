package cli

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/protocol/messages"
	"parley/simulator/mock"
	"parley/simulator/replay"
	"parley/target"
	"parley/transport/recording"
)

// hosted is what a host of external-agent did on a relay, recorded at its end: it was told to begin, and asked then.
//
//go:embed testdata/host.jsonl
var hosted string

// agent is one of external-agent on a relay.
type agent struct {
	*testing.T
	c *websocket.Conn
}

// enters lets an agent join.
func enters(t *testing.T, url string, n int) agent {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url+"/agent/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	a := agent{t, c}
	a.asks(fmt.Sprintf("join-%d1a2b3c4d", n), "relay.join", `{"role":"agent","sessionId":"s-1"}`, "relay.joined")
	return a
}

// asks says something, and checks what it is answered by.
func (a agent) asks(id, kind, payload, want string) {
	a.Helper()
	a.says(id, kind, payload)
	if got := a.answer(id); got != want {
		a.Fatalf("%s is answered by %s, want %s", kind, got, want)
	}
}

// answer returns the type of what answers a request.
func (a agent) answer(id string) string {
	a.Helper()
	for {
		_, text, err := a.c.Read(a.Context())
		if err != nil {
			a.Fatal(err)
		}
		var m struct{ Type, ReplyTo string }
		if err := json.Unmarshal(text, &m); err != nil {
			a.Fatal(err)
		}
		if m.ReplyTo == id {
			return m.Type
		}
	}
}

func (a agent) says(id, kind, payload string) {
	a.Helper()
	if id != "" {
		id = fmt.Sprintf(`"id":%q,`, id)
	}
	text := fmt.Sprintf(`{"v":"mvp-0.2","type":%q,%s"payload":%s}`, kind, id, payload)
	if err := a.c.Write(a.Context(), websocket.MessageText, []byte(text)); err != nil {
		a.Fatal(err)
	}
}

// TestMockCallsPython checks that a recorded host acts on a relay written in Python for two agents that interleave:
// they ask in another order than was recorded, and more often.
func TestMockCallsPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 is missing: make tools says how to install it")
	}
	p, err := suite.Kinds().Load("../../examples/profiles/python-relay.yaml")
	if err != nil {
		t.Fatal(err)
	}
	running, err := target.NewLauncher(p).Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Stop(context.WithoutCancel(t.Context())) }()
	in, err := recording.NewReader(strings.NewReader(hosted))
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		mock.ClientResult
		err error
	}
	var unknown []string
	ended := make(chan outcome, 1)
	go func() {
		o := mock.ClientOptions{To: replay.Dial{URL: running.BaseURL()}, Messages: messages.For("external-agent"),
			Within: time.Minute, Unknown: func(s string) { unknown = append(unknown, s) }}
		r, err := mock.Call(t.Context(), o, mock.Recording{Name: "host.jsonl", In: in})
		ended <- outcome{r, err}
	}()
	a, b := enters(t, running.BaseURL(), 1), enters(t, running.BaseURL(), 2)
	for n := 0; ; n++ { // until the host has joined
		id := fmt.Sprintf("b-%d1234abcd56", n)
		if b.says(id, "snapshot.get", `{}`); b.answer(id) == "snapshot.state" {
			break
		}
	}
	a.asks("a-9876fedc54", "session.start", `{"studyId":"pilot"}`, "session.started")
	a.asks("a-5555fedc54", "snapshot.get", `{}`, "snapshot.state")
	a.says("", "session.begin", `{}`)
	b.asks("b-7777fedc54", "snapshot.get", `{}`, "snapshot.state")
	b.says("", "agent.message", `{"text":"That is all."}`)
	got := <-ended
	if got.err != nil || got.Sent != 5 || got.Again != 2 || len(got.Undone) > 0 || got.Unknown != len(unknown) {
		t.Errorf("%+v, %q", got, unknown)
	}
}
