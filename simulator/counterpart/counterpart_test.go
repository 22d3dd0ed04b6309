package counterpart_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"parley/reference-server/bundled"
	"parley/simulator/counterpart"
	"parley/transport/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds each wait; only a failing test uses it up.
const within = 5 * time.Second

// options are the options of a party that the bundled target plays.
func options(t *testing.T, protocol, as string) counterpart.Options {
	t.Helper()
	target := bundled.All.Find(protocol)
	for _, p := range target.Parties() {
		if p.As == as {
			return counterpart.Options{Protocol: protocol, As: as, TypeOf: target.TypeOf,
				Start: func(ctx context.Context, mutant, url string) (counterpart.Peer, error) {
					base, stop, err := p.Start(ctx, mutant, url)
					return counterpart.Peer{URL: base, Stop: stop}, err
				}}
		}
	}
	t.Fatalf("%s has no party %s", protocol, as)
	return counterpart.Options{}
}

func open(t *testing.T, o counterpart.Options) *counterpart.Play {
	t.Helper()
	p, err := counterpart.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// client is a WebSocket client as a user would write it.
type client struct {
	*testing.T
	c   *websocket.Conn
	ctx context.Context
}

func dial(t *testing.T, p *counterpart.Play, path string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	c, _, err := websocket.Dial(ctx, p.URL()+path, nil) //nolint:bodyclose // it has none
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return &client{t, c, ctx}
}

// readUntilType reads messages up to one of a type.
func (c *client) readUntilType(typ string) map[string]any {
	c.Helper()
	var other []byte
	for {
		_, b, err := c.c.Read(c.ctx)
		if err != nil {
			c.Fatalf("no %s: %v, and not %s", typ, err, other)
		}
		var m map[string]any
		if json.Unmarshal(b, &m) == nil && m["type"] == typ {
			return m
		}
		other = b
	}
}

func (c *client) sendMessage(text string) {
	c.Helper()
	if err := c.c.Write(c.ctx, websocket.MessageText, []byte(text)); err != nil {
		c.Fatal(err)
	}
}

// agentBefore returns the agent of the agent_switched before a message of a type; "" if there is none.
func (c *client) agentBefore(typ string) (agent string) {
	c.Helper()
	for {
		_, b, err := c.c.Read(c.ctx)
		if err != nil {
			c.Fatal(err)
		}
		var m struct {
			Type string
			Data struct {
				CurrentAgentID string `json:"currentAgentId"`
			}
		}
		if json.Unmarshal(b, &m) == nil && m.Type == typ {
			return agent
		}
		if m.Type == "agent_switched" {
			agent = m.Data.CurrentAgentID
		}
	}
}

// beginSession asks for a session and returns its id.
func (c *client) beginSession() string {
	c.Helper()
	c.sendMessage(`{"type":"session_create","requestId":"r1"}`)
	data, _ := c.readUntilType("session_created")["data"].(map[string]any)
	id, _ := data["sessionId"].(string)
	if id == "" {
		c.Fatalf("no session: %v", data)
	}
	return id
}

const socket = "/agents/ws"

// held waits until the given number of messages are held.
func held(t *testing.T, p *counterpart.Play, n int) []counterpart.Held {
	t.Helper()
	timeout := time.After(within)
	for {
		changed := p.Changed()
		if all := p.Held(); len(all) == n {
			return all
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("held: %v, want %d", p.Held(), n)
		}
	}
}

// TestAuto checks that the bundled target answers, and that all messages are in the transcript with their types.
func TestAuto(t *testing.T) {
	p := open(t, options(t, "agent-select", "server"))
	c := dial(t, p, socket)
	c.readUntilType("agent_list")
	session := c.beginSession()
	c.sendMessage(`{"type":"switch_agent","agentId":"debugger","sessionId":"` + session + `"}`)
	c.readUntilType("agent_switched")
	if got := p.Parties(); len(got) != 1 {
		t.Errorf("parties: %v", got)
	}
	for _, want := range []struct {
		dir   transcript.Dir
		label string
	}{{transcript.Received, "switch_agent"}, {transcript.Sent, "agent_switched"}} {
		if _, ok := find(p, want.dir, want.label); !ok {
			t.Errorf("%s %s is not in the transcript", want.dir, want.label)
		}
	}
}

func find(p *counterpart.Play, dir transcript.Dir, label string) (transcript.Record, bool) {
	for _, r := range p.Transcript().All() {
		if r.Dir == dir && strings.Contains(r.Label, label) {
			return r, true
		}
	}
	return transcript.Record{}, false
}

// TestAsk checks each decision on a held message.
func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		reason string
		decide counterpart.Decision
		want   string // the reported agent; "": none
	}{
		{"sent as it is", counterpart.Decision{}, "debugger"},
		{"edited", counterpart.Decision{Instead: [][]byte{
			[]byte(`{"type":"agent_switched","data":{"currentAgentId":"plan"}}`)}}, "plan"},
		{"dropped", counterpart.Decision{Drop: true}, ""},
		{"delayed", counterpart.Decision{After: 10 * time.Millisecond}, "debugger"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			p := open(t, options(t, "agent-select", "server"))
			c := dial(t, p, socket)
			session := c.beginSession()
			if err := p.SetMind(t.Context(), counterpart.Ask, "agent_switched"); err != nil {
				t.Fatal(err)
			}
			c.sendMessage(`{"type":"switch_agent","agentId":"debugger","sessionId":"` + session + `"}`)
			h := held(t, p, 1)[0]
			if h.Type != "agent_switched" || !strings.Contains(string(h.Body), "debugger") || h.Party == "" {
				t.Errorf("held: %+v", h)
			}
			if err := p.Decide(h.N, tt.decide); err != nil {
				t.Fatal(err)
			}
			held(t, p, 0)
			var gone *counterpart.NotHeldError
			if err := p.Decide(h.N, counterpart.Decision{}); !errors.As(err, &gone) {
				t.Errorf("decided twice: %v", err)
			}
			c.sendMessage(`{"type":"switch_agent","agentId":"nobody","sessionId":"` + session + `"}`) // errors are not held
			got := c.agentBefore("error")
			if got != tt.want {
				t.Errorf("heard of %q, want %q", got, tt.want)
			}
		})
	}
}

// TestHoldEnds checks that no message is held forever: after its time it is sent on, and the transcript says so.
func TestHoldEnds(t *testing.T) {
	o := options(t, "agent-select", "server")
	o.Mind, o.HoldFor = counterpart.Ask, 50*time.Millisecond
	p := open(t, o)
	c := dial(t, p, socket)
	c.readUntilType("agent_list")
	if _, ok := find(p, transcript.Noted, "nobody has decided on message agent_list within 50ms: it is sent on"); !ok {
		t.Errorf("no remark says so: %v", p.Transcript().All())
	}
	if err := p.SetMind(t.Context(), counterpart.Auto); err != nil {
		t.Fatal(err)
	}
	c.beginSession()
}

// TestMutant checks that a mutant answers, and that the correct target can be restored.
func TestMutant(t *testing.T) {
	p := open(t, options(t, "agent-select", "server"))
	if err := p.SetMutant(t.Context(), "no-such-fault"); err == nil {
		t.Error("there is a mutant of any name")
	}
	dial(t, p, socket).readUntilType("agent_list")
	id := bundled.All.Find("agent-select").Parties()[0].Mutants()[0].ID
	if err := p.SetMutant(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s.Mind != counterpart.Mutant || s.Mutant != id {
		t.Errorf("state: %+v", s)
	}
	dial(t, p, socket)
	if err := p.SetMind(t.Context(), counterpart.Auto); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s.Mind != counterpart.Auto || s.Mutant != "" {
		t.Errorf("state: %+v", s)
	}
	dial(t, p, socket).readUntilType("agent_list")
}

// TestReset checks that everything is reset: the mind and the connections.
func TestReset(t *testing.T) {
	p := open(t, options(t, "agent-select", "server"))
	c := dial(t, p, socket)
	c.readUntilType("agent_list")
	if err := p.SetMind(t.Context(), counterpart.Ask, "session_created"); err != nil {
		t.Fatal(err)
	}
	c.sendMessage(`{"type":"session_create","requestId":"r1"}`)
	held(t, p, 1)
	if err := p.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.c.Read(c.ctx); err == nil {
		t.Error("the connection is open")
	}
	if s := p.State(); len(p.Held()) > 0 || s.Mind != counterpart.Auto || len(s.Types) > 0 {
		t.Errorf("held: %v, state: %+v", p.Held(), s)
	}
	dial(t, p, socket).beginSession()
}

// TestEveryParty checks that the bundled targets play every party that they offer.
func TestEveryParty(t *testing.T) {
	relay := open(t, options(t, "external-agent", "host"))
	for _, target := range bundled.All {
		for _, party := range target.Parties() {
			t.Run(target.Protocol+" "+party.As, func(t *testing.T) {
				o := options(t, target.Protocol, party.As)
				if party.Client {
					o.Connect = relay.URL() + party.Path
				}
				p := open(t, o)
				if party.Client {
					await(t, p, transcript.Received)
					return
				}
				res, err := http.Get(p.URL() + "/no-such-path")
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode == http.StatusBadGateway {
					t.Errorf("nobody answers: %s", res.Status)
				}
			})
		}
	}
}

// await waits for a message of one direction.
func await(t *testing.T, p *counterpart.Play, dir transcript.Dir) transcript.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r, err := p.Transcript().Await(ctx, 0, func(r *transcript.Record) bool {
		return r.Dir == dir && r.Kind == transcript.Frame
	})
	if err != nil {
		t.Fatalf("%v: %v", err, p.Transcript().Excerpt(5, 5, 5, 200))
	}
	return r
}

// TestMistakes checks that options that do not fit are refused, and that the error names options that do.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		reason string
		change func(*counterpart.Options)
		want   string
	}{
		{"no such mind", func(o *counterpart.Options) { o.Mind = "brilliant" }, "auto, ask, script and mutant"},
		{"no script", func(o *counterpart.Options) { o.Mind = counterpart.Script }, "needs a script"},
		{"no mutant", func(o *counterpart.Options) { o.Mind = counterpart.Mutant }, "needs the name of a mutant"},
		{"nobody answers", func(o *counterpart.Options) { o.Start = nil }, "play it by a script"},
		{"a mutant of another mind", func(o *counterpart.Options) { o.Mutant, o.Mind = "x", counterpart.Ask },
			"mind mutant only"},
		{"both ends", func(o *counterpart.Options) { o.Listen, o.Connect = "127.0.0.1:0", "http://127.0.0.1:1" },
			"not both"},
		{"no address", func(o *counterpart.Options) { o.Listen = "nowhere" }, "nowhere"},
	} {
		o := options(t, "agent-select", "server")
		tt.change(&o)
		p, err := counterpart.Open(t.Context(), o)
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", tt.reason, err, tt.want)
		}
	}
}

// TestBetween: in front of a user's server, messages of both directions are held, edited, doubled and dropped.
func TestBetween(t *testing.T) {
	got := make(chan string, 10)
	up := httptest.NewServer(listens(got))
	defer up.Close()
	p := open(t, counterpart.Options{Protocol: "any", As: "server", Between: true, Mind: counterpart.Ask,
		Start: func(context.Context, string, string) (counterpart.Peer, error) {
			return counterpart.Peer{URL: up.URL}, nil
		}})
	c := dial(t, p, "/")
	decide := func(what string, d counterpart.Decision) {
		t.Helper()
		h := held(t, p, 1)[0]
		if h.What != what {
			t.Errorf("held %q, want %q", h.What, what)
		}
		if err := p.Decide(h.N, d); err != nil {
			t.Fatal(err)
		}
	}
	c.sendMessage("one")
	decide("message to the server", counterpart.Decision{Instead: [][]byte{[]byte("two"), []byte("two")}})
	decide("message", counterpart.Decision{Drop: true})
	decide("message", counterpart.Decision{Instead: [][]byte{[]byte("three")}})
	if _, text, err := c.c.Read(c.ctx); err != nil || string(text) != "three" || <-got != "two" || <-got != "two" {
		t.Errorf("heard %q, %v", text, err)
	}
	answered := make(chan error, 1)
	go func() {
		res, err := http.Post(p.URL()+"/message", "text/plain", strings.NewReader("four"))
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	decide("POST /message", counterpart.Decision{Instead: [][]byte{[]byte("longer than four")}})
	if err := <-answered; err != nil || <-got != "longer than four" {
		t.Errorf("%v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// listens reports the messages that it receives, and echoes them.
func listens(got chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			got <- string(body)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil {
				return
			}
			got <- string(text)
			if c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	}
}
