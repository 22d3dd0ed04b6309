package target

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
)

// TestAgentMistakes: those of roles and of the wire of external-agent, one error each, with a place.
func TestAgentMistakes(t *testing.T) {
	const (
		head  = "protocol: external-agent\nurl: http://x\n"
		agent = "protocol: external-agent\nrole: agent\n"
	)
	for _, tt := range []struct{ reason, head, yaml, want string }{
		{"an unknown role", head, "role: hots",
			`p.yaml:3:7: role: unknown role "hots" of external-agent (known here: host, relay, agent)`},
		{"an empty role", head, "role: ''",
			`p.yaml:3:7: role: unknown role "" of external-agent (known here: host, relay, agent)`},
		{"a server", head, "role: server",
			`p.yaml:3:7: role: unknown role "server" of external-agent (known here: host, relay, agent)`},
		{"a role of another protocol", "url: http://x\n", "role: agent",
			`p.yaml:2:7: role: unknown role "agent" of agent-select (known here: server)`},
		{"the same, of session-chat", "protocol: session-chat\nurl: http://x\n", "role: relay",
			`p.yaml:3:7: role: unknown role "relay" of session-chat (known here: server)`},
		{"the wire of another protocol", head, "session-chat: {}",
			`p.yaml:3:1: session-chat: the protocol of this profile is external-agent (delete this section, or write protocol: session-chat)`},
		{"its wire, and no protocol", "url: http://x\n", "external-agent: {}",
			`p.yaml:2:1: external-agent: the protocol of this profile is agent-select (delete this section, or write protocol: external-agent)`},
		{"a driver of another protocol", head, "drivers: [sse]",
			`p.yaml:3:11: drivers[0]: unknown driver "sse" (known here: ws)`},
		{"an unknown capability", head, "capabilities: [two-agent]",
			`p.yaml:3:16: capabilities[0]: unknown capability "two-agent" (did you mean "two-agents"?)`},

		{"an agent with a URL", agent, "url: http://x\ncommand: {run: [x]}",
			`p.yaml:3:6: url: an agent is no server: it connects to the harness (delete the line; in command, {url} is where it is to connect to)`},
		{"an agent with an empty URL", agent, "url: ''\ncommand: {run: [x]}",
			`p.yaml:3:6: url: an agent is no server: it connects to the harness (delete the line; in command, {url} is where it is to connect to)`},
		{"an agent that nobody starts", agent, "",
			`p.yaml:2:7: role: nothing to test (give a command that starts the agent, or external-agent.agent.listen, to which it connects by itself)`},
		{"an agent that is to be ready", agent, "command: {run: [x], ready: {path: /h}}",
			`p.yaml:3:28: command.ready: an agent is ready once it has joined (delete it; see external-agent.agent.join)`},
		{"an agent without a program", agent, "command: {run: []}",
			`p.yaml:3:16: command.run: no program to run (write it like run: [./server, --port, "{port}"])`},
		{"a host without anything", "protocol: external-agent\n", "role: host",
			`p.yaml:1:1: url: nothing to test (give the url of a running target, or a command that starts one)`},
		{"an empty hook", head, "hooks: {user-says: ' '}",
			`p.yaml:3:20: hooks.user-says: no command (delete the line, or write : for a command that does nothing)`},

		{"an unknown key", head, "external-agent: {sesion: a}",
			`p.yaml:3:18: external-agent: unknown key "sesion" (did you mean "session"?)`},
		{"a relative path", head, "external-agent: {ws: {path: agent}}",
			`p.yaml:3:29: external-agent.ws.path: "agent" does not start with a slash`},
		{"a host of no role", head, "external-agent: {host-role: ''}",
			`p.yaml:3:29: external-agent.host-role: a host joins in some role (the default is host)`},
		{"a host in the agent's role", head, "external-agent: {host-role: agent}",
			`p.yaml:3:29: external-agent.host-role: "agent" is the role of the other party (the default is host)`},
		{"no session", head, "external-agent: {session: ''}",
			`p.yaml:3:27: external-agent.session: is empty (delete the line for the default)`},
		{"a placeholder that is none", head, "external-agent: {session: 's-{once}'}",
			`p.yaml:3:27: external-agent.session: {once} stands for nothing here (known here: {nonce})`},
		{"no study", head, "external-agent: {start: {study-id: ''}}",
			`p.yaml:3:36: external-agent.start.study-id: is empty (delete the line for the default)`},
		{"a placeholder that is none, in a participant", head, "external-agent: {start: {participant-id: 'P{n}'}}",
			`p.yaml:3:42: external-agent.start.participant-id: {n} stands for nothing here (known here: {nonce})`},

		{"a code that is the whole message", head, "external-agent: {fields: {error-code: ''}}",
			`p.yaml:3:39: external-agent.fields.error-code: the whole message cannot be one field (write a name or a pointer)`},
		{"no place for a code", head, "external-agent: {fields: {result-code: []}}",
			`p.yaml:3:40: external-agent.fields.result-code: no place (write a name or a pointer, or a list of them)`},
		{"one place twice", head, "external-agent: {fields: {result-code: [a, /a]}}",
			`p.yaml:3:44: external-agent.fields.result-code[1]: the place "/a" is given twice`},

		{"a call without a tool", head, "external-agent: {booking: [{params: {a: b}}]}",
			`p.yaml:3:28: external-agent.booking[0].tool: no tool (write it like {tool: select, params: {itemId: {pointer: /items/0/id}}})`},
		{"a tool of no name", head, "external-agent: {booking: [{tool: next}, {tool: ''}]}",
			`p.yaml:3:49: external-agent.booking[1].tool: no tool (write it like {tool: select, params: {itemId: {pointer: /items/0/id}}})`},
		{"the bare name of a tool", head, "external-agent: {booking: [next]}",
			`p.yaml:3:28: external-agent.booking[0]: expected a mapping, found text`},
		{"an unknown key of a call", head, "external-agent: {booking: [{tool: a, param: {}}]}",
			`p.yaml:3:38: external-agent.booking[0]: unknown key "param" (did you mean "params"?)`},
		{"params that are a list", head, "external-agent: {booking: [{tool: a, params: []}]}",
			`p.yaml:3:46: external-agent.booking[0].params: expected a mapping, found a list`},
		{"a bad pointer", head, "external-agent: {booking: [{tool: a, params: {x: {pointer: items.0}}}]}",
			`p.yaml:3:60: external-agent.booking[0].params.x.pointer: "items.0" is neither a name nor a JSON Pointer (write it like {pointer: /items/0/id})`},
		{"a bad escape", head, "external-agent: {booking: [{tool: a, params: {x: {pointer: /a~2}}}]}",
			`p.yaml:3:60: external-agent.booking[0].params.x.pointer: "/a~2" is no JSON Pointer: ~ must be written ~0, and / within a name ~1 (write it like {pointer: /items/0/id})`},
		{"a pointer that is a number", head, "external-agent: {booking: [{tool: a, params: {x: {pointer: 0}}}]}",
			`p.yaml:3:60: external-agent.booking[0].params.x.pointer: a JSON Pointer is text (write it like {pointer: /items/0/id})`},
		{"a pointer to nothing", head, "external-agent: {booking: [{tool: a, params: {x: {pointer: }}}]}",
			`p.yaml:3:51: external-agent.booking[0].params.x.pointer: a JSON Pointer is text (write it like {pointer: /items/0/id})`},
		{"a pointer beside something", head, "external-agent: {booking: [{tool: a, params: {x: {pointer: /a, or: b}}}]}",
			`p.yaml:3:50: external-agent.booking[0].params.x: pointer beside other keys (write it like {pointer: /items/0/id})`},
		{"a bad pointer within a list", head, "external-agent: {booking: [{tool: a, params: {x: [1, {pointer: a.b}]}}]}",
			`p.yaml:3:64: external-agent.booking[0].params.x[1].pointer: "a.b" is neither a name nor a JSON Pointer (write it like {pointer: /items/0/id})`},
		{"a bad pointer within a mapping", head, "external-agent: {booking: [{tool: a, params: {x: {y: {pointer: a.b}}}}]}",
			`p.yaml:3:64: external-agent.booking[0].params.x.y.pointer: "a.b" is neither a name nor a JSON Pointer (write it like {pointer: /items/0/id})`},

		{"a provocation that is a call", head, "external-agent: {provoke: {tool-failure: {tool: next}}}",
			`p.yaml:3:42: external-agent.provoke.tool-failure: expected a list, found a mapping`},
		{"a call of a provocation without a tool", head, "external-agent: {provoke: {tool-failure: [{booking: true}, {params: {}}]}}",
			`p.yaml:3:60: external-agent.provoke.tool-failure[1].tool: no tool (write it like {tool: select, params: {itemId: {pointer: /items/0/id}}})`},
		{"an entry that is nothing", head, "external-agent: {provoke: {tool-failure: [{}]}}",
			`p.yaml:3:43: external-agent.provoke.tool-failure[0].tool: no tool (write it like {tool: select, params: {itemId: {pointer: /items/0/id}}})`},
		{"no booking, in words", head, "external-agent: {provoke: {tool-failure: [{booking: false}, {tool: a}]}}",
			`p.yaml:3:53: external-agent.provoke.tool-failure[0].booking: only true has a meaning here (write {booking: true}, or delete it)`},
		{"the booking and a call in one entry", head, "external-agent: {provoke: {tool-failure: [{booking: true, tool: a}]}}",
			`p.yaml:3:43: external-agent.provoke.tool-failure[0]: booking beside other keys (write the calls as entries of their own)`},
		{"the booking after a call", head, "external-agent: {provoke: {tool-failure: [{tool: a}, {booking: true}]}}",
			`p.yaml:3:54: external-agent.provoke.tool-failure[1]: the booking is not the first entry (calls are made from a new session, or after the whole booking)`},
		{"the booking alone", head, "external-agent: {provoke: {tool-failure: [{booking: true}]}}",
			`p.yaml:3:42: external-agent.provoke.tool-failure: no call after the booking (give the one that is to fail)`},
		{"after a booking that there is not", head, "external-agent: {booking: [], provoke: {tool-failure: [{booking: true}, {tool: a}]}}",
			`p.yaml:3:55: external-agent.provoke.tool-failure: there is no booking to come after (give external-agent.booking, or calls that need none)`},

		{"a flow that is not there", agent, "command: {run: [x]}\nexternal-agent: {flow: none.yaml}",
			`p.yaml:4:24: external-agent.flow: "none.yaml" cannot be read: no such file or directory (a path relative to this profile)`},
		{"a flow that is a folder", agent, "command: {run: [x]}\nexternal-agent: {flow: .}",
			`p.yaml:4:24: external-agent.flow: "." is no file (a path relative to this profile)`},
		{"a relay's flow that is not there", head, "role: relay\nexternal-agent: {flow: none.yaml}",
			`p.yaml:4:24: external-agent.flow: "none.yaml" cannot be read: no such file or directory (a path relative to this profile)`},
		{"a time without a unit", head, "external-agent: {agent: {join: 5}}",
			`p.yaml:3:32: external-agent.agent.join: 5 has no unit (write 5s or 5ms)`},
		{"no time at all", head, "external-agent: {agent: {pace: 0s}}",
			`p.yaml:3:32: external-agent.agent.pace: 0s is not more than nothing (write a number with its unit, like 2s or 150ms)`},
		{"a port alone", agent, "external-agent: {agent: {listen: '8080'}}",
			`p.yaml:3:34: external-agent.agent.listen: "8080" is no address (write it like 127.0.0.1:8080)`},
		{"a port that is not known before", agent, "external-agent: {agent: {listen: '127.0.0.1:0'}}",
			`p.yaml:3:34: external-agent.agent.listen: "0" is no port (1 to 65535: the agent has to know it)`},
		{"every interface", agent, "external-agent: {agent: {listen: ':8080'}}",
			`p.yaml:3:34: external-agent.agent.listen: ":8080" is not on loopback: the harness lets in whoever connects, so that nobody else may reach it (write it like 127.0.0.1:8080, and lead an agent on another machine there by a tunnel)`},
		{"an address of the network", agent, "external-agent: {agent: {listen: '192.0.2.1:8080'}}",
			`p.yaml:3:34: external-agent.agent.listen: "192.0.2.1:8080" is not on loopback: the harness lets in whoever connects, so that nobody else may reach it (write it like 127.0.0.1:8080, and lead an agent on another machine there by a tunnel)`},
	} {
		t.Run(tt.reason, func(t *testing.T) { mistaken(t, tt.head+tt.yaml+"\n", tt.want) })
	}
}

func TestParseAgent(t *testing.T) {
	type change = func(*Profile)
	wire := func(f func(*ExternalAgent)) change {
		return func(p *Profile) { p.URL = "http://x"; f(&p.ExternalAgent) }
	}
	command := func(p *Profile) {
		p.Role, p.Command = externalagent.Agent, &Command{Run: []string{"x"}}
		p.Command.defaults()
	}
	for _, tt := range []struct {
		reason, yaml string
		want         change
	}{
		{"a URL is enough", "url: http://x", wire(func(*ExternalAgent) {})},
		{"a relay", "url: http://x\nrole: relay", func(p *Profile) { p.URL, p.Role = "http://x", externalagent.Relay }},
		{"its driver and its capabilities", "url: http://x\ndrivers: [ws]\ncapabilities: [relay-sessions, two-agents, reconnect]",
			func(p *Profile) {
				p.URL, p.Capabilities = "http://x", []string{RelaySessions, TwoAgents, Reconnect}
			}},
		{"a host by a command", "command: {run: [x]}", func(p *Profile) {
			command(p)
			p.Role, p.URL = externalagent.Host, "http://127.0.0.1:{port}"
		}},
		{"an agent by a command", "role: agent\ncommand: {run: [x]}", command},
		{"an agent that comes by itself", "role: agent\nexternal-agent: {agent: {listen: 'localhost:8080'}}", func(p *Profile) {
			p.Role, p.ExternalAgent.Agent.Listen = externalagent.Agent, "localhost:8080"
		}},
		{"the other loopback", "role: agent\nexternal-agent: {agent: {listen: '[::1]:8080', join: 1m, pace: 90s}}", func(p *Profile) {
			p.Role = externalagent.Agent
			p.ExternalAgent.Agent = AgentSide{"[::1]:8080", Duration{time.Minute}, Duration{90 * time.Second}}
		}},
		{"what is of no use is no mistake", "url: http://x\nexternal-agent: {flow: none, agent: {listen: '127.0.0.1:1'}}",
			wire(func(e *ExternalAgent) { e.Flow, e.Agent.Listen = "none", "127.0.0.1:1" })},
		{"a hook", "url: http://x\nhooks: {user-says: ./say.sh}",
			func(p *Profile) { p.URL, p.Hooks.UserSays = "http://x", "./say.sh" }},
		{"a part of a section keeps the other defaults", "url: http://x\nexternal-agent: {ws: {subprotocols: [v1]}, start: {study-id: 'p-{nonce}'}, logs: '{dir}/logs'}",
			wire(func(e *ExternalAgent) {
				e.WS.Subprotocols, e.Start.StudyID, e.Logs = []string{"v1"}, "p-{nonce}", "{dir}/logs"
			})},
		{"a host that calls itself something else, in a session per scenario", "url: http://x\nexternal-agent: {host-role: frontend, session: 's-{nonce}'}",
			wire(func(e *ExternalAgent) { e.HostRole, e.Session = externalagent.FrontendRole, "s-{nonce}" })},
		{"codes elsewhere", "url: http://x\nexternal-agent: {fields: {error-code: /error/code, result-code: code}}",
			wire(func(e *ExternalAgent) { e.Fields = CodeFields{"/error/code", Pointers{"/code"}} })},
		{"no booking", "url: http://x\nexternal-agent: {booking: []}", wire(func(e *ExternalAgent) { e.Booking = nil })},
		{"params of every kind", "url: http://x\nexternal-agent: {booking: [{tool: a}, {tool: b, params: {n: null, i: 1, f: -1.5, s: x, name: {pointer: id}, all: {pointer: ''}, l: [{pointer: /a/0}, y], m: {k: {pointer: /b}, pointers: z}}}]}",
			wire(func(e *ExternalAgent) {
				e.Booking = []ToolCall{{Tool: "a"}, {"b", map[string]Value{
					"n": {nil}, "i": {uint64(1)}, "f": {-1.5}, "s": {"x"}, "name": {Pointer("/id")}, "all": {Pointer("")},
					"l": {[]any{Pointer("/a/0"), "y"}}, "m": {map[string]any{"k": Pointer("/b"), "pointers": "z"}},
				}}}
			})},
		{"other provocations", "url: http://x\nexternal-agent: {provoke: {no-active-spec: [], tool-failure: [{booking: true}, {tool: a}, {tool: b, params: {x: 1}}]}}",
			wire(func(e *ExternalAgent) {
				e.Provoke = Provocations{ToolFailure: Provocation{true, []ToolCall{
					{Tool: "a"}, {"b", map[string]Value{"x": {uint64(1)}}},
				}}}
			})},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			want := DefaultFor(externalagent.Protocol)
			want.Name = "profile"
			tt.want(want)
			got := parse(t, tt.yaml+"\nprotocol: external-agent\n")
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, yaml := range []string{"url: http://x\nrole: server\n", "url: http://x\nprotocol: session-chat\nrole: server\n"} {
		if got := parse(t, yaml); got.Role != Server {
			t.Errorf("%q: role %q", yaml, got.Role)
		}
	}
}

func TestRoles(t *testing.T) {
	for _, tt := range []struct {
		protocol string
		want     []string
	}{
		{"agent-select", []string{"server"}},
		{"session-chat", []string{"server"}},
		{"external-agent", []string{"host", "relay", "agent"}},
		{"session-runtime", []string{"server"}},
		{"none", nil},
	} {
		got := Roles(tt.protocol)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.protocol, diff)
		}
		if len(got) == 0 {
			continue
		}
		if role := DefaultFor(tt.protocol).Role; role != got[0] {
			t.Errorf("%s: the default is %q", tt.protocol, role)
		}
		if got[0] = "changed"; Roles(tt.protocol)[0] == "changed" {
			t.Errorf("%s: the list is not the caller's own", tt.protocol)
		}
	}
	if diff := cmp.Diff([]string{"relay-sessions", "two-agents", "reconnect"}, Capabilities(externalagent.Protocol)); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
}

// TestFlowFile: it is meant from the folder of the profile, whatever the working directory.
func TestFlowFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	write := func(flow string) {
		t.Helper()
		text := "protocol: external-agent\nrole: agent\ncommand: {run: [x]}\n" + flow
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "flow.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ reason, yaml, want string }{
		{"the built-in one", "", ""},
		{"a relative path", "external-agent: {flow: flow.json}", filepath.Join(dir, "flow.json")},
		{"an absolute path", "external-agent: {flow: " + filepath.Join(dir, "flow.json") + "}", filepath.Join(dir, "flow.json")},
	} {
		write(tt.yaml)
		p, err := Load(file)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if got := p.FlowFile(); got != tt.want || p.Dir != dir || p.Path != file {
			t.Errorf("%s: %s, want %s (profile %s in %s)", tt.reason, got, tt.want, p.Path, p.Dir)
		}
	}
	write("external-agent: {flow: none.json}")
	if _, err := Load(file); err == nil {
		t.Error("a flow that is not there is no mistake")
	}
}

func TestForURLOfAgent(t *testing.T) {
	for _, tt := range []struct{ reason, url, base, path, name string }{
		{"an http URL", "http://x:80/base/", "http://x:80/base", "/agent/ws", "x:80"},
		{"a WebSocket without a path", "ws://x:80/", "http://x:80", "/agent/ws", "x:80"},
		{"a WebSocket at the default path", "wss://x/agent/ws", "https://x", "/agent/ws", "x"},
		{"a WebSocket anywhere", "ws://x/api/ws", "http://x", "/api/ws", "x"},
	} {
		p, err := ForURLOf(externalagent.Protocol, tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		want := []string{externalagent.Host, tt.base, tt.path, tt.name}
		if diff := cmp.Diff(want, []string{p.Role, p.URL, p.ExternalAgent.WS.Path, p.Name}); diff != "" {
			t.Errorf("%s: role, URL, path, name (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestParallelAgents(t *testing.T) {
	for _, tt := range []struct {
		reason, role string
		change       func(*ExternalAgent)
		want         int
	}{
		{"a host in one session", externalagent.Host, func(*ExternalAgent) {}, 1},
		{"a host in a session per scenario", externalagent.Host, func(e *ExternalAgent) { e.Session = "s-{nonce}" }, 3},
		{"a relay in one session", externalagent.Relay, func(*ExternalAgent) {}, 1},
		{"a relay in a session per scenario", externalagent.Relay, func(e *ExternalAgent) { e.Session = "{nonce}" }, 3},
		{"an agent that is started", externalagent.Agent, func(*ExternalAgent) {}, 3},
		{"an agent that knows one address", externalagent.Agent, func(e *ExternalAgent) { e.Agent.Listen = "127.0.0.1:8080" }, 1},
		{"a host, and an address that is of no use", externalagent.Host, func(e *ExternalAgent) {
			e.Session, e.Agent.Listen = "{nonce}", "127.0.0.1:8080"
		}, 3},
	} {
		p := DefaultFor(externalagent.Protocol)
		p.Role, p.Concurrency = tt.role, 3
		tt.change(&p.ExternalAgent)
		if got := p.Parallel(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.reason, got, tt.want)
		}
	}
	p := DefaultFor(sessionchat.Protocol)
	if p.Role = externalagent.Agent; p.Dials() {
		t.Error("a target of another protocol connects to the harness")
	}
}

func TestNonce(t *testing.T) {
	e := DefaultExternalAgent()
	if got := e.SessionFor("n1"); got != "default" {
		t.Errorf("a session for all: %s", got)
	}
	e.Session = "{nonce}-s-{nonce}"
	if got := e.SessionFor("n1"); got != "n1-s-n1" {
		t.Errorf("a session per scenario: %s", got)
	}
	got := StudyStart{"study", "P-{nonce}"}.For("n1")
	if diff := cmp.Diff(StudyStart{"study", "P-n1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValue(t *testing.T) {
	type object = map[string]any
	spec := object{"items": []any{object{"id": "m1"}, nil}}
	for _, tt := range []struct {
		reason string
		of     any
		want   any
		ok     bool
	}{
		{"a literal", "x", "x", true},
		{"null", nil, nil, true},
		{"from the uiSpec", Pointer("/items/0/id"), "m1", true},
		{"null from the uiSpec", Pointer("/items/1"), nil, true},
		{"the whole uiSpec", Pointer(""), spec, true},
		{"what the uiSpec does not have", Pointer("/items/2"), nil, false},
		{"within a list", []any{1, Pointer("/items/0/id")}, []any{1, "m1"}, true},
		{"within a mapping", object{"a": object{"b": Pointer("/items/0/id")}}, object{"a": object{"b": "m1"}}, true},
		{"a list that lacks something", []any{Pointer("/x")}, nil, false},
		{"a mapping that lacks something", object{"a": 1, "b": Pointer("/x")}, nil, false},
	} {
		got, ok := Value{tt.of}.Resolve(spec)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("%s: ok is %v (-want +got):\n%s", tt.reason, ok, diff)
		}
	}
	if _, ok := (Value{Pointer("/items")}).Resolve(nil); ok {
		t.Error("a uiSpec of null has items")
	}
	template := []any{object{"a": 1}}
	got, _ := Value{template}.Resolve(nil)
	got.([]any)[0].(object)["a"] = 2
	if template[0].(object)["a"] != 1 {
		t.Error("what a caller does with the value changes the profile")
	}
}

// TestValueInAnotherFile: a call is read as in a profile.
func TestValueInAnotherFile(t *testing.T) {
	for _, tt := range []struct {
		reason, yaml string
		want         []ToolCall
		err          string
	}{
		{"calls", "- {tool: a}\n- {tool: b, params: {x: {pointer: /items/0/id}, y: [{pointer: z}, 1, null]}}\n", []ToolCall{
			{Tool: "a"}, {"b", map[string]Value{"x": {Pointer("/items/0/id")}, "y": {[]any{Pointer("/z"), uint64(1), nil}}}},
		}, ""},
		{"a bad pointer", "- {tool: a, params: {x: [{pointer: a.b}]}}\n", nil,
			`[0].pointer: "a.b" is neither a name nor a JSON Pointer (write it like {pointer: /items/0/id})`},
		{"a pointer beside something", "- {tool: a, params: {x: {pointer: /a, or: b}}}\n", nil,
			`pointer beside other keys (write it like {pointer: /items/0/id})`},
	} {
		var got []ToolCall
		err := yaml.UnmarshalWithOptions([]byte(tt.yaml), &got, yaml.Strict())
		if err != nil || tt.err != "" {
			var at *ProfileError
			if !errors.As(err, &at) || at.Error() != tt.err {
				t.Errorf("%s: got %v, want %s", tt.reason, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestParamsFor(t *testing.T) {
	spec := map[string]any{"items": []any{map[string]any{"id": "adult"}}}
	call := ToolCall{"setQuantity", map[string]Value{"itemId": {Pointer("/items/0/id")}, "quantity": {uint64(1)}}}
	got, err := call.ParamsFor(spec)
	if diff := cmp.Diff(map[string]any{"itemId": "adult", "quantity": uint64(1)}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	_, err = call.ParamsFor(map[string]any{"items": []any{}})
	if err == nil || err.Error() != "param itemId of setQuantity: the uiSpec has nothing at /items/0/id" {
		t.Errorf("what the uiSpec does not have: %v", err)
	}
	if got, err := (ToolCall{Tool: "next"}).ParamsFor(nil); got == nil || len(got) > 0 || err != nil {
		t.Errorf("no params: %v, %v", got, err)
	}
}

func TestCallsOf(t *testing.T) {
	next, a := ToolCall{Tool: "next"}, ToolCall{Tool: "a"}
	for _, tt := range []struct {
		reason  string
		booking []ToolCall
		p       Provocation
		want    []ToolCall
	}{
		{"from a new session", []ToolCall{a}, Provocation{Calls: []ToolCall{next}}, []ToolCall{next}},
		{"after the booking", []ToolCall{a, a}, Provocation{true, []ToolCall{next}}, []ToolCall{a, a, next}},
		{"nothing", []ToolCall{a}, Provocation{}, nil},
		{"after a booking that is not known", nil, Provocation{true, []ToolCall{next}}, nil},
		{"without a booking", nil, Provocation{Calls: []ToolCall{next}}, []ToolCall{next}},
	} {
		e := ExternalAgent{Booking: tt.booking}
		if diff := cmp.Diff(tt.want, e.CallsOf(tt.p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	e := DefaultExternalAgent()
	var tools []string
	for _, c := range e.CallsOf(e.Provoke.NoActiveSpec) {
		tools = append(tools, c.Tool)
	}
	want := []string{
		"select", "next", "select", "next", "select", "next", "select", "next", "select", "next", "setQuantity", "next", "next", "next",
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Errorf("the default (-want +got):\n%s", diff)
	}
}
