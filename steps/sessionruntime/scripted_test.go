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

	"parley/features"
	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

type object = map[string]any

// scripted is an orchestrator and the driver to it: every message is handled before Send returns, so that only
// time-outs take time. fault is its misbehaviour:
//
//	drop CANCEL                          it is not published
//	twice CANCEL                         it is published twice
//	set CANCEL target_id=agent-z         the member at this path has this value; - removes it
//	also EVENT CANCELED FRONTEND behind CANCEL   it is published after the other one, with its payload and metadata
//	held TURN_ACCEPTED                   it is published a moment after the answer to the next fence
//	slow TURN_ACCEPTED                   the same, and everything else takes a while, a fence the longest
//	deaf                                 fences are not answered
//	dumb                                 set-up is not answered
type scripted struct {
	target.Running // for methods that scenarios do not use
	fault          string
	refuse         error // error of Open

	mu       sync.Mutex
	sink     driver.Sink
	sessions map[string]*hub
	timers   []*time.Timer
	held     []object // published after the next fence
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
	n := s.sink(transcript.Record{Conn: bus, Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Label: m.Label,
		Bytes: m.Body})
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
		h := &hub{s: s, id: str(m, "session_id"), active: str(m, "active_agent_id"),
			limit: time.Duration(ms) * time.Millisecond, agents: map[string]bool{}, turns: map[string]*talk{},
			seen: map[string]bool{}, waiting: map[string]int{}, asks: map[string]object{}}
		for _, a := range m["agents"].([]any) {
			h.agents[a.(string)] = true
		}
		s.sessions[h.id] = h
		if s.fault != "dumb" {
			s.write(object{"parley": vocab.Ready})
		}
	case vocab.Fence:
		answer := func() {
			s.write(object{"parley": vocab.Fenced, "id": m["id"]})
			s.release()
		}
		switch {
		case strings.HasPrefix(s.fault, "slow "):
			s.later(60*time.Millisecond, answer)
		case s.fault != "deaf":
			answer()
		}
	default:
		if h := s.sessions[str(m, "session_id")]; h != nil && !h.seen[str(m, "id")] && str(m, "sender") != vocab.FromSession {
			h.seen[str(m, "id")] = true
			h.handle(m)
		}
	}
}

func (s *scripted) write(m object) {
	s.sink(transcript.Record{Conn: bus, Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
		Bytes: []byte(wjson.Compact(m))})
}

// release publishes the held messages a moment later.
func (s *scripted) release() {
	for _, m := range s.held {
		s.later(5*time.Millisecond, func() { s.write(m) })
	}
	s.held = nil
}

// later calls do after a while, unless the connection has ended. The caller holds s.mu.
func (s *scripted) later(after time.Duration, do func()) {
	s.timers = append(s.timers, time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.over {
			do()
		}
	}))
}

// publish writes a message, with the fault applied.
func (s *scripted) publish(m object) {
	words := strings.Fields(s.fault)
	name := str(m, "subtype")
	if name == "" {
		name = str(m, "event")
	}
	switch {
	case len(words) == 2 && words[0] == "slow" && words[1] != name:
		s.later(20*time.Millisecond, func() { s.write(m) })
		return
	case len(words) < 2 || words[len(words)-1] != name && words[1] != name:
	case words[0] == "drop":
		return
	case words[0] == "held", words[0] == "slow":
		s.held = append(s.held, m)
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
		if !is && m[name] != nil { // a string has no members
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

// ledger is read only once, because it has a clause for every line of the document.
var ledger = sync.OnceValues(func() (*verdict.Ledger, error) { return features.Ledger(vocab.Protocol) })

// environment returns the environment of a scripted target. Its limits are short: apart from time-outs, everything
// has been published before a step begins to wait.
func environment(t *testing.T, at *scripted) *steps.Env {
	t.Helper()
	clauses, err := ledger()
	if err != nil {
		t.Fatal(err)
	}
	p := binding.Kind().New()
	p.Limits.Turn.Duration, p.Limits.Event.Duration, p.Limits.Quiet.Duration = 10*time.Millisecond, 10*time.Millisecond,
		2*time.Millisecond
	p.Limits.Open.Duration = 10 * time.Millisecond
	if at.fault == "" { // no wait will time out
		p.Limits.Event.Duration = 5 * time.Second
	}
	binding.Of(p).Limits.InputAck.Duration, binding.Of(p).Limits.CancelAck.Duration = 20*time.Millisecond,
		20*time.Millisecond
	return &steps.Env{Profile: p, Driver: at, Ledger: clauses}
}

// perform runs the lines of one scenario against a target with a fault.
func perform(t *testing.T, tags, lines, fault string, change ...func(*steps.Env)) steps.Result {
	t.Helper()
	at := &scripted{fault: fault}
	env := environment(t, at)
	for _, f := range change {
		f(env)
	}
	got := run(env, map[string]string{"f.feature": "Feature: f\n" + tags + "\nScenario: s\n" + lines + "\n"},
		func() *scripted { return at })
	if len(got) != 1 {
		t.Fatalf("%d scenarios were run", len(got))
	}
	return got[0]
}

// run runs features, each scenario against its own target.
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
		Done: func(r steps.Result) {
			r.Release()
			got = append(got, r)
		},
	}
	fs, paths := fstest.MapFS{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fs[name], paths = &fstest.MapFile{Data: []byte(files[name])}, append(paths, name)
	}
	godog.TestSuite{ScenarioInitializer: s.Initialize,
		Options: &godog.Options{FS: fs, Paths: paths, Format: "progress", Output: io.Discard, NoColors: true}}.Run()
	return got
}
