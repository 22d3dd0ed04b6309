package binding

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/protocol/externalagent"
	agentselect "parley/steps/agentselect/binding"
	"parley/target"
)

const (
	agentMistakesHead  = "protocol: external-agent\nurl: http://x\n"
	agentMistakesAgent = "protocol: external-agent\nrole: agent\n"
)

// mendWhere is how mistakes in a filter are mended.
const mendWhere = ` (write it like {pointer: /items/*/id, where: {isDisabled: false}})`

var agentMistakesRows = []struct{ reason, head, yaml, want string }{
	{"an unknown role", agentMistakesHead, "role: hots",
		`p.yaml:3:7: role: unknown role "hots" of external-agent (known here: host, relay, agent)`},
	{"an empty role", agentMistakesHead, "role: ''",
		`p.yaml:3:7: role: unknown role "" of external-agent (known here: host, relay, agent)`},
	{"a server", agentMistakesHead, "role: server",
		`p.yaml:3:7: role: unknown role "server" of external-agent (known here: host, relay, agent)`},
	{"a role of another protocol", "url: http://x\n", "role: agent",
		`p.yaml:2:7: role: unknown role "agent" of agent-select (known here: server)`},
	{"the same, of session-chat", "protocol: session-chat\nurl: http://x\n", "role: relay",
		`p.yaml:3:7: role: unknown role "relay" of session-chat (known here: server)`},
	{"the wire of another protocol", agentMistakesHead, "session-chat: {}",
		`p.yaml:3:1: session-chat: the protocol of this profile is external-agent (delete this section, or write ` +
			`protocol: session-chat)`},
	{"its wire, and no protocol", "url: http://x\n", "external-agent: {}",
		`p.yaml:2:1: external-agent: the protocol of this profile is agent-select (delete this section, or write ` +
			`protocol: external-agent)`},
	{"a driver of another protocol", agentMistakesHead, "drivers: [sse]",
		`p.yaml:3:11: drivers[0]: unknown driver "sse" (known here: ws)`},
	{"an unknown capability", agentMistakesHead, "capabilities: [two-agent]",
		`p.yaml:3:16: capabilities[0]: unknown capability "two-agent" (did you mean "two-agents"?)`},

	{"an agent with a URL", agentMistakesAgent, "url: http://x\ncommand: {run: [x]}",
		`p.yaml:3:6: url: an agent is not a server: it connects to the harness (delete the line; in command, {url} ` +
			`stands for the address to connect to)`},
	{"an agent with an empty URL", agentMistakesAgent, "url: ''\ncommand: {run: [x]}",
		`p.yaml:3:6: url: an agent is not a server: it connects to the harness (delete the line; in command, {url} ` +
			`stands for the address to connect to)`},
	{"an agent that is neither started nor listened for", agentMistakesAgent, "",
		`p.yaml:2:7: role: nothing to test (give a command that starts the agent, or external-agent.agent.listen, to ` +
			`which it connects by itself, or hooks.call, which has it connect)`},
	{"an agent with a readiness check", agentMistakesAgent, "command: {run: [x], ready: {path: /h}}",
		`p.yaml:3:28: command.ready: an agent is ready once it has joined (delete it; see external-agent.agent.join)`},
	{"an agent without a program", agentMistakesAgent, "command: {run: []}",
		`p.yaml:3:16: command.run: no program to run (write it like run: [./server, --port, "{port}"])`},
	{"a host without anything", "protocol: external-agent\n", "role: host",
		`p.yaml:1:1: url: nothing to test (give the url of a running target, or a command that starts one)`},
	{"an empty hook", agentMistakesHead, "hooks: {user-says: ' '}",
		`p.yaml:3:20: hooks.user-says: no command (delete the line, or write : for a command that does nothing)`},

	{"an unknown key", agentMistakesHead, "external-agent: {sesion: a}",
		`p.yaml:3:18: external-agent: unknown key "sesion" (did you mean "session"?)`},
	{"a relative path", agentMistakesHead, "external-agent: {ws: {path: agent}}",
		`p.yaml:3:29: external-agent.ws.path: "agent" does not start with a slash`},
	{"an empty host role", agentMistakesHead, "external-agent: {host-role: ''}",
		`p.yaml:3:29: external-agent.host-role: a host joins in some role (the default is host)`},
	{"a host in the agent's role", agentMistakesHead, "external-agent: {host-role: agent}",
		`p.yaml:3:29: external-agent.host-role: "agent" is the role of the agent (the default is host)`},
	{"no session", agentMistakesHead, "external-agent: {session: ''}",
		`p.yaml:3:27: external-agent.session: is empty (delete the line for the default)`},
	{"an unknown placeholder", agentMistakesHead, "external-agent: {session: 's-{once}'}",
		`p.yaml:3:27: external-agent.session: {once} has no meaning here (known here: {nonce})`},
	{"no study", agentMistakesHead, "external-agent: {start: {study-id: ''}}",
		`p.yaml:3:36: external-agent.start.study-id: is empty (delete the line for the default)`},
	{"an unknown placeholder in a participant", agentMistakesHead,
		"external-agent: {start: {participant-id: 'P{n}'}}",
		`p.yaml:3:42: external-agent.start.participant-id: {n} has no meaning here (known here: {nonce})`},

	{"a code at the whole message", agentMistakesHead, "external-agent: {fields: {error-code: ''}}",
		`p.yaml:3:39: external-agent.fields.error-code: the whole message cannot be one field (write a name or a pointer)`},
	{"no place for a code", agentMistakesHead, "external-agent: {fields: {result-code: []}}",
		`p.yaml:3:40: external-agent.fields.result-code: no place (write a name or a pointer, or a list of them)`},
	{"one place twice", agentMistakesHead, "external-agent: {fields: {result-code: [a, /a]}}",
		`p.yaml:3:44: external-agent.fields.result-code[1]: the place "/a" is given twice`},

	{"a call without a tool", agentMistakesHead, "external-agent: {booking: [{params: {a: b}}]}",
		`p.yaml:3:28: external-agent.booking[0].tool: no tool (write it like {tool: select, params: {itemId: {pointer: ` +
			`/items/0/id}}})`},
	{"a tool with an empty name", agentMistakesHead, "external-agent: {booking: [{tool: next}, {tool: ''}]}",
		`p.yaml:3:49: external-agent.booking[1].tool: no tool (write it like {tool: select, params: {itemId: {pointer: ` +
			`/items/0/id}}})`},
	{"the bare name of a tool", agentMistakesHead, "external-agent: {booking: [next]}",
		`p.yaml:3:28: external-agent.booking[0]: expected a mapping, found text`},
	{"an unknown key of a call", agentMistakesHead, "external-agent: {booking: [{tool: a, param: {}}]}",
		`p.yaml:3:38: external-agent.booking[0]: unknown key "param" (did you mean "params"?)`},
	{"params that are a list", agentMistakesHead, "external-agent: {booking: [{tool: a, params: []}]}",
		`p.yaml:3:46: external-agent.booking[0].params: expected a mapping, found a list`},
	{"a bad pointer", agentMistakesHead, "external-agent: {booking: [{tool: a, params: {x: {pointer: items.0}}}]}",
		`p.yaml:3:60: external-agent.booking[0].params.x.pointer: "items.0" is neither a name nor a JSON Pointer (write ` +
			`it like {pointer: /items/0/id})`},
	{"a bad escape", agentMistakesHead, "external-agent: {booking: [{tool: a, params: {x: {pointer: /a~2}}}]}",
		`p.yaml:3:60: external-agent.booking[0].params.x.pointer: "/a~2" is not a JSON Pointer: ~ must be written ~0, and ` +
			`/ within a name ~1 (write it like {pointer: /items/0/id})`},
	{"a pointer that is a number", agentMistakesHead, "external-agent: {booking: [{tool: a, params: {x: {pointer: 0}}}]}",
		`p.yaml:3:60: external-agent.booking[0].params.x.pointer: a JSON Pointer is text (write it like {pointer: ` +
			`/items/0/id})`},
	{"a pointer to nothing", agentMistakesHead, "external-agent: {booking: [{tool: a, params: {x: {pointer: }}}]}",
		`p.yaml:3:51: external-agent.booking[0].params.x.pointer: a JSON Pointer is text (write it like {pointer: ` +
			`/items/0/id})`},
	{"a pointer beside something", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: {pointer: /a, or: b}}}]}",
		`p.yaml:3:50: external-agent.booking[0].params.x: pointer next to other keys (write it like {pointer: /items/0/id})`},
	{"a filter with a mistyped key", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: {pointer: /a/*, were: {b: 1}}}}]}",
		`p.yaml:3:72: external-agent.booking[0].params.x.were: unknown key "were" (did you mean "where"?)`},
	{"a filter beside something", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: {pointer: /a/*, where: {b: 1}, first: true}}}]}",
		`p.yaml:3:50: external-agent.booking[0].params.x: pointer next to other keys (write it like {pointer: /items/0/id})`},
	{"a filter with nothing to choose from", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: {pointer: /items/0/id, where: {a: 1}}}}]}",
		`p.yaml:3:60: external-agent.booking[0].params.x.pointer: where chooses an element of a list, but "/items/0/id" ` +
			`has no * in the place of one` + mendWhere},
	{"a filter without members", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: {pointer: /items/*/id, where: {}}}}]}",
		`p.yaml:3:80: external-agent.booking[0].params.x.where: names no member` + mendWhere},
	{"several mistakes in filters", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: [{pointer: /items, where: free}, {pointer: /a/*, where: " +
			"{b.c: 1, d: 2, /d: 2}}]}}]}",
		`p.yaml:3:61: external-agent.booking[0].params.x[0].pointer: where chooses an element of a list, but "/items" ` +
			`has no * in the place of one` + mendWhere + "\n" +
			`p.yaml:3:76: external-agent.booking[0].params.x[0].where: expected a mapping of members to their values` +
			mendWhere + "\n" +
			`p.yaml:3:112: external-agent.booking[0].params.x[1].where.b.c: "b.c" is neither a name nor a JSON Pointer` +
			mendWhere + "\n" +
			`p.yaml:3:118: external-agent.booking[0].params.x[1].where.d: the member "/d" is given twice` + mendWhere},
	{"a bad pointer within a list", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: [1, {pointer: a.b}]}}]}",
		`p.yaml:3:64: external-agent.booking[0].params.x[1].pointer: "a.b" is neither a name nor a JSON Pointer (write ` +
			`it like {pointer: /items/0/id})`},
	{"a bad pointer within a mapping", agentMistakesHead,
		"external-agent: {booking: [{tool: a, params: {x: {y: {pointer: a.b}}}}]}",
		`p.yaml:3:64: external-agent.booking[0].params.x.y.pointer: "a.b" is neither a name nor a JSON Pointer (write it ` +
			`like {pointer: /items/0/id})`},

	{"a provocation that is a call", agentMistakesHead, "external-agent: {provoke: {tool-failure: {tool: next}}}",
		`p.yaml:3:42: external-agent.provoke.tool-failure: expected a list, found a mapping`},
	{"a call of a provocation without a tool", agentMistakesHead,
		"external-agent: {provoke: {tool-failure: [{booking: true}, {params: {}}]}}",
		`p.yaml:3:60: external-agent.provoke.tool-failure[1].tool: no tool (write it like {tool: select, params: ` +
			`{itemId: {pointer: /items/0/id}}})`},
	{"an empty entry", agentMistakesHead, "external-agent: {provoke: {tool-failure: [{}]}}",
		`p.yaml:3:43: external-agent.provoke.tool-failure[0].tool: no tool (write it like {tool: select, params: ` +
			`{itemId: {pointer: /items/0/id}}})`},
	{"no booking, in words", agentMistakesHead, "external-agent: {provoke: {tool-failure: [{booking: false}, {tool: a}]}}",
		`p.yaml:3:53: external-agent.provoke.tool-failure[0].booking: only true has a meaning here (write {booking: ` +
			`true}, or delete it)`},
	{"the booking and a call in one entry", agentMistakesHead,
		"external-agent: {provoke: {tool-failure: [{booking: true, tool: a}]}}",
		`p.yaml:3:43: external-agent.provoke.tool-failure[0]: booking next to other keys (write the calls as entries of ` +
			`their own)`},
	{"the booking after a call", agentMistakesHead,
		"external-agent: {provoke: {tool-failure: [{tool: a}, {booking: true}]}}",
		`p.yaml:3:54: external-agent.provoke.tool-failure[1]: the booking is not the first entry (calls are made from a ` +
			`new session, or after the whole booking)`},
	{"the booking alone", agentMistakesHead, "external-agent: {provoke: {tool-failure: [{booking: true}]}}",
		`p.yaml:3:42: external-agent.provoke.tool-failure: no call after the booking (give the one that is to fail)`},
	{"after an empty booking", agentMistakesHead,
		"external-agent: {booking: [], provoke: {tool-failure: [{booking: true}, {tool: a}]}}",
		`p.yaml:3:55: external-agent.provoke.tool-failure: there is no booking for the calls to follow (give ` +
			`external-agent.booking, or calls that need none)`},

	{"a missing flow file", agentMistakesAgent, "command: {run: [x]}\nexternal-agent: {flow: none.yaml}",
		`p.yaml:4:24: external-agent.flow: "none.yaml" cannot be read: no such file or directory (a path relative to ` +
			`this profile)`},
	{"a flow that is a folder", agentMistakesAgent, "command: {run: [x]}\nexternal-agent: {flow: .}",
		`p.yaml:4:24: external-agent.flow: "." is not a file (a path relative to this profile)`},
	{"a missing flow file for a relay", agentMistakesHead, "role: relay\nexternal-agent: {flow: none.yaml}",
		`p.yaml:4:24: external-agent.flow: "none.yaml" cannot be read: no such file or directory (a path relative to ` +
			`this profile)`},
	{"a time without a unit", agentMistakesHead, "external-agent: {agent: {join: 5}}",
		`p.yaml:3:32: external-agent.agent.join: 5 has no unit (write 5s or 5ms)`},
	{"no time at all", agentMistakesHead, "external-agent: {agent: {pace: 0s}}",
		`p.yaml:3:32: external-agent.agent.pace: 0s is not positive (write a number with its unit, like 2s or ` +
			`150ms)`},
	{"a host that is asked to act", agentMistakesHead, "hooks: {call: ./call}",
		`p.yaml:3:15: hooks.call: only an agent is asked to act, and the role is host (delete the line)`},
	{"a port alone", agentMistakesAgent, "external-agent: {agent: {listen: '8080'}}",
		`p.yaml:3:34: external-agent.agent.listen: "8080" is not an address (write it like 127.0.0.1:8080)`},
	{"a port that is not known in advance", agentMistakesAgent, "external-agent: {agent: {listen: '127.0.0.1:0'}}",
		`p.yaml:3:34: external-agent.agent.listen: "0" is not a port (1 to 65535: the agent has to know it)`},
	{"every interface", agentMistakesAgent, "external-agent: {agent: {listen: ':8080'}}",
		`p.yaml:3:34: external-agent.agent.listen: ":8080" is not on loopback: the harness accepts every connection, so ` +
			`other machines must not be able to reach it (write it like 127.0.0.1:8080, and use a tunnel for an agent on ` +
			`another machine)`},
	{"an address of the network", agentMistakesAgent, "external-agent: {agent: {listen: '192.0.2.1:8080'}}",
		`p.yaml:3:34: external-agent.agent.listen: "192.0.2.1:8080" is not on loopback: the harness accepts every ` +
			`connection, so other machines must not be able to reach it (write it like 127.0.0.1:8080, and use a tunnel for ` +
			`an agent on another machine)`},
}

// TestAgentMistakes checks mistakes in the role and the wire of external-agent: one error each, with a place.
func TestAgentMistakes(t *testing.T) {

	for _, tt := range agentMistakesRows {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.head+tt.yaml+"\n", tt.want) })
	}
}

type parseAgentChange = func(*target.Profile)

var parseAgentWire = func(f func(*Binding)) parseAgentChange {
	return func(p *target.Profile) { p.URL = "http://x"; f(Of(p)) }
}

var parseAgentCommand = func(p *target.Profile) {
	p.Role, p.Command = externalagent.Agent, target.NewCommand("x")
}

var parseAgentRows = []struct {
	reason, yaml string
	want         parseAgentChange
}{
	{"a URL is enough", "url: http://x", parseAgentWire(func(*Binding) {})},
	{"a relay", "url: http://x\nrole: relay", func(p *target.Profile) {
		p.URL, p.Role = "http://x", externalagent.Relay
	}},
	{"its driver and its capabilities", "url: http://x\ndrivers: [ws]\ncapabilities: [relay-sessions, two-agents, " +
		"reconnect]",
		func(p *target.Profile) {
			p.URL, p.Capabilities = "http://x", []string{RelaySessions, TwoAgents, Reconnect}
		}},
	{"a host by a command", "command: {run: [x]}", func(p *target.Profile) {
		parseAgentCommand(p)
		p.Role, p.URL = externalagent.Host, "http://127.0.0.1:{port}"
	}},
	{"an agent by a command", "role: agent\ncommand: {run: [x]}", parseAgentCommand},
	{"an agent that connects by itself", "role: agent\nexternal-agent: {agent: {listen: 'localhost:8080'}}",
		func(p *target.Profile) {
			p.Role, Of(p).Agent.Listen = externalagent.Agent, "localhost:8080"
		}},
	{"the other loopback", "role: agent\nexternal-agent: {agent: {listen: '[::1]:8080', join: 1m, pace: 90s}}",
		func(p *target.Profile) {
			p.Role = externalagent.Agent
			Of(p).Agent = AgentSide{"[::1]:8080", target.Duration{Duration: time.Minute},
				target.Duration{Duration: 90 * time.Second}}
		}},
	{"unused keys are no mistake", "url: http://x\nexternal-agent: {flow: none, agent: {listen: '127.0.0.1:1'}}",
		parseAgentWire(func(e *Binding) { e.Flow, e.Agent.Listen = "none", "127.0.0.1:1" })},
	{"a hook", "url: http://x\nhooks: {user-says: ./say.sh}",
		func(p *target.Profile) { p.URL, p.Hooks.UserSays = "http://x", "./say.sh" }},
	{"a part of a section keeps the other defaults",
		"url: http://x\nexternal-agent: {ws: {subprotocols: [v1]}, start: {study-id: 'p-{nonce}'}, logs: '{dir}/logs'}",
		parseAgentWire(func(e *Binding) {
			e.WS.Subprotocols, e.Start.StudyID, e.Logs = []string{"v1"}, "p-{nonce}", "{dir}/logs"
		})},
	{"a host that calls itself something else, in a session per scenario",
		"url: http://x\nexternal-agent: {host-role: frontend, session: 's-{nonce}'}",
		parseAgentWire(func(e *Binding) { e.HostRole, e.Session = externalagent.FrontendRole, "s-{nonce}" })},
	{"codes elsewhere", "url: http://x\nexternal-agent: {fields: {error-code: /error/code, result-code: code}}",
		parseAgentWire(func(e *Binding) { e.Fields = CodeFields{"/error/code", target.Pointers{"/code"}} })},
	{"no booking", "url: http://x\nexternal-agent: {booking: []}", parseAgentWire(func(e *Binding) { e.Booking = nil })},
	{"params of every kind", "url: http://x\nexternal-agent: {booking: [{tool: a}, {tool: b, params: {n: null, i: 1, " +
		"f: -1.5, s: x, name: {pointer: id}, all: {pointer: ''}, l: [{pointer: /a/0}, y], m: {k: {pointer: /b}, " +
		"pointers: z}}}]}",
		parseAgentWire(func(e *Binding) {
			e.Booking = []ToolCall{{Tool: "a"}, {"b", map[string]Value{
				"n": {nil}, "i": {uint64(1)}, "f": {-1.5}, "s": {"x"}, "name": {target.Pointer("/id")},
				"all": {target.Pointer("")},
				"l":   {[]any{target.Pointer("/a/0"), "y"}}, "m": {map[string]any{"k": target.Pointer("/b"), "pointers": "z"}},
			}}}
		})},
	{"a pointer with a filter", "url: http://x\nexternal-agent: {booking: [{tool: a, params: {seat: {pointer: " +
		"/rows/*/seats/*/id, where: {isDisabled: false, /face/price: 9, note: null}}}}]}",
		parseAgentWire(func(e *Binding) {
			e.Booking = []ToolCall{{"a", map[string]Value{"seat": {Choice{"/rows/*/seats/*/id",
				map[target.Pointer]any{"/isDisabled": false, "/face/price": uint64(9), "/note": nil}}}}}}
		})},
	{"other provocations", "url: http://x\nexternal-agent: {provoke: {no-active-spec: [], tool-failure: [{booking: " +
		"true}, {tool: a}, {tool: b, params: {x: 1}}]}}",
		parseAgentWire(func(e *Binding) {
			e.Provoke = Provocations{ToolFailure: Provocation{Booking: true, Calls: []ToolCall{
				{Tool: "a"}, {"b", map[string]Value{"x": {uint64(1)}}},
			}}}
		})},
	{"a failure that is declared", "url: http://x\nexternal-agent: {provoke: {tool-failure: [{tool: next}]}}",
		parseAgentWire(func(e *Binding) { e.Provoke.ToolFailure.Assumed = false })},
}

func TestParseAgent(t *testing.T) {

	for _, tt := range parseAgentRows {
		t.Run(tt.reason, func(t *testing.T) {
			want := Kind().New()
			want.Name = "profile"
			tt.want(want)
			got := profiletest.Parse(t, kinds, tt.yaml+"\nprotocol: external-agent\n")
			if diff := profiletest.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, yaml := range []string{"url: http://x\nrole: server\n",
		"url: http://x\nprotocol: session-chat\nrole: server\n"} {
		if got := profiletest.Parse(t, kinds, yaml); got.Role != target.Server {
			t.Errorf("%q: role %q", yaml, got.Role)
		}
	}
}

// TestFlowFile checks that the path is relative to the profile's folder, whatever the working directory.
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
		{"an absolute path", "external-agent: {flow: " + filepath.Join(dir, "flow.json") + "}",
			filepath.Join(dir, "flow.json")},
	} {
		write(tt.yaml)
		p, err := kinds.Load(file)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if got := FlowFile(p); got != tt.want || p.Dir != dir || p.Path != file {
			t.Errorf("%s: %s, want %s (profile %s in %s)", tt.reason, got, tt.want, p.Path, p.Dir)
		}
	}
	write("external-agent: {flow: none.json}")
	if _, err := kinds.Load(file); err == nil {
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
		p, err := Kind().ForURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		want := []string{externalagent.Host, tt.base, tt.path, tt.name}
		if diff := cmp.Diff(want, []string{p.Role, p.URL, Of(p).WS.Path, p.Name}); diff != "" {
			t.Errorf("%s: role, URL, path, name (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestParallelAgents(t *testing.T) {
	for _, tt := range []struct {
		reason, role string
		change       func(*Binding)
		want         int
	}{
		{"a host in one session", externalagent.Host, func(*Binding) {}, 1},
		{"a host in a session per scenario", externalagent.Host, func(e *Binding) { e.Session = "s-{nonce}" }, 3},
		{"a relay in one session", externalagent.Relay, func(*Binding) {}, 1},
		{"a relay in a session per scenario", externalagent.Relay, func(e *Binding) { e.Session = "{nonce}" }, 3},
		{"an agent that is started", externalagent.Agent, func(*Binding) {}, 3},
		{"an agent that knows one address", externalagent.Agent, func(e *Binding) { e.Agent.Listen = "127.0.0.1:8080" }, 1},
		{"a host with an unused address", externalagent.Host, func(e *Binding) {
			e.Session, e.Agent.Listen = "{nonce}", "127.0.0.1:8080"
		}, 3},
	} {
		p := Kind().New()
		p.Role, p.Concurrency = tt.role, 3
		tt.change(Of(p))
		if got := p.Parallel(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.reason, got, tt.want)
		}
	}
	p := Kind().New()
	p.Role, p.Hooks.Call = externalagent.Agent, "./call"
	if p.Parallel() != 1 || p.Reach().Shared != "one agent (hooks.call)" {
		t.Errorf("an agent that is asked to act: %d, %q", p.Parallel(), p.Reach().Shared)
	}
	p = agentselect.Kind().New()
	if p.Role = externalagent.Agent; p.Dials() {
		t.Error("a target of another protocol connects to the harness")
	}
}

func TestNonce(t *testing.T) {
	e := Default()
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
