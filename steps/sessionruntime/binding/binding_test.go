package binding

import (
	"parley/internal/profiletest"
	agentselect "parley/steps/agentselect/binding"
	"parley/target"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	head  = "url: http://x\nprotocol: session-runtime\n"
	piped = "protocol: session-runtime\ndrivers: [stdio]\n"
)

var runtimeMistakesRows = []struct{ reason, head, yaml, want string }{
	{"a driver of another protocol", head, "drivers: [sse]",
		`p.yaml:3:11: drivers[0]: unknown driver "sse" (known here: stdio, ws)`},
	{"stdio of another protocol", "url: http://x\nprotocol: session-chat\n", "drivers: [stdio]",
		`p.yaml:3:11: drivers[0]: unknown driver "stdio" (known here: ws)`},
	{"a capability", head, "capabilities: [session-list]",
		`p.yaml:3:16: capabilities[0]: unknown capability "session-list" (none are known here)`},
	{"a role of another protocol", head, "role: relay",
		`p.yaml:3:7: role: unknown role "relay" of session-runtime (known here: server)`},
	{"the wire of another protocol", head, "session-chat: {}",
		`p.yaml:3:1: session-chat: the protocol of this profile is session-runtime (delete this section, or write ` +
			`protocol: session-chat)`},
	{"its wire, and no protocol", "url: http://x\n", "session-runtime: {}",
		`p.yaml:2:1: session-runtime: the protocol of this profile is agent-select (delete this section, or write ` +
			`protocol: session-runtime)`},

	{"nothing to test", "protocol: session-runtime\n", "drivers: [ws]",
		`p.yaml:1:1: url: nothing to test (give the url of a running target, or a command that starts one)`},
	{"a stdio target that nothing starts", piped, "",
		`p.yaml:2:11: drivers[0]: stdio needs a process, but the profile starts none (give a command, or take stdio out)`},
	{"the same, beside ws", head, "drivers: [ws, stdio]",
		`p.yaml:3:15: drivers[1]: stdio needs a process, but the profile starts none (give a command, or take stdio out)`},
	{"a URL over stdio alone", piped, "command: {run: [x]}\nurl: http://x",
		`p.yaml:4:6: url: a target that uses stdio only does not listen (delete the line, or add ws to drivers)`},
	{"an empty URL over stdio alone", piped, "command: {run: [x]}\nurl: ''",
		`p.yaml:4:6: url: a target that uses stdio only does not listen (delete the line, or add ws to drivers)`},
	{"a port over stdio alone", piped, "command: {run: [x, '{port}']}",
		`p.yaml:3:10: command: {port} has no meaning here: a target that uses stdio only does not listen ` +
			`(take it out, or add ws to drivers)`},
	{"a URL in the environment over stdio alone", piped, "command: {run: [x], env: {A: '{url}'}}",
		`p.yaml:3:10: command: {url} has no meaning here: a target that uses stdio only does not listen ` +
			`(take it out, or add ws to drivers)`},
	{"a way to be ready over stdio alone", piped, "command: {run: [x], ready: {log: up}}",
		`p.yaml:3:28: command.ready: over stdio a target is ready once it answers the set-up (delete it; see limits.open)`},
	{"no program over stdio", piped, "command: {run: []}",
		`p.yaml:3:16: command.run: no program to run (write it like run: [./server, --port, "{port}"])`},

	{"an unknown key", head, "session-runtime: {fences: true}",
		`p.yaml:3:19: session-runtime: unknown key "fences" (did you mean "fence"?)`},
	{"an unknown field", head, "session-runtime: {fields: {trace_id: x}}",
		`p.yaml:3:28: session-runtime.fields: unknown key "trace_id" (did you mean "trace-id"?)`},
	{"a relative path", head, "session-runtime: {ws: {path: bus}}",
		`p.yaml:3:30: session-runtime.ws.path: "bus" does not start with a slash`},
	{"text for a truth", head, "session-runtime: {fence: 'yes'}",
		`p.yaml:3:26: session-runtime.fence: expected true or false, found text`},
	{"a number for a truth", head, "session-runtime: {limits: {fixed: 1}}",
		`p.yaml:3:35: session-runtime.limits.fixed: expected true or false, found the number 1`},
	{"a missing boolean", head, "session-runtime: {fence: }",
		`p.yaml:3:19: session-runtime.fence: has no value (give it one, or delete the line)`},
	{"a limit without a unit", head, "session-runtime: {limits: {input-ack: 60}}",
		`p.yaml:3:39: session-runtime.limits.input-ack: 60 has no unit (write 60s or 60ms)`},
	{"no time at all", head, "session-runtime: {limits: {cancel-ack: 0s}}",
		`p.yaml:3:40: session-runtime.limits.cancel-ack: 0s is not positive (write a number with its unit, like ` +
			`2s or 150ms)`},

	{"an unknown subscription", head, "session-runtime: {subscribes: [SYSTEM, BROADCASTS]}",
		`p.yaml:3:40: session-runtime.subscribes[1]: unknown target "BROADCASTS" (did you mean "BROADCAST"?)`},
	{"an unknown subscription alone", head, "session-runtime: {subscribes: AGENT}",
		`p.yaml:3:31: session-runtime.subscribes: unknown target "AGENT" (known here: BROADCAST, SYSTEM)`},
	{"a subscription twice", head, "session-runtime: {subscribes: [SYSTEM, SYSTEM]}",
		`p.yaml:3:40: session-runtime.subscribes[1]: the target "SYSTEM" is given twice`},
	{"broadcast alone", head, "session-runtime: {subscribes: BROADCAST}",
		`p.yaml:3:31: session-runtime.subscribes: SYSTEM is missing (the frontend's messages go there; write [SYSTEM] or ` +
			`[SYSTEM, BROADCAST])`},
	{"no subscription", head, "session-runtime: {subscribes: []}",
		`p.yaml:3:31: session-runtime.subscribes: SYSTEM is missing (the frontend's messages go there; write [SYSTEM] or ` +
			`[SYSTEM, BROADCAST])`},

	{"two agents", head, "session-runtime: {agents: [a, b]}",
		`p.yaml:3:27: session-runtime.agents: too few agents: 2 (name 3 or more)`},
	{"one agent", head, "session-runtime: {agents: a}",
		`p.yaml:3:27: session-runtime.agents: too few agents: 1 (name 3 or more)`},
	{"an agent twice", head, "session-runtime: {agents: [a, b, a]}",
		`p.yaml:3:34: session-runtime.agents[2]: the agent "a" is given twice`},
	{"an agent without an id", head, "session-runtime: {agents: [a, '', b]}",
		`p.yaml:3:31: session-runtime.agents[1]: is not an agent id`},
	{"an agent with another sender's name", head, "session-runtime: {agents: [a, b, frontend]}",
		`p.yaml:3:34: session-runtime.agents[2]: "frontend" is another sender's name (see session-runtime.senders)`},
	{"a sender without a name", head, "session-runtime: {senders: {logger: ''}}",
		`p.yaml:3:37: session-runtime.senders.logger: is empty (delete the line for the default)`},
	{"a sender of another one's default name", head, "session-runtime: {senders: {frontend: session}}",
		`p.yaml:3:39: session-runtime.senders.frontend: "session" is already the name of the session (rename that one ` +
			`too)`},
	{"two senders of one name", head, "session-runtime: {senders: {manager: x, logger: x}}",
		`p.yaml:3:38: session-runtime.senders.manager: "x" is already the name of the logger (rename that one too)`},

	{"a field that is the whole frame", head, "session-runtime: {fields: {metadata: ''}}",
		`p.yaml:3:38: session-runtime.fields.metadata: the whole frame cannot be one field (write a name or a pointer)`},
	{"no place", head, "session-runtime: {fields: {turn-id: []}}",
		`p.yaml:3:37: session-runtime.fields.turn-id: no place (write a name or a pointer, or a list of them)`},
	{"one place twice", head, "session-runtime: {fields: {mention: [/a, a]}}",
		`p.yaml:3:42: session-runtime.fields.mention[1]: the place "/a" is given twice`},
	{"dots for slashes", head, "session-runtime: {fields: {seq: metadata.seq}}",
		`p.yaml:3:33: session-runtime.fields.seq: "metadata.seq" is neither a name nor a JSON Pointer (write a name like ` +
			`agentId, or a pointer like /data/agentId)`},
	{"several places for a field that has one", head, "session-runtime: {fields: {id: [id, msg_id]}}",
		`p.yaml:3:32: session-runtime.fields.id: expected text, found a list`},
	{"the place of another field", head, "session-runtime: {fields: {target-id: target}}",
		`p.yaml:3:39: session-runtime.fields.target-id: "/target" is already the place of target (move that one too)`},
	{"the place of a field that comes later", head, "session-runtime: {fields: {id: session_id}}",
		`p.yaml:3:32: session-runtime.fields.id: "/session_id" is already the place of session (move that one too)`},
	{"the place of another field, among several", head, "session-runtime: {fields: {mention: [/x, target_id]}}",
		`p.yaml:3:42: session-runtime.fields.mention[1]: "/target_id" is already the place of target-id (move that one too)`},
	{"a place within another field", head, "session-runtime: {fields: {trace-id: /id/trace}}",
		`p.yaml:3:38: session-runtime.fields.trace-id: "/id/trace" and the place of id, "/id", are nested ` +
			`(only payload and metadata may contain other fields)`},
	{"a place around another field", head, "session-runtime: {fields: {id: /metadata/stream}}",
		`p.yaml:3:32: session-runtime.fields.id: "/metadata/stream" and the place of is-chunk, ` +
			`"/metadata/stream/is_chunk", are nested (only payload and metadata may contain other fields)`},

	{"an unknown event", head, "session-runtime: {events: {AGENT_OUTPUTS: x}}",
		`p.yaml:3:43: session-runtime.events.AGENT_OUTPUTS: unknown event "AGENT_OUTPUTS" (did you mean "AGENT_OUTPUT"?)`},
	{"a name that another event has", head, "session-runtime: {events: {EVENT: [NOTE, ERROR]}}",
		`p.yaml:3:42: session-runtime.events.EVENT[1]: "ERROR" is already the name of "ERROR" (rename that one too)`},
	{"an unknown subtype", head, "session-runtime: {subtypes: {INPUT_ACKED: x}}",
		`p.yaml:3:43: session-runtime.subtypes.INPUT_ACKED: unknown subtype "INPUT_ACKED" (did you mean "INPUT_ACK"?)`},
	{"an alias of CANCELED is not a subtype of its own", head, "session-runtime: {subtypes: {TURN_CANCELED: x}}",
		`p.yaml:3:45: session-runtime.subtypes.TURN_CANCELED: it is a name of CANCELED (write CANCELED: [CANCELED, ` +
			`TURN_CANCELED], with the names of your wire)`},
	{"a subtype with no names", head, "session-runtime: {subtypes: {INPUT_ACK: []}}",
		`p.yaml:3:41: session-runtime.subtypes.INPUT_ACK: renamed to nothing`},
	{"two subtypes of one name", head, "session-runtime: {subtypes: {CANCEL: STOP, INTERRUPT: [STOP]}}",
		`p.yaml:3:38: session-runtime.subtypes.CANCEL: "STOP" is already the name of "INTERRUPT" (rename that one too)`},
	{"a name that CANCELED has by default", head, "session-runtime: {subtypes: {TURN_ACCEPTED: TURN_CANCELED}}",
		`p.yaml:3:29: session-runtime.subtypes.CANCELED: "TURN_CANCELED" is already the name of "TURN_ACCEPTED" ` +
			`(rename that one too)`},
	{"an unknown target", head, "session-runtime: {targets: {USER: x}}",
		`p.yaml:3:35: session-runtime.targets.USER: unknown target "USER" (known here: AGENT, BROADCAST, FRONTEND, ` +
			`LOGGER, SESSION, SYSTEM)`},
	{"a target of no name", head, "session-runtime: {targets: {FRONTEND: ''}}",
		`p.yaml:3:39: session-runtime.targets.FRONTEND: renamed to nothing`},
}

// TestRuntimeMistakes checks that each mistake in the session-runtime wire or in stdio yields one error with its
// place.
func TestRuntimeMistakes(t *testing.T) {
	for _, tt := range runtimeMistakesRows {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.head+tt.yaml+"\n", tt.want) })
	}
}

type change = func(*target.Profile)

func wire(f func(*Binding)) change {
	return func(p *target.Profile) { p.URL = "http://x"; f(Of(p)) }
}

func command(url string, drivers ...string) change {
	return func(p *target.Profile) { p.URL, p.Drivers, p.Command = url, drivers, target.NewCommand("x") }
}

var parseRuntimeRows = []struct {
	reason, yaml string
	want         change
}{
	{"a URL is enough", "url: http://x", wire(func(*Binding) {})},
	{"a command that listens", "command: {run: [x]}", command("http://127.0.0.1:{port}", target.WS)},
	{"a command that speaks", "command: {run: [x]}\ndrivers: [stdio]", command("", target.Stdio)},
	{"a command that does both", "command: {run: [x]}\ndrivers: [ws, stdio]",
		command("http://127.0.0.1:{port}", target.WS, target.Stdio)},
	{"the other way round, at a port of its own", "command: {run: [x]}\ndrivers: [stdio, ws]\nurl: http://x:1/base/",
		command("http://x:1/base", target.Stdio, target.WS)},
	{"no fence, and limits of its own",
		"url: http://x\nsession-runtime: {fence: false, limits: {input-ack: 5s, fixed: true}}",
		wire(func(s *Binding) {
			s.Fence, s.Limits.InputAck, s.Limits.Fixed = false, target.Duration{Duration: 5 * time.Second}, true
		})},
	{"a fence in words", "url: http://x\nsession-runtime: {fence: true}", wire(func(*Binding) {})},
	{"SYSTEM alone", "url: http://x\nsession-runtime: {subscribes: SYSTEM}",
		wire(func(s *Binding) { s.Subscribes = target.Names{"SYSTEM"} })},
	{"other agents", "url: http://x\nsession-runtime: {agents: [a, b, c, d]}",
		wire(func(s *Binding) { s.Agents = target.Names{"a", "b", "c", "d"} })},
	{"an agent's id that a sender has left",
		"url: http://x\nsession-runtime: {agents: [logger, b, c], senders: {logger: log}}",
		wire(func(s *Binding) { s.Agents, s.Senders.Logger = target.Names{"logger", "b", "c"}, "log" })},
	{"senders that swap names", "url: http://x\nsession-runtime: {senders: {frontend: session, session: frontend}}",
		wire(func(s *Binding) { s.Senders.Frontend, s.Senders.Session = "session", "frontend" })},
	{"a part of the fields keeps the others",
		"url: http://x\nsession-runtime: {fields: {session: sid, turn-id: /meta/turn, code: [code, /error/code]}}",
		wire(func(s *Binding) {
			s.Fields.Session, s.Fields.TurnID, s.Fields.Code = "/sid", target.Pointers{"/meta/turn"},
				target.Pointers{"/code", "/error/code"}
		})},
	{"fields that swap places", "url: http://x\nsession-runtime: {fields: {sender: target, target: sender}}",
		wire(func(s *Binding) { s.Fields.Sender, s.Fields.Target = "/target", "/sender" })},
	{"a field within the payload",
		"url: http://x\nsession-runtime: {fields: {trace-id: /payload/trace, mention: /payload/agent}}",
		wire(func(s *Binding) {
			s.Fields.TraceID, s.Fields.Mention = target.Pointers{"/payload/trace"}, target.Pointers{"/payload/agent"}
		})},
	{"two fields that are read from one place",
		"url: http://x\nsession-runtime: {fields: {turn-id: [/metadata/turn_id, /id], agent-id: target_id}}",
		wire(func(s *Binding) {
			s.Fields.TurnID, s.Fields.AgentID = target.Pointers{"/metadata/turn_id", "/id"}, target.Pointers{"/target_id"}
		})},
	{"names", "url: http://x\n" +
		"session-runtime: {events: {AGENT_OUTPUT: [OUT, AGENT_OUTPUT]}, targets: {FRONTEND: UI, SESSION: FRONTEND}}",
		wire(func(s *Binding) {
			s.Events = map[string]target.Names{"AGENT_OUTPUT": {"OUT", "AGENT_OUTPUT"}}
			s.Targets = map[string]target.Names{"FRONTEND": {"UI"}, "SESSION": {"FRONTEND"}}
		})},
	{"the names of one subtype keep those of another", "url: http://x\nsession-runtime: {subtypes: {INPUT_ACK: ACK}}",
		wire(func(s *Binding) { s.Subtypes["INPUT_ACK"] = target.Names{"ACK"} })},
	{"a subtype that has names by default",
		"url: http://x\nsession-runtime: {subtypes: {CANCELED: STOPPED, TURN_ACCEPTED: TURN_CANCELED}}",
		wire(func(s *Binding) {
			s.Subtypes = map[string]target.Names{"CANCELED": {"STOPPED"}, "TURN_ACCEPTED": {"TURN_CANCELED"}}
		})},
	{"no other names at all", "url: http://x\nsession-runtime: {subtypes: {}}", wire(func(*Binding) {})},
}

func TestParseRuntime(t *testing.T) {
	for _, tt := range parseRuntimeRows {
		t.Run(tt.reason, func(t *testing.T) {
			want := Kind().New()
			want.Name = "profile"
			tt.want(want)
			got := profiletest.Parse(t, kinds, tt.yaml+"\nprotocol: session-runtime\n")
			if diff := profiletest.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRuntimeDefaultsAreOnesOwn checks that names added by one profile appear in no other.
func TestRuntimeDefaultsAreOnesOwn(t *testing.T) {
	profiletest.Parse(t, kinds,
		"url: http://x\nprotocol: session-runtime\nsession-runtime: {subtypes: {INPUT_ACK: ACK}}\n")
	if got := Default().Subtypes; len(got) != 1 {
		t.Errorf("the defaults are %v now", got)
	}
}

func TestRuntimeNames(t *testing.T) {
	s := Default()
	s.Events = map[string]target.Names{"AGENT_OUTPUT": {"OUT", "AGENT_OUTPUT"}, "EVENT": {"NOTE"}}
	s.Subtypes["INPUT_ACK"] = target.Names{"ACK"}
	s.Targets = map[string]target.Names{"FRONTEND": {"UI"}, "SESSION": {"FRONTEND"}}
	for _, tt := range []struct {
		reason   string
		of       func(string) string
		in, want string
	}{
		{"the first of an event's names", s.EventOf, "OUT", "AGENT_OUTPUT"},
		{"its own name, kept beside another", s.EventOf, "AGENT_OUTPUT", "AGENT_OUTPUT"},
		{"a name that no longer means anything", s.EventOf, "EVENT", ""},
		{"an unchanged name", s.EventOf, "CONTROL", "CONTROL"},
		{"a name unknown to the binding", s.EventOf, "HEARTBEAT", "HEARTBEAT"},
		{"the event name sent", s.EventName, "AGENT_OUTPUT", "OUT"},
		{"an unchanged event", s.EventName, "ERROR", "ERROR"},
		{"one of the default names of a subtype", s.SubtypeOf, "TURN_CANCELED", "CANCELED"},
		{"the other one", s.SubtypeOf, "CANCELED", "CANCELED"},
		{"a subtype of another name", s.SubtypeOf, "ACK", "INPUT_ACK"},
		{"a subtype name that no longer means anything", s.SubtypeOf, "INPUT_ACK", ""},
		{"no subtype", s.SubtypeOf, "", ""},
		{"the subtype name sent", s.SubtypeName, "CANCELED", "CANCELED"},
		{"an unchanged subtype", s.SubtypeName, "CANCEL_ACK", "CANCEL_ACK"},
		{"a target's name that another has left", s.TargetOf, "FRONTEND", "SESSION"},
		{"a target of another name", s.TargetOf, "UI", "FRONTEND"},
		{"the target name sent", s.TargetName, "FRONTEND", "UI"},
		{"an unchanged target", s.TargetName, "AGENT", "AGENT"},
	} {
		if got := tt.of(tt.in); got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.reason, tt.in, got, tt.want)
		}
	}
}

// TestRuntimeNamesAreOneAnothers checks that no name that can be remapped is listed twice.
func TestRuntimeNamesAreOneAnothers(t *testing.T) {
	for what, known := range map[string][]string{"event": busEventNames, "subtype": subtypeNames,
		"target": busTargetNames} {
		seen := map[string]bool{}
		for _, name := range known {
			if seen[name] {
				t.Errorf("the %s %s is there twice", what, name)
			}
			seen[name] = true
		}
	}
}

func TestForURLOfRuntime(t *testing.T) {
	for _, tt := range []struct{ reason, url, base, path string }{
		{"an http URL", "http://x:80/base/", "http://x:80/base", "/bus/ws"},
		{"a WebSocket without a path", "ws://x:80/", "http://x:80", "/bus/ws"},
		{"a WebSocket anywhere", "wss://x/api/ws", "https://x", "/api/ws"},
	} {
		p, err := Kind().ForURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		want := []string{tt.base, tt.path, target.WS}
		if diff := cmp.Diff(want, append([]string{p.URL, Of(p).WS.Path}, p.Drivers...)); diff != "" {
			t.Errorf("%s: URL, path, drivers (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestParallelOver(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		drivers     []string
		concurrency int
		driver      string
		want        int
	}{
		{"over ws", []string{target.WS, target.Stdio}, 0, target.WS, target.DefaultConcurrency},
		{"over stdio", []string{target.WS, target.Stdio}, 0, target.Stdio, target.CalledConcurrency},
		{"over stdio alone", []string{target.Stdio}, 0, target.Stdio, target.CalledConcurrency},
		{"a number, over ws", []string{target.WS, target.Stdio}, 20, target.WS, 20},
		{"a number, over stdio", []string{target.WS, target.Stdio}, 20, target.Stdio, 20},
		{"a small number, over stdio", []string{target.WS, target.Stdio}, 2, target.Stdio, 2},
	} {
		p := Kind().New()
		p.Drivers, p.Concurrency = tt.drivers, tt.concurrency
		if got := p.ParallelOver(tt.driver); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.reason, got, tt.want)
		}
	}
	p := agentselect.Kind().New()
	agentselect.Of(p).Correlation = agentselect.Correlation{Single: true}
	if got := p.ParallelOver(target.SSE); got != 1 {
		t.Errorf("what cannot be told apart: %d", got)
	}
}
