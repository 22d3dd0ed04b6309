package script_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/schematest"
	"parley/internal/script"
)

const head = "script: s\nprotocol: p\nas: server\n"

// mistakes are scripts with a mistake, and their correct twins.
var mistakes = []struct {
	reason, wrong, right string
	line, column         int
	want                 string
}{
	{"no YAML", "script: [", "script: s\nprotocol: p\nas: server\nrules: []", 1, 9, "not valid YAML"},
	{"empty", "", head + "rules: []", 1, 1, "empty"},
	{"two documents", head + "rules: []\n---\na: b\n", head + "rules: []", 6, 2, "one document"},
	{"no name", "protocol: p\nas: s\nrules: []", head + "rules: []", 1, 1, "script is missing (script: busy-server)"},
	{"no rules", head, head + "rules: []", 1, 1, "rules is missing"},
	{"unknown key", head + "rule: []\nrules: []", head + "rules: []", 4, 1, `did you mean "rules"?`},
	{"twice", head + "as: b\nrules: []", head + "rules: []", 4, 1, "is given twice"},
	{"an alias", head + "vars: {a: &x 1}\nrules: []", head + "vars: {a: 1}\nrules: []", 4, 11, "no anchors"},
	{"no on", head + "rules:\n- answer: []", head + "rules:\n- on: ping", 5, 3, "on is missing"},
	{"no action", head + "rules:\n- on: a\n  answer: [{after: 1s}]",
		head + "rules:\n- on: a\n  answer: [{send: x, after: 1s}]",
		6, 13, "and this has 0"},
	{"two actions", head + "rules:\n- on: a\n  answer: [{send: x, respond: 200}]",
		head + "rules:\n- on: a\n  answer: [{send: x}, {respond: 200}]", 6, 13, "and this has 2"},
	{"a time", head + "rules:\n- on: a\n  answer: [{send: x, after: 50}]",
		head + "rules:\n- on: a\n  answer: [{send: x, after: 50ms}]", 6, 29, "such as 50ms"},
	{"a status", head + "rules:\n- on: a\n  answer: [{respond: 99}]",
		head + "rules:\n- on: a\n  answer: [{respond: 299}]",
		6, 22, "an HTTP status"},
	{"a request", head + "rules:\n- on: {request: post x}", head + "rules:\n- on: {request: POST /x}", 5, 17,
		`write it like "POST /message"`},
	{"a pointer", head + "rules:\n- on: {where: {a: 1}}", head + "rules:\n- on: {where: {/a: 1}}", 5, 16,
		"no JSON Pointer"},
	{"a pattern", head + "rules:\n- on: {where: {/a: {match: '('}}}", head + "rules:\n- on: {where: {/a: {match: 'a+'}}}",
		5, 28, "not a regular expression"},
	{"a variable", head + "rules:\n- on: a\n  set: {agent: x}\n  answer: [{send: '${agnt}'}]",
		head + "rules:\n- on: a\n  set: {agent: x}\n  answer: [{send: '${agent}'}]", 7, 19, `did you mean "agent"?`},
	{"a hole", head + "rules:\n- on: a\n  answer: [{send: '${a b}'}]",
		head + "rules:\n- on: a\n  answer: [{send: '${/a b}'}]",
		6, 19, "neither a variable"},
	{"a guard", head + "rules:\n- on: a\n  when: {busy: true}",
		head + "vars: {busy: true}\nrules:\n- on: a\n  when: {busy: true}",
		5, 1, `nothing sets the variable "busy"`},
	{"a first value", head + "vars: {busy: true, a: '${bsy}'}\nrules: []",
		head + "vars: {busy: true, a: '${busy}'}\nrules: []", 4, 23, `did you mean "busy"?`},
	{"the value of a guard", head + "vars: {busy: true}\nrules:\n- on: a\n  when: {busy: {not: '${bsy}'}}",
		head + "vars: {busy: true}\nrules:\n- on: a\n  when: {busy: {not: '${busy}'}}", 7, 22, `did you mean "busy"?`},
	{"too often", head + "rules:\n- on: a\n  answer: [{send: x, repeat: 1001}]",
		head + "rules:\n- on: a\n  answer: [{send: x, repeat: 1000}]", 6, 30, "from 1 to 1000"},
	{"an impossible code", head + "rules:\n- on: a\n  answer: [{close: 99999}]",
		head + "rules:\n- on: a\n  answer: [{close: 4001, reason: over}, {close: , after: 1s}, close]", 6, 20,
		"(close: 4001)"},
	{"its own name", head + "vars: {id: 1}\nrules: []", head + "vars: {ids: 1}\nrules: []", 4, 8,
		"not a variable name"},
	{"two kinds", head + "rules:\n- on: {open: true, close: true}", head + "rules:\n- on: {open: true}", 5, 8,
		"one of request"},
	{"no key", head + "per: {room: {owner: ''}}\nrules: []", head + "per: {room: {key: '${/room}', owner: ''}}\nrules: []",
		4, 14, "key is missing"},
	{"a member of a key", head + "per: {room: {key: '${/room}', owner: ''}}\nrules:\n- on: a\n  set: {room.ownr: x}",
		head + "per: {room: {key: '${/room}', owner: ''}}\nrules:\n- on: a\n  set: {room.owner: x}", 7, 20,
		`did you mean "room.owner"?`},
	{"an expression", head + "vars: {x: 1}\nrules:\n- on: a\n  when: x ==",
		head + "vars: {x: 1}\nrules:\n- on: a\n  when: x == 1",
		7, 9, "is not an expression"},
	{"a name in an expression", head + "vars: {x: 1}\nrules:\n- on: a\n  answer: [{send: '${= y}'}]",
		head + "vars: {x: 1}\nrules:\n- on: a\n  answer: [{send: '${= x}', when: x == 1}]", 7, 19, "unknown name y"},
	{"a number in a text", head + "rules:\n- on: a\n  answer: [{send: {n: 'no ${sent}'}}]",
		head + "rules:\n- on: a\n  answer: [{send: {n: '${sent}'}}]", 6, 23, "a value of its own"},
	{"posts", head + "posts: {request: /x}\nrules: []",
		head + "posts: {request: POST /x/*, status: 202}\nrules: []", 4, 18,
		`write it like "POST /messages/*"`},
	{"an address", head + "start: [{connect: 'ws://x/y'}]", head + "start: [{connect: /y}]", 4, 19, "connect is a path"},
}

// TestMistakes checks that each mistake is reported at its place with its fix; each row has a correct twin.
func TestMistakes(t *testing.T) {
	for _, tt := range mistakes {
		t.Run(tt.reason, func(t *testing.T) {
			_, err := script.Parse("x.yaml", []byte(tt.wrong))
			var e *script.Error
			if !errors.As(err, &e) {
				t.Fatalf("taken: %v", err)
			}
			if e.Line != tt.line || e.Column != tt.column || !strings.Contains(e.Text, tt.want) {
				t.Errorf("%v\nwant %d:%d: … %s", err, tt.line, tt.column, tt.want)
			}
			if _, err := script.Parse("x.yaml", []byte(tt.right)); err != nil {
				t.Errorf("its twin: %v", err)
			}
			if err := valid(t, tt.right); err != nil {
				t.Errorf("its twin, by the schema: %v", err)
			}
		})
	}
}

// TestAllMistakes checks that a script's mistakes are reported together, in order.
func TestAllMistakes(t *testing.T) {
	_, err := script.Parse("x.yaml", []byte(head+"rules:\n- {}\n- on: 1\n- on: a\n  tims: 1"))
	var lines []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		lines = append(lines, line[:len("x.yaml:5")])
	}
	if diff := cmp.Diff([]string{"x.yaml:5", "x.yaml:6", "x.yaml:8"}, lines); diff != "" {
		t.Error(err, diff)
	}
}

// valid checks a script by the schema.
func valid(t *testing.T, text string) error {
	t.Helper()
	return schematest.Compile(t, script.Schema()).YAML([]byte(text))
}

func parse(t testing.TB, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("x.yaml", []byte(head+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fixed are options that make an engine's output the same each time.
func fixed() script.EngineOptions {
	n := 0
	return script.EngineOptions{
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprint("id-", n) },
	}
}

func message(typ, body string) script.Message {
	return script.Message{Party: "C1", Kind: "message", Type: typ, Body: []byte(body)}
}

// exchange has messages for the script of TestRules, and what it answers.
var exchange = []struct {
	reason string
	in     script.Message
	want   string // actions as do, party, status and body; "-": no rule matches
	state  string
}{
	{"a variable in a condition", message("switch", `{"agentId":"general"}`),
		`send  0 {"type":"same","at":"2026-01-02T03:04:05.000Z"}`, "idle"},
	{"variables are set before they are used, and keep their types", message("change", `{"agentId":"plan","n":7}`),
		`send  0 {"type":"switched","from":"general","to":"plan","n":7,"b<":[1,null,true,"x plan 7"]}|` +
			`send C1 0 part 1 id-1|send C1 0 part 2 id-2`, "waiting"},
	{"a member that must not exist", message("switch", `{"agentId":"other","n":7,"force":true}`), "-", "waiting"},
	{"a member that is not a text", message("switch", `{"agentId":["other"],"n":7}`), "-", "waiting"},
	{"again", message("change", `{"agentId":"debug","n":8}`),
		`send  0 {"type":"switched","from":"plan","to":"debug","n":8,"b<":[1,null,true,"x debug 8"]}|` +
			`send C1 0 part 1 id-3|send C1 0 part 2 id-4`, "waiting"},
	{"no third time", message("change", `{"agentId":"third","n":8}`), "-", "waiting"},
	{"numbers are equal by value", message("switch", `{"agentId":"y","n":2}`), "close  0 ", "waiting"},
	{"not", message("switch", `{"agentId":"x","n":2}`), "-", "waiting"},
	{"no JSON", message("", `{"agentId"`), "-", "waiting"},
	{"a request", script.Message{Kind: "request", Method: "POST", Path: "/message?x=1", Body: []byte("{}")},
		`respond  201 {"ok":true}`, "waiting"},
	{"another method", script.Message{Kind: "request", Method: "PUT", Path: "/message"}, "-", "waiting"},
	{"a connection", script.Message{Kind: "open", Path: "/events"}, "refuse  503 later", "waiting"},
	{"its end", script.Message{Kind: "close"}, "", "gone"},
}

// TestRules checks which rules match, and what they answer.
func TestRules(t *testing.T) {
	s := parse(t, `
vars: {agent: general, count: 0}
state: idle
rules:
- on: {type: switch, where: {/agentId: "${agent}"}}
  answer: [{send: {type: same, at: "${now}"}}]
- on: {type: [switch, change], where: {/agentId: {match: "^[a-z]+$"}, /force: {exists: false}}}
  when: {state: [idle, waiting]}
  times: 2
  set: {before: "${agent}", agent: "${/agentId}", count: "${/n}"}
  state: waiting
  answer:
  - {send: {type: switched, from: "${before}", to: "${agent}", n: "${count}", "b<": [1, null, true,
	"x ${agent} ${/n}"]}}
  - {send: "part ${n} ${id}", after: 50ms, repeat: 2, to: "${party}"}
- on: {type: switch, where: {/n: {in: [1, 2.0]}, /agentId: {not: {is: x}}}}
  answer: [close]
- on: {request: POST /message}
  answer: [{respond: 201, body: {ok: true}, headers: {X-Id: "${id}"}}]
- on: {open: /events}
  answer: [{refuse: 503, body: later}]
- on: {close: true}
  state: gone
`)
	e := s.Engine(fixed())
	for _, step := range exchange {
		actions, matched := e.On(step.in)
		got := "-"
		if matched {
			var all []string
			for _, a := range actions {
				all = append(all, fmt.Sprintf("%s %s %d %s", a.Do, a.Party, a.Status, a.Body))
			}
			got = strings.Join(all, "|")
		}
		if got != step.want || e.State() != step.state {
			t.Errorf("%s: %s (state %s)\nwant %s (state %s)\n%+v", step.reason, got, e.State(), step.want, step.state, e.Trace())
		}
	}
	if diff := cmp.Diff(map[string]any{"agent": "debug", "before": "plan", "count": json.Number("8")},
		e.Vars()); diff != "" {
		t.Error(diff)
	}
}

// TestLacking checks that an action that needs a missing member is omitted, and that this is reported.
func TestLacking(t *testing.T) {
	e := parse(t, "rules:\n- on: a\n  answer: [{send: '${/x/y}'}, {send: there}]").Engine(fixed())
	actions, matched := e.On(message("a", `{"x":1}`))
	if !matched || len(actions) != 1 || string(actions[0].Body) != "there" {
		t.Errorf("%+v", actions)
	}
	if got := e.Trace().Failed; len(got) != 1 || !strings.Contains(got[0], "the message has no /x/y") {
		t.Errorf("told: %v", got)
	}
}

// TestBounds checks that a variable cannot grow without end.
func TestBounds(t *testing.T) {
	const doubles = "vars: {x: '0123456789'}\nrules:\n- on: a\n  set: {x: '${x}${x}'}\n  answer: [{send: '${x}'}]"
	e := parse(t, doubles).Engine(fixed())
	most := 0
	for range 40 {
		actions, _ := e.On(message("a", `{}`))
		for _, a := range actions {
			most = max(most, len(a.Body))
		}
	}
	if most > script.MaxVar || most < script.MaxVar/4 {
		t.Errorf("it has grown to %d bytes", most)
	}
}

// FuzzParse checks that no input makes Parse panic, and that its errors have places.
func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "rules:\n- on: a\n  answer: [{send: {a: [1, '${id}']}}]"))
	f.Add([]byte("a: &b [*b]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := script.Parse("f", text)
		var e *script.Error
		if (s == nil) != (err != nil) || err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Column < 1) {
			t.Errorf("%v, %v", s, err)
		}
		if s != nil {
			e := s.Engine(fixed())
			e.Start()
			e.On(message("a", `{"a":1}`))
		}
	})
}

// BenchmarkOn measures a message that the last of twenty rules answers.
func BenchmarkOn(b *testing.B) {
	rules := "rules:\n"
	for i := range 20 {
		rules += fmt.Sprintf("- on: {type: a, where: {/n: %d}}\n  answer: [{send: {type: b, n: '${/n}', id: '${id}'}}]\n", i)
	}
	e := parse(b, rules).Engine(script.EngineOptions{})
	m := message("a", `{"n":19,"text":"`+strings.Repeat("x", 200)+`"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := e.On(m); !ok {
			b.Fatal("no rule matches")
		}
	}
}

// TestPlays: a script for another protocol or party says so at its place.
func TestPlays(t *testing.T) {
	s, err := script.Parse("x.yaml", []byte("script: s\nprotocol: agent-selct\nas: client\nrules: []"))
	if err != nil {
		t.Fatal(err)
	}
	want := `x.yaml:2:11: this script is for agent-selct, and protocol (--protocol) is agent-select ` +
		`(did you mean "agent-select"?)` + "\nx.yaml:3:5: this script plays client, and as (--as) is server"
	if err := s.Plays("agent-select", "server"); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if err := s.Plays("agent-selct", "client"); err != nil {
		t.Error(err)
	}
}
