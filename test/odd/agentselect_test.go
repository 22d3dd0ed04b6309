package odd_test

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

	"parley/features"
	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

type tell = func(connID string, ev agentselect.Event)

// odd is an agent-select server that does something no document covers, or that breaks one clause only.
type odd struct {
	name   string
	make   func(o *agentselect.Options)
	tags   string
	night  bool
	quick  bool     // short limits, because it omits something
	breaks []string // clauses that fail or are warned of
	says   string   // text in the notes or the reasons of the scenarios
	reason string
}

var odds = []odd{
	{name: "a model that is retried", make: retries, tags: "@AS-111", quick: true,
		says:   "the turn of client A still runs: its model fails each time, and the target has called it ",
		reason: "a turn that goes on makes its session busy"},
	{name: "a greeting between connected and the list", night: true, make: greetsInBetween, tags: "@connect",
		says:   "between connected and agent_list, an undocumented event: ",
		reason: "AS-105 speaks of the events of the protocol"},
	{name: "the list of a session comes late", make: listsLate(false), tags: "@AS-023 or @AS-024",
		says:   "a list that came with the session, too late: ",
		reason: "it belongs to the session, not to the switch after it"},
	{name: "a list with each switch", make: listsLate(true), tags: "@AS-023 or @AS-024", breaks: []string{"AS-024"},
		reason: "the second switch brings another"},
	{name: "an answer in slow pieces", make: slowly, tags: "@AS-047", quick: true,
		says:   "pieces were still arriving when the limit ran out, ",
		reason: "no clause limits a turn"},
	{name: "an unknown agent is refused twice", night: true, make: refusesTwice, tags: "@AS-058 or @AS-059",
		reason: "the second refusal of a fence is no other client's"},
	{name: "a refusal goes to the client whose session was named", make: refusesWhereNamed,
		tags: "@AS-4.3-04 or @AS-4.3-40", reason: "which of the two clients is told of it is open"},
}

// slowly sends an answer letter by letter.
func slowly(o *agentselect.Options) {
	free := map[string]time.Time{} // by connection: when the next piece may be sent
	o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
		text, streaming := ev.Data["content"].(string)
		if ev.Type != vocab.CompleteEvent && !streaming {
			send(to.ID, ev)
			return
		}
		after := func() {
			if now := time.Now(); free[to.ID].Before(now) {
				free[to.ID] = now
			}
			free[to.ID] = free[to.ID].Add(100 * time.Millisecond)
			ev := ev
			time.AfterFunc(time.Until(free[to.ID]), func() { send(to.ID, ev) })
		}
		if ev.Data["streaming"] != true {
			after()
			return
		}
		for _, letter := range text {
			ev.Data = ev.Data.With("content", string(letter))
			after()
		}
	}
}

// refusesTwice sends the refusal of an unknown agent twice.
func refusesTwice(o *agentselect.Options) {
	o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
		send(to.ID, ev)
		if ev.Type == vocab.ErrorEvent && ev.Data["errorCode"] == vocab.AgentNotFound {
			send(to.ID, ev)
		}
	}
}

// refusesWhereNamed refuses a switch on the connection of the session that it names, whoever asked.
func refusesWhereNamed(o *agentselect.Options) {
	var named sync.Map // connection → the session in its latest message
	o.Inbound = func(_ agentselect.Manager, from agentselect.ConnInfo, msg agentselect.Message) bool {
		session, _ := msg[vocab.SessionID].(string)
		named.Store(from.ID, session)
		return true
	}
	o.Outbound = func(m agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
		session, _ := named.Load(to.ID)
		if id, _ := session.(string); ev.Type == vocab.ErrorEvent && m.Owner(id) != "" {
			to.ID = m.Owner(id)
		}
		send(to.ID, ev)
	}
}

// retries keeps retrying a failing model during the turn.
func retries(o *agentselect.Options) {
	brain := o.Brain
	o.Inbound = func(_ agentselect.Manager, _ agentselect.ConnInfo, msg agentselect.Message) bool {
		text, _ := msg["content"].(string)
		if strings.HasPrefix(text, "[[fail ") {
			ask := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}}
			for range 3 {
				_ = brain.Answer(context.Background(), ask, func(llm.Part) error { return nil })
			}
			nonce := strings.Fields(text)[1]
			msg["content"] = "[[hold " + nonce + "]]"
		}
		return true
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

// listsLate sends a session's agent list after the first switch in the session, or after each.
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

// TestOddServers checks that undocumented behaviour breaks no clause, and that a broken clause is the only one
// reported.
func TestOddServers(t *testing.T) {
	t.Parallel()
	for _, row := range odds {
		t.Run(row.name, func(t *testing.T) {
			if row.night {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			brain := llm.New()
			p := suitetest.BundledTarget("agent-select", "").Profile
			p.Drivers = []string{"sse"}
			if row.quick {
				p.Limits.Event.Duration, p.Limits.Turn.Duration = 2*time.Second, 2*time.Second
			}
			l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
				row.make(&o)
				return agentselect.New(o)
			})
			res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: row.tags})
			if got := suitetest.Broken(res); !slices.Equal(got, row.breaks) {
				t.Errorf("broken %v, want %v (%s)\n%s", got, row.breaks, row.reason, suitetest.Console(t, res))
			}
			said := false
			for _, sc := range res.Runs[0].Scenarios {
				said = said || strings.Contains(sc.Reason, row.says) ||
					slices.ContainsFunc(sc.Notes, func(n string) bool { return strings.Contains(n, row.says) })
				if sc.Outcome == verdict.HarnessError {
					t.Errorf("%s: %s", sc.Name, sc.Reason)
				}
			}
			if !said {
				t.Errorf("nothing says %q\n%s", row.says, suitetest.Console(t, res))
			}
		})
	}
}

// hidden hides the sessions of other connections.
var hidden = agentselect.Policy{Target: func(m agentselect.Manager, c agentselect.ConnInfo,
	msg agentselect.Message) string {
	session := agentselect.Correct.Target(m, c, msg)
	if m.Owner(session) != c.ID {
		return ""
	}
	return session
}}

// TestSwitchesOfOthers checks that a switch of another connection's session may be announced there, with or without
// the requester hearing it too, or be refused.
func TestSwitchesOfOthers(t *testing.T) {
	t.Parallel()
	const name = "a switch of another client's session is announced on that session's connection"
	rows := []struct {
		reason string
		make   func(o *agentselect.Options)
		note   string
	}{
		{"the asker receives it too", func(o *agentselect.Options) {
			asker := ""
			o.Inbound = func(_ agentselect.Manager, from agentselect.ConnInfo, _ agentselect.Message) bool {
				asker = from.ID
				return true
			}
			o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event,
				send func(string, agentselect.Event)) {
				if ev.Type == vocab.AgentSwitchedEvent && asker != to.ID {
					send(asker, ev) // before the other connection
				}
				send(to.ID, ev)
			}
		}, ""},
		{"it is refused", func(o *agentselect.Options) { o.Policy = hidden },
			"a switch of another connection's session is refused"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			res := suitetest.JudgeAgentSelect(t, "@AS-095", func(o agentselect.Options) (launch.Handler, error) {
				r.make(&o)
				return agentselect.New(o)
			})
			if got := suitetest.OutcomesOf(res, name, "AS-095"); !slices.Equal(got, []verdict.Outcome{verdict.Passed}) {
				t.Errorf("AS-095 is %v\n%s", got, suitetest.Console(t, res))
			}
			for _, sc := range res.Runs[0].Scenarios {
				if sc.Name == name && !strings.Contains(strings.Join(sc.Notes, "; "), r.note) {
					t.Errorf("the notes are %q, want one with %q", sc.Notes, r.note)
				}
			}
		})
	}
}

// TestEventsTwice checks that a duplicate event does not count as the answer to another message, whether it comes at
// once or later.
func TestEventsTwice(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name  string
		kinds []string // nil: all
		after time.Duration
	}{
		{name: "each switch", kinds: []string{vocab.AgentSwitchedEvent}},
		{name: "each error", kinds: []string{vocab.ErrorEvent}},
		{name: "everything"},
		{name: "each switch, the copy later", kinds: []string{vocab.AgentSwitchedEvent}, after: 5 * time.Millisecond},
		{name: "each error, the copy later", kinds: []string{vocab.ErrorEvent}, after: 5 * time.Millisecond},
		{name: "everything, the copy later", after: 5 * time.Millisecond},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.name != "everything" {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			res := suitetest.JudgeAgentSelect(t, "", func(o agentselect.Options) (launch.Handler, error) {
				o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send tell) {
					send(to.ID, ev)
					switch {
					case row.kinds != nil && !slices.Contains(row.kinds, ev.Type):
					case row.after == 0:
						send(to.ID, ev)
					default:
						time.AfterFunc(row.after, func() { send(to.ID, ev) })
					}
				}
				return agentselect.New(o)
			}, func(p *target.Profile) { // on a busy machine a timer of 5 ms fires later than the usual window
				p.Limits.Quiet.Duration = max(p.Limits.Quiet.Duration, 200*row.after)
			})
			var want []string // a second announcement contradicts the first
			if row.kinds == nil || slices.Contains(row.kinds, vocab.AgentSwitchedEvent) {
				want = []string{"AS-043"}
			}
			if got := suitetest.Broken(res); !slices.Equal(got, want) {
				t.Errorf("exit %d, broken %v, want %v\n%s", res.Exit, got, want, suitetest.Console(t, res))
			}
			if text := suitetest.Console(t, res); strings.Count(text, " events came a second time, of type ") != 1 {
				t.Errorf("it is not told once:\n%s", text)
			}
		})
	}
}

// resetsReused is a server that resets its connections at the second request on them, before handling it, like a
// server whose idle connections have just timed out.
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

// TestResetOnReuse checks that a reset of a reused connection is not blamed on the message.
func TestResetOnReuse(t *testing.T) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
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
	p, err := protocols.Kinds().ForURL("agent-select", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	launch.RaiseLimits(&p.Limits)
	p.Tools.Confirm, p.Tools.Ask = suitetest.BundledTarget("agent-select", "").Profile.Tools.Confirm,
		suitetest.BundledTarget("agent-select", "").Profile.Tools.Ask
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true})
	if got := suitetest.Broken(res); len(got) > 0 {
		t.Errorf("broken %v\n%s", got, suitetest.Console(t, res))
	}
	repeated := 0
	for _, sc := range res.Runs[0].Scenarios {
		repeated += len(slices.DeleteFunc(slices.Clone(sc.Notes),
			func(n string) bool { return !strings.Contains(n, "repeated on a new connection") }))
	}
	if repeated == 0 || res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d; %d scenarios tell of a repeated request\n%s", res.Exit, repeated, suitetest.Console(t, res))
	}
}

// TestSameToolsForAll checks a server that offers every agent the same tools, with a profile that lists some tools of
// the custom agent: they are among those offered, and nothing shows that they are its own.
func TestSameToolsForAll(t *testing.T) {
	t.Parallel()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers, p.Agents.Tools = []string{target.SSE}, nil
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "@AS-048", AllowIncomplete: true,
		Launcher: suitetest.Mutant(t, p.Protocol, "offers-all-tools").Launch(brain)})
	for _, c := range res.Runs[0].Clauses {
		if c.ID == "AS-048" && c.Outcome != verdict.NotTested {
			t.Errorf("AS-048 is %s: %s", c.Outcome, c.Reason)
		}
	}
}

// TestDoctorOfSameTools checks that the scenario of doctor about the tools of the custom agent passes only where they
// are its own.
func TestDoctorOfSameTools(t *testing.T) {
	t.Parallel()
	declared := suitetest.BundledTarget("agent-select", "").Profile.Agents.Tools
	for _, row := range []struct {
		name   string
		tools  map[string][]string
		mutant string
		want   verdict.Outcome
	}{
		{"each agent has its own", declared, "", verdict.Passed},
		{"every agent has the same, and all tools are declared", declared, "offers-all-tools", verdict.Failed},
		{"every agent has the same, and some tools are declared", nil, "offers-all-tools", verdict.NotTested},
	} {
		brain := llm.New()
		o := suitetest.Bundled("agent-select", "")
		if row.mutant != "" {
			o.Launcher, o.Brain = suitetest.Mutant(t, "agent-select", row.mutant).Launch(brain), brain
		}
		o.Profile.Drivers, o.Profile.Agents.Tools = []string{target.SSE}, row.tools
		o.FS, o.Tags, o.AllowIncomplete = features.Doctor, "@doctor-agent-tools or @preflight-1 or @preflight-2 or "+
			"@preflight-3", true
		res := suitetest.Judge(t, o)
		got := suitetest.Outcome(res, "the custom agent's tools are offered to the model stub")
		if got != row.want {
			t.Errorf("%s: %q, want %s\n%s", row.name, got, row.want, suitetest.Console(t, res))
		}
	}
}
