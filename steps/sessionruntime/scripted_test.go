package sessionruntime

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cucumber/godog"

	"parley/driver"
	"parley/features"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
	wjson "parley/wire/json"
)

type object = map[string]any

// scripted is an orchestrator, and the driver to it: every message is handled before Send returns, so that nothing needs to be
// waited for but time-outs. Its fault is what it does wrong:
//
//	drop CANCEL                          it is not published
//	twice CANCEL                         it is published twice
//	set CANCEL target_id=agent-z         a member of it, by its way from the top, is this string; - takes it away
//	also EVENT CANCELED FRONTEND behind CANCEL   it is published behind the other one, with its payload and metadata
//	deaf                                 it answers no fence
//	dumb                                 it answers no set-up
type scripted struct {
	target.Running // what a scenario does not use
	fault          string
	refuse         error // of opening

	mu       sync.Mutex
	sink     driver.Sink
	sessions map[string]*hub
	timers   []*time.Timer
	count    int
	over     bool
}

func (s *scripted) BaseURL() string { return "http://h" }

// Stderr implements target.Running.
func (s *scripted) Stderr() string { return "" }
func (s *scripted) Name() string   { return target.WS }

func (s *scripted) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	if s.refuse != nil {
		return nil, s.refuse
	}
	s.sink, s.sessions = sink, map[string]*hub{}
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open, Status: 101})
	return s, nil
}

func (s *scripted) Send(_ context.Context, m driver.Message) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, driver.ErrClosed
	}
	n := s.sink(transcript.Record{Conn: bus, Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Label: m.Label, Bytes: m.Body})
	v, _, _ := wjson.Decode(m.Body)
	s.take(v.(object))
	return n, nil
}

func (s *scripted) Close(driver.CloseMode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, t := range s.timers {
		t.Stop()
	}
	return nil
}

func (s *scripted) take(m object) {
	switch m["parley"] {
	case vocab.Setup:
		limits := m["limits"].(object)
		ms, _ := strconv.Atoi(fmt.Sprint(limits["input_ack_ms"]))
		h := &hub{s: s, id: str(m, "session_id"), active: str(m, "active_agent_id"), limit: time.Duration(ms) * time.Millisecond, agents: map[string]bool{}, turns: map[string]*talk{},
			seen: map[string]bool{}, waiting: map[string]int{}, asks: map[string]object{}}
		for _, a := range m["agents"].([]any) {
			h.agents[a.(string)] = true
		}
		s.sessions[h.id] = h
		if s.fault != "dumb" {
			s.write(object{"parley": vocab.Ready})
		}
	case vocab.Fence:
		if s.fault != "deaf" {
			s.write(object{"parley": vocab.Fenced, "id": m["id"]})
		}
	default:
		if h := s.sessions[str(m, "session_id")]; h != nil && !h.seen[str(m, "id")] && str(m, "sender") != vocab.FromSession {
			h.seen[str(m, "id")] = true
			h.handle(m)
		}
	}
}

func (s *scripted) write(m object) {
	s.sink(transcript.Record{Conn: bus, Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: []byte(wjson.Compact(m))})
}

// publish writes a message with the fault in it.
func (s *scripted) publish(m object) {
	words := strings.Fields(s.fault)
	name := str(m, "subtype")
	if name == "" {
		name = str(m, "event")
	}
	switch {
	case len(words) < 2 || words[len(words)-1] != name && words[1] != name:
	case words[0] == "drop":
		return
	case words[0] == "twice":
		s.write(m)
	case words[0] == "set":
		way, value, _ := strings.Cut(words[2], "=")
		set(m, strings.Split(way, "/"), value)
	case words[0] == "also":
		s.write(m)
		other := maps.Clone(m)
		other["event"], other["subtype"], other["target"] = words[1], words[2], words[3]
		m = other
	}
	s.write(m)
}

func set(m object, way []string, value string) {
	for _, name := range way[:len(way)-1] {
		inner, is := m[name].(object)
		if !is && m[name] != nil { // a text has no members
			return
		}
		inner = maps.Clone(inner)
		if inner == nil {
			inner = object{}
		}
		m[name], m = inner, inner
	}
	if value == "-" {
		delete(m, way[len(way)-1])
		return
	}
	m[way[len(way)-1]] = value
}

func str(m object, name string) string { s, _ := m[name].(string); return s }

// hub is one session, as the source has it.
type hub struct {
	s       *scripted
	id      string
	active  string
	limit   time.Duration
	agents  map[string]bool
	turns   map[string]*talk
	order   []*talk
	seen    map[string]bool
	waiting map[string]int    // receipts, by request and agent
	asks    map[string]object // handovers, by tx_id
}

// talk is a turn.
type talk struct {
	id, trace, agent string
	status           string
	speaking         bool
	last             any
	then             func()
}

func (h *hub) say(event, subtype, to, id string, ids object, payload any) {
	m := object{"id": h.fresh("o"), "session_id": h.id, "event": event, "sender": vocab.FromSession, "target": to, "payload": payload, "metadata": ids}
	if subtype != "" {
		m["subtype"] = subtype
	}
	if id != "" {
		m["target_id"] = id
	}
	h.s.publish(m)
}

func (h *hub) fresh(prefix string) string { h.s.count++; return fmt.Sprintf("%s%d", prefix, h.s.count) }

func (h *hub) handle(m object) {
	from, meta := str(m, "sender"), m["metadata"].(object)
	payload, _ := m["payload"].(object)
	public := from == vocab.FromFrontend || from == vocab.FromManager || from == vocab.FromLogger
	if public && m["target"] == vocab.ToBroadcast {
		return
	}
	ids := func(tx bool) object {
		out := object{"turn_id": meta["turn_id"], "trace_id": meta["trace_id"]}
		if tx {
			out["tx_id"] = h.fresh("x")
		}
		return out
	}
	t := h.turns[str(meta, "turn_id")]
	if from == vocab.FromManager && m["event"] == vocab.Control && !h.pending(str(m, "subtype"), str(payload, "agent_id")) {
		return
	}
	switch name := str(m, "subtype"); {
	case m["event"] == vocab.UserInput:
		h.input(m, payload, meta)
	case m["event"] == vocab.Error:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), m["payload"])
	case m["event"] == vocab.AgentOutput:
		h.output(m, meta)
	case name == vocab.InputAck && t != nil && t.agent == from && t.status == "routing":
		t.status = "running"
	case (name == vocab.Cancel || name == vocab.Interrupt) && public:
		h.stop(func(*talk) bool { return true }, func() {})
	case (name == vocab.CancelAck || name == vocab.StreamStopped) && t != nil && t.agent == from && t.then != nil:
		then := t.then
		t.then, t.speaking, t.status = nil, false, "canceled"
		h.say(vocab.Event, vocab.Canceled, vocab.ToFrontend, "", ids(false), object{})
		then()
	case name == vocab.SwitchAgent && public:
		h.switchTo(str(payload, "to"))
	case name == vocab.RemoveAgent:
		id := str(payload, "agent_id")
		if h.agents[id] {
			h.stop(func(t *talk) bool { return t.agent == id }, func() {
				h.request(vocab.RequestRemoveAgent, id, ids(true), object{"session_id": h.id, "agent_id": id, "reason": "asked for"})
			})
		}
	case name == vocab.RemoveAgentDone:
		id := str(payload, "agent_id")
		delete(h.agents, id)
		h.say(vocab.Event, vocab.AgentRemoved, vocab.ToFrontend, "", ids(false), object{"agent_id": id})
		if rest := slices.Sorted(maps.Keys(h.agents)); h.active == id && len(rest) > 0 {
			h.switchTo(rest[0])
		}
	case name == vocab.RemoveAgentFailed:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), object{"agent_id": payload["agent_id"]})
	case name == vocab.InviteAgent:
		spec, _ := payload["agent_spec"].(object)
		if id := str(spec, "agent_id"); !h.agents[id] {
			h.request(vocab.RequestAddAgent, id, ids(true), payload)
		}
	case name == vocab.AddAgentDone:
		h.agents[str(payload, "agent_id")] = true
		h.say(vocab.Event, vocab.AgentAdded, vocab.ToFrontend, "", ids(false), object{"agent_id": payload["agent_id"]})
	case name == vocab.AddAgentFailed:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), object{"agent_id": payload["agent_id"]})
	case name == vocab.HandoverRequest && h.agents[str(payload, "target_agent")]:
		out := ids(true)
		ask := object{"from": from, "to": payload["target_agent"], "reason": payload["reason"], "summary": payload["summary"]}
		if t != nil {
			ask["last"] = t.last
		}
		h.asks[str(out, "tx_id")] = ask
		h.say(vocab.Control, vocab.HandoverUIPrompt, vocab.ToFrontend, "", out, ask)
	case name == vocab.HandoverConfirm || name == vocab.HandoverReject:
		ask := h.asks[str(meta, "tx_id")]
		delete(h.asks, str(meta, "tx_id"))
		if ask != nil && name == vocab.HandoverConfirm {
			h.switchTo(str(ask, "to"))
			h.say(vocab.Control, vocab.HandoverContext, vocab.ToAgent, str(ask, "to"), ids(true), ask)
		}
	case name == vocab.SessionOpen:
		h.request(vocab.RequestSessionOpen, "", ids(true), object{})
	case name == vocab.SessionClose:
		h.stop(func(*talk) bool { return true }, func() { h.request(vocab.RequestSessionClose, "", ids(true), object{}) })
	case name == vocab.SessionOpened || name == vocab.SessionClosed:
		h.say(vocab.Event, name, vocab.ToFrontend, "", ids(false), object{})
	case name == vocab.SessionFailed:
		h.say(vocab.Error, name, vocab.ToFrontend, "", ids(false), object{})
	}
}

// pending tells whether a receipt is waited for, and that no longer.
func (h *hub) pending(receipt, agent string) bool {
	for _, ask := range []string{vocab.RequestAddAgent, vocab.RequestRemoveAgent, vocab.RequestSessionOpen, vocab.RequestSessionClose} {
		about := strings.TrimPrefix(ask, "REQUEST_") // ADD_AGENT, say, or SESSION_OPEN
		key := ask + " " + agent
		if h.waiting[key] > 0 && (strings.HasPrefix(receipt, about) || strings.HasPrefix(about, "SESSION") && receipt == vocab.SessionFailed) {
			h.waiting[key]--
			return true
		}
	}
	return false
}

// request asks SessionManager.
func (h *hub) request(name, agent string, ids, payload object) {
	h.waiting[name+" "+agent]++
	h.say(vocab.Control, name, vocab.ToSystem, "", ids, payload)
}

func (h *hub) switchTo(id string) {
	was := h.active
	if h.active = id; h.active != was {
		h.say(vocab.Control, vocab.SwitchAgent, vocab.ToBroadcast, "", object{}, object{"from": was, "to": id, "reason": "asked for", "trigger": "message"})
	}
}

func (h *hub) input(m, payload, meta object) {
	to := h.active
	if id := str(payload, "mentioned_agent_id"); id != "" {
		to = id
	} else if m["subtype"] == vocab.Mention {
		to = str(meta, "mentioned_agent_id")
	}
	if to == "" {
		to = slices.Sorted(maps.Keys(h.agents))[0]
	} else if !h.agents[to] {
		h.say(vocab.Error, vocab.AgentNotFound, vocab.ToFrontend, "", object{}, object{"agent_id": to})
		return
	} else {
		h.switchTo(to)
	}
	t := &talk{id: str(meta, "turn_id"), trace: str(meta, "trace_id"), agent: to, status: "routing"}
	if t.id == "" {
		t.id = h.fresh("t")
	}
	if t.trace == "" {
		t.trace = h.fresh("r")
	}
	h.turns[t.id], h.order = t, append(h.order, t)
	ids := maps.Clone(meta)
	ids["turn_id"], ids["trace_id"] = t.id, t.trace
	h.say(vocab.UserInput, "", vocab.ToAgent, to, ids, m["payload"])
	h.say(vocab.Event, vocab.TurnAccepted, vocab.ToFrontend, "", object{"turn_id": t.id, "trace_id": t.trace}, object{"target_agent": to})
	if h.limit < time.Second {
		h.s.timers = append(h.s.timers, time.AfterFunc(h.limit, func() { h.timeout(t) }))
	}
}

func (h *hub) timeout(t *talk) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if t.status == "routing" && !h.s.over {
		t.status, t.speaking = "failed", false
		h.say(vocab.Error, vocab.RouteTimeout, vocab.ToFrontend, "", object{"turn_id": t.id, "trace_id": t.trace}, object{})
	}
}

func (h *hub) output(m, meta object) {
	t := h.turns[str(meta, "turn_id")]
	if t == nil || t.agent != m["sender"] || t.status != "running" {
		return
	}
	stream, _ := meta["stream"].(object)
	t.last, t.speaking = m["payload"], true
	if stream["final"] == true {
		t.status, t.speaking = "completed", false
	}
	h.say(vocab.AgentOutput, "", vocab.ToFrontend, "", meta, m["payload"])
}

// stop asks those who speak to stop, unless they have been asked, and goes on when they have.
func (h *hub) stop(of func(*talk) bool, then func()) {
	left := 0
	for _, t := range h.order {
		if (t.speaking || t.then != nil) && of(t) {
			left++
			before := t.then
			t.then = func() {
				if before != nil {
					before()
				}
				if left--; left == 0 {
					then()
				}
			}
			if before != nil {
				continue
			}
			h.say(vocab.Control, vocab.Cancel, vocab.ToAgent, t.agent, object{"turn_id": t.id, "trace_id": t.trace}, object{})
		}
	}
	if left == 0 {
		then()
	}
}

// ledger is read once: it has a clause for every line of the document.
var ledger = sync.OnceValues(func() (*verdict.Ledger, error) { return features.Ledger(vocab.Protocol) })

// environment is that of a scripted target. Its limits are short: all that will ever be said has been said when a step begins
// to wait, apart from time-outs.
func environment(t *testing.T, at *scripted) *steps.Env {
	t.Helper()
	clauses, err := ledger()
	if err != nil {
		t.Fatal(err)
	}
	p := target.DefaultFor(vocab.Protocol)
	p.Limits.Turn.Duration, p.Limits.Event.Duration, p.Limits.Quiet.Duration = 10*time.Millisecond, 10*time.Millisecond, 2*time.Millisecond
	p.Limits.Open.Duration = 10 * time.Millisecond
	if at.fault == "" { // nothing will be missed
		p.Limits.Event.Duration = 5 * time.Second
	}
	p.SessionRuntime.Limits.InputAck.Duration, p.SessionRuntime.Limits.CancelAck.Duration = 20*time.Millisecond, 20*time.Millisecond
	return &steps.Env{Profile: p, Driver: at, Ledger: clauses}
}

// perform runs the lines of one scenario against a target with this fault.
func perform(t *testing.T, tags, lines, fault string, change ...func(*steps.Env)) steps.Result {
	t.Helper()
	at := &scripted{fault: fault}
	env := environment(t, at)
	for _, f := range change {
		f(env)
	}
	got := run(env, map[string]string{"f.feature": "Feature: f\n" + tags + "\nScenario: s\n" + lines + "\n"}, func() *scripted { return at })
	if len(got) != 1 {
		t.Fatalf("%d scenarios were run", len(got))
	}
	return got[0]
}

// run performs features, each scenario against a target of its own.
func run(env *steps.Env, files map[string]string, begin func() *scripted) []steps.Result {
	var got []steps.Result
	s := &steps.Suite{
		Protocol: Protocol{},
		Env:      env,
		Begin: func(context.Context, *godog.Scenario) steps.Slot {
			at := begin()
			env.Driver = at
			return steps.Slot{Run: at, Nonce: "n"}
		},
		Done: func(r steps.Result) { got = append(got, r) },
	}
	fs, paths := fstest.MapFS{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fs[name], paths = &fstest.MapFile{Data: []byte(files[name])}, append(paths, name)
	}
	godog.TestSuite{ScenarioInitializer: s.Initialize, Options: &godog.Options{FS: fs, Paths: paths, Format: "progress", Output: io.Discard, NoColors: true}}.Run()
	return got
}
