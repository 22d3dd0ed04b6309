package parley_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/model"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

type tell = func(connID string, ev agentselect.Event)

// odd is an agent-select server that does something of which no document speaks, or that breaks one clause and no other.
type odd struct {
	name   string
	make   func(o *agentselect.Options)
	tags   string
	quick  bool     // short limits: what is missing is part of it
	breaks []string // clauses, failed or warned
	says   string   // in the notes or the reasons of the scenarios
	reason string
}

var odds = []odd{
	{name: "a model that is retried", make: retries, tags: "@AS-111", quick: true,
		says:   "the turn of client A still runs: its model fails each time, and the target has asked it ",
		reason: "a turn that goes on makes its session busy"},
	{name: "a greeting between connected and the list", make: greetsInBetween, tags: "@connect",
		says:   "between connected and agent_list, an event that no document names: ",
		reason: "AS-105 speaks of the events of the protocol"},
	{name: "the list of a session comes late", make: listsLate(false), tags: "@AS-023 or @AS-024",
		says:   "a list that came with the session, and late: ",
		reason: "it belongs to the session and not to the switch behind it"},
	{name: "a list with each switch", make: listsLate(true), tags: "@AS-023 or @AS-024", breaks: []string{"AS-024"},
		reason: "the second switch brings another"},
	{name: "an unknown agent is refused twice", make: refusesTwice, tags: "@AS-058 or @AS-059",
		reason: "the second refusal of a fence is no other client's"},
}

// refusesTwice tells of an unknown agent twice.
func refusesTwice(o *agentselect.Options) {
	o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
		send(to.ID, ev)
		if ev.Type == vocab.ErrorEvent && ev.Data["errorCode"] == vocab.AgentNotFound {
			send(to.ID, ev)
		}
	}
}

// retries asks a model that fails again and again, and goes on with the turn meanwhile.
func retries(o *agentselect.Options) {
	brain := o.Brain
	o.Inbound = func(_ agentselect.Manager, _ agentselect.ConnInfo, msg agentselect.Message) []agentselect.Message {
		text, _ := msg["content"].(string)
		if strings.HasPrefix(text, "[[fail ") {
			ask := model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
			for range 3 {
				_ = brain.Answer(context.Background(), ask, func(model.Part) error { return nil })
			}
			nonce := strings.Fields(text)[1]
			msg["content"] = "[[hold " + nonce + "]]"
		}
		return []agentselect.Message{msg}
	}
}

func greetsInBetween(o *agentselect.Options) {
	o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
		if ev.Type == vocab.AgentListEvent {
			send(to.ID, agentselect.Event{Type: "todos", Data: agentselect.EventData{"todos": []any{}}})
		}
		send(to.ID, ev)
	}
}

// listsLate sends the list that belongs to a session behind the first switch of the session, or behind each.
func listsLate(each bool) func(o *agentselect.Options) {
	return func(o *agentselect.Options) {
		var mu sync.Mutex
		list, told := map[string]agentselect.Event{}, map[string]bool{}
		o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
			mu.Lock()
			defer mu.Unlock()
			send(to.ID, ev)
			switch {
			case ev.Type == vocab.AgentListEvent:
				list[to.ID] = ev
			case ev.Type == vocab.AgentSwitchedEvent && (each || !told[to.ID]):
				told[to.ID] = true
				send(to.ID, list[to.ID])
			}
		}
	}
}

// TestOddServers: what no document speaks of breaks no clause, and what breaks one clause is told of that one.
func TestOddServers(t *testing.T) {
	t.Parallel()
	for _, row := range odds {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			brain := model.New()
			p := bundled.For("agent-select", "").Profile
			p.Drivers = []string{"sse"}
			if row.quick {
				p.Limits.Event.Duration, p.Limits.Turn.Duration = 2*time.Second, 2*time.Second
			}
			l := &bundled.Launcher{Brain: brain, Make: func(o agentselect.Options) (bundled.Handler, error) {
				row.make(&o)
				return agentselect.New(o)
			}}
			res, err := runner.Run(context.Background(), runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: row.tags, Again: "parley run"})
			if err != nil {
				t.Fatal(err)
			}
			if got := broken(res); !slices.Equal(got, row.breaks) {
				t.Errorf("broken %v, want %v (%s)\n%s", got, row.breaks, row.reason, console(t, res))
			}
			said := false
			for _, sc := range res.Runs[0].Scenarios {
				said = said || strings.Contains(sc.Reason, row.says) || slices.ContainsFunc(sc.Notes, func(n string) bool { return strings.Contains(n, row.says) })
				if sc.Outcome == verdict.HarnessError {
					t.Errorf("%s: %s", sc.Name, sc.Reason)
				}
			}
			if !said {
				t.Errorf("nothing says %q\n%s", row.says, console(t, res))
			}
		})
	}
}

// resetsReused is a server whose connections are reset by the second request on them, before it is handled, as those of a server are whose
// idle connections have just run out.
func resetsReused(h http.Handler) *httptest.Server {
	type key struct{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(key{}).(*atomic.Int32).Add(1) == 1 {
			h.ServeHTTP(w, r)
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}))
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, key{}, new(atomic.Int32))
	}
	s.Start()
	return s
}

// TestResetOnReuse: that a connection is gone when it is used again is no verdict on the message.
func TestResetOnReuse(t *testing.T) {
	t.Parallel()
	brain := model.New()
	h, err := agentselect.New(agentselect.Options{Brain: brain})
	if err != nil {
		t.Fatal(err)
	}
	s := resetsReused(h)
	defer func() {
		s.CloseClientConnections()
		_ = h.Close(context.Background())
		s.Close()
	}()
	p, err := target.ForURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	bundled.Unhurry(&p.Limits)
	p.Tools.Confirm, p.Tools.Ask = bundled.For("agent-select", "").Profile.Tools.Confirm, bundled.For("agent-select", "").Profile.Tools.Ask
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if got := broken(res); len(got) > 0 {
		t.Errorf("broken %v\n%s", got, console(t, res))
	}
	repeated := 0
	for _, sc := range res.Runs[0].Scenarios {
		repeated += len(slices.DeleteFunc(slices.Clone(sc.Notes), func(n string) bool { return !strings.Contains(n, "repeated on a new one") }))
	}
	if repeated == 0 || res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d; %d scenarios tell of a repeated request\n%s", res.Exit, repeated, console(t, res))
	}
}

// TestStrays: a server that takes every message for the oldest connection's breaks AS-095, which is told once for the run. What the
// scenarios that ran beside each other miss for that is not tested.
func TestStrays(t *testing.T) {
	t.Parallel()
	brain := model.New()
	p := bundled.For("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = time.Second, 2*time.Second
	l := &bundled.Launcher{Brain: brain, Make: func(o agentselect.Options) (bundled.Handler, error) {
		h, err := agentselect.New(o)
		return &uncorrelated{Handler: h, careless: true}, err
	}}
	o := runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: "@AS-095 or @AS-047 or @AS-053 or @AS-060 or @AS-077", Again: "parley run"}
	res, err := runner.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range res.Runs[0].Scenarios {
		beside := !slices.Contains(sc.Tags, "@exclusive") && !slices.Contains(sc.Tags, "@preflight-3")
		for _, c := range sc.Clauses {
			if c.Outcome == verdict.Failed && beside && c.ID != "AS-095" {
				t.Errorf("%s: %s failed: %s", sc.Name, c.ID, c.Reason)
			}
		}
	}
	if got := broken(res); !slices.Contains(got, "AS-095") {
		t.Errorf("broken %v, want AS-095 among them\n%s", got, console(t, res))
	}
	if text := console(t, res); strings.Count(text, "arrived on the connection of another client") != 1 || !strings.Contains(text, "correlation: single") {
		t.Errorf("it is not told once, with the way out:\n%s", text)
	}
}
