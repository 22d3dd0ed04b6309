package binding

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/protocol/sessionchat"
	"parley/target"
)

var chatMistakes = []struct{ reason, yaml, want string }{
	{"a driver of another protocol", "drivers: [sse]",
		`p.yaml:3:11: drivers[0]: unknown driver "sse" (known here: ws)`},
	{"a capability of another protocol", "capabilities: [session-list]",
		`p.yaml:3:16: capabilities[0]: unknown capability "session-list" (known here: options-model)`},
	{"the wire of another protocol", "agent-select: {}",
		`p.yaml:3:1: agent-select: the protocol of this profile is session-chat (delete this section, or write protocol: ` +
			`agent-select)`},
	{"the wire of another protocol, and that is wrong too", "agent-select:\n  nope: 1",
		`p.yaml:3:1: agent-select: the protocol of this profile is session-chat (delete this section, or write protocol: ` +
			`agent-select)`},

	{"no idle time at all", "session-chat: {idle: 0s}",
		`p.yaml:3:22: session-chat.idle: 0s is not positive (write a number with its unit, like 2s or 150ms)`},
	{"an idle time without a unit", "session-chat: {idle: 30}",
		`p.yaml:3:22: session-chat.idle: 30 has no unit (write 30s or 30ms)`},
	{"a relative path", "session-chat: {ws: {path: chat}}",
		`p.yaml:3:27: session-chat.ws.path: "chat" does not start with a slash`},
	{"a subprotocol with a blank", "session-chat: {ws: {subprotocols: [a, b c]}}",
		`p.yaml:3:39: session-chat.ws.subprotocols[1]: "b c" is not a subprotocol`},

	{"an unknown field of a message", "session-chat: {fields: {message: {agentid: a}}}",
		`p.yaml:3:35: session-chat.fields.message: unknown key "agentid" (did you mean "agent-id"?)`},
	{"no place for the type", "session-chat: {fields: {message: {type: []}}}",
		`p.yaml:3:41: session-chat.fields.message.type: no place (write a name or a pointer, or a list of them)`},
	{"a type that is the whole message", "session-chat: {fields: {message: {type: [a, '']}}}",
		`p.yaml:3:45: session-chat.fields.message.type[1]: the whole message cannot be one field (write a name or a ` +
			`pointer)`},
	{"one place twice", "session-chat: {fields: {message: {type: [a, /a]}}}",
		`p.yaml:3:45: session-chat.fields.message.type[1]: the place "/a" is given twice`},
	{"dots for slashes, in a list", "session-chat: {fields: {message: {type: [a.b]}}}",
		`p.yaml:3:42: session-chat.fields.message.type[0]: "a.b" is neither a name nor a JSON Pointer (write a name like ` +
			`agentId, or a pointer like /data/agentId)`},
	{"dots for slashes, alone", "session-chat: {fields: {message: {type: a.b}}}",
		`p.yaml:3:41: session-chat.fields.message.type: "a.b" is neither a name nor a JSON Pointer (write a name like ` +
			`agentId, or a pointer like /data/agentId)`},
	{"an id that is the whole message", "session-chat: {fields: {message: {session-id: ''}}}",
		`p.yaml:3:47: session-chat.fields.message.session-id: the whole message cannot be one field (write a name or a ` +
			`pointer)`},
	{"a field that is the whole request", "session-chat: {fields: {request: {model: ''}}}",
		`p.yaml:3:42: session-chat.fields.request.model: the whole request cannot be one field (write a name or a pointer)`},

	{"an unknown type", "session-chat: {types: {asistant: x}}",
		`p.yaml:3:34: session-chat.types.asistant: unknown type "asistant" (did you mean "assistant"?)`},
	{"a type without a name", "session-chat: {types: {pong: ''}}",
		`p.yaml:3:30: session-chat.types.pong: renamed to nothing`},
	{"a type with no names", "session-chat: {types: {pong: []}}",
		`p.yaml:3:30: session-chat.types.pong: renamed to nothing`},
	{"a type with an empty name among others", "session-chat: {types: {pong: [pong, '']}}",
		`p.yaml:3:37: session-chat.types.pong[1]: renamed to nothing`},
	{"a number for a name", "session-chat: {types: {pong: [1]}}",
		`p.yaml:3:31: session-chat.types.pong[0]: expected text, found the number 1 (quote it: "1")`},
	{"a mapping for names", "session-chat: {types: {pong: {a: b}}}",
		`p.yaml:3:30: session-chat.types.pong: expected text, found a mapping`},
	{"a name twice", "session-chat: {types: {result: [done, done]}}",
		`p.yaml:3:39: session-chat.types.result[1]: the name "done" is given twice`},
	{"a name given to two types", "session-chat: {types: {result: [done, end], system: end}}",
		`p.yaml:3:39: session-chat.types.result[1]: "end" is already the name of "system" (rename that one too)`},
	{"a name that another type keeps", "session-chat: {types: {result: [result, error]}}",
		`p.yaml:3:41: session-chat.types.result[1]: "error" is already the name of "error" (rename that one too)`},
	{"an unknown outcome", "session-chat: {outcomes: {failed: x}}",
		`p.yaml:3:35: session-chat.outcomes.failed: unknown outcome "failed" (known here: error, interrupted, success)`},
	{"two outcomes with one name", "session-chat: {outcomes: {interrupted: [stopped, error]}}",
		`p.yaml:3:50: session-chat.outcomes.interrupted[1]: "error" is already the name of "error" (rename that one ` +
			`too)`},
	{"an unknown message", "session-chat: {messages: {abort: stop}}",
		`p.yaml:3:34: session-chat.messages.abort: unknown message "abort" (known here: chat, interrupt, ping)`},
	{"two messages with one name", "session-chat: {messages: {interrupt: chat}}",
		`p.yaml:3:38: session-chat.messages.interrupt: "chat" is already the name of "chat" (rename that one too)`},
	{"several names for a client message", "session-chat: {messages: {interrupt: [a, b]}}",
		`p.yaml:3:38: session-chat.messages.interrupt: expected text, found a list`},
}

// TestChatMistakes checks the errors of the wire of session-chat, one each, with a location.
func TestChatMistakes(t *testing.T) {
	const head = "url: http://x\nprotocol: session-chat\n"
	for _, tt := range chatMistakes {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, head+tt.yaml+"\n", tt.want) })
	}
	for _, tt := range []struct{ reason, yaml, want string }{
		{"the wire of session-chat, and no protocol", "url: http://x\nsession-chat: {}\n",
			`p.yaml:2:1: session-chat: the protocol of this profile is agent-select (delete this section, or write protocol: ` +
				`session-chat)`},
		{"a WebSocket URL", "url: wss://x\nprotocol: session-chat\n",
			`p.yaml:1:6: url: "wss://x" is not an http URL (give the http one; the ws driver derives its own from it)`},
		{"a protocol that is a number", "url: http://x\nprotocol: 5\nsession-chat: {}\n",
			`p.yaml:2:11: protocol: expected text, found the number 5 (quote it: "5")`},
		{"an empty protocol", "url: http://x\nprotocol:\n",
			`p.yaml:2:1: protocol: has no value (give it one, or delete the line; a value that starts with # must be quoted)`},
		{"an unknown protocol, whatever its wire", "url: http://x\nprotocol: session-chart\nsession-chat: {}\n",
			`p.yaml:2:11: protocol: unknown protocol "session-chart" (did you mean "session-chat"?)`},
	} {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.yaml, tt.want) })
	}
}

func TestParseChat(t *testing.T) {
	for _, tt := range []struct {
		reason, yaml string
		want         func(*target.Profile)
	}{
		{"the protocol alone", "", func(*target.Profile) {}},
		{"its driver and its capability", "drivers: [ws]\ncapabilities: [options-model]",
			func(p *target.Profile) { p.Capabilities = []string{OptionsModel} }},
		{"unused keys are not errors",
			"agents: {default: a}\ntools: {ask: {name: a}}\nprovoke: {pending_question: x}",
			func(p *target.Profile) {
				p.Agents.Default, p.Tools.Ask, p.Provoke.PendingQuestion = "a", &target.Tool{Name: "a"}, "x"
			}},
		{"a part of a section keeps the other defaults", "session-chat: {ws: {subprotocols: [v1]}, idle: 1m30s}",
			func(p *target.Profile) {
				Of(p).WS.Subprotocols, Of(p).Idle = []string{"v1"}, target.Duration{Duration: 90 * time.Second}
			}},
		{"one place for the type", "session-chat: {fields: {message: {type: event}}}",
			func(p *target.Profile) { Of(p).Fields.Message.Type = target.Pointers{"/event"} }},
		{"several places for the type", "session-chat: {fields: {message: {type: [message_type, /meta/type]}}}",
			func(p *target.Profile) { Of(p).Fields.Message.Type = target.Pointers{"/message_type", "/meta/type"} }},
		{"a body that is the whole message", "session-chat: {fields: {message: {body: '', text: text}}}",
			func(p *target.Profile) { Of(p).Fields.Message.Body, Of(p).Fields.Message.Text = "", "/text" }},
		{"one name, several, and its own among them", "session-chat: {types: {result: [a, b], error: c, pong: [pong, d]}}",
			func(p *target.Profile) {
				Of(p).Types = map[string]target.Names{"result": {"a", "b"}, "error": {"c"}, "pong": {"pong", "d"}}
			}},
		{"an outcome's name that another has left", "session-chat: {outcomes: {error: failed, interrupted: [error]}}",
			func(p *target.Profile) {
				Of(p).Outcomes = map[string]target.Names{"error": {"failed"}, "interrupted": {"error"}}
			}},
		{"a message's name that another has left", "session-chat: {messages: {interrupt: ping, ping: beat}}",
			func(p *target.Profile) { Of(p).Messages = map[string]string{"interrupt": "ping", "ping": "beat"} }},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			want := Kind().New()
			want.Name, want.URL = "profile", "http://x"
			tt.want(want)
			got := profiletest.Parse(t, kinds,
				tt.yaml+"\nprotocol: session-chat\nurl: http://x\n") // wherever the protocol is given
			if diff := profiletest.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestForURLOf(t *testing.T) {
	for _, tt := range []struct{ reason, url, base, path, name string }{
		{"an http URL", "http://x:80/base/", "http://x:80/base", "/chat/ws", "x:80"},
		{"a WebSocket without a path", "ws://x:80/", "http://x:80", "/chat/ws", "x:80"},
		{"a WebSocket at the default path", "wss://x/chat/ws", "https://x", "/chat/ws", "x"},
		{"a WebSocket anywhere", "ws://x/api/v%2F1/ws", "http://x", "/api/v%2F1/ws", "x"},
	} {
		p, err := Kind().ForURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		want := []string{sessionchat.Protocol, tt.base, tt.path, tt.name}
		if diff := cmp.Diff(want, []string{p.Protocol, p.URL, Of(p).WS.Path, p.Name}); diff != "" {
			t.Errorf("%s: protocol, URL, path, name (-want +got):\n%s", tt.reason, diff)
		}
	}
	for _, tt := range []struct{ reason, protocol, url, want string }{
		{"a WebSocket of another protocol", "agent-select", "ws://x",
			`url: "ws://x" is not an http URL (give the http one; the ws driver derives its own from it)`},
		{"more than a WebSocket", "session-chat", "ws://x/chat?a=b",
			`url: "http://x?a=b" is more than a base URL (no user, query or fragment; see headers)`},
		{"a WebSocket nowhere", "session-chat", "ws:///chat/ws",
			`url: "http:" names no host (write it like http://localhost:3000, or https://example.org/base)`},
		{"another scheme", "session-chat", "ftp://x",
			`url: "ftp://x" is not an http URL (write it like http://localhost:3000, or https://example.org/base)`},
		{"an unknown protocol", "session-chart", "http://x",
			`protocol: unknown protocol "session-chart" (did you mean "session-chat"?)`},
	} {
		_, err := kinds.ForURL(tt.protocol, tt.url)
		var at *target.ProfileError
		if !errors.As(err, &at) || at.Line != 0 {
			t.Errorf("%s: got %v, want a *target.ProfileError without a place", tt.reason, err)
			continue
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestChatNames(t *testing.T) {
	s := Default()
	s.Types = map[string]target.Names{
		"result": {"done", "stopped"}, "error": {"result"}, "pong": {"pong", "beat"}, "system": {"init"},
	}
	s.Outcomes = map[string]target.Names{"interrupted": {"cancelled", "aborted"}}
	s.Messages = map[string]string{"interrupt": "stop"}
	for _, tt := range []struct {
		reason     string
		of         func(string) string
		wire, want string
	}{
		{"the first of its names", s.TypeOf, "done", "result"},
		{"another of its names", s.TypeOf, "stopped", "result"},
		{"a name that another type has left", s.TypeOf, "result", "error"},
		{"its own name, kept beside another", s.TypeOf, "pong", "pong"},
		{"a name that no longer means anything", s.TypeOf, "system", ""},
		{"a name that is not changed", s.TypeOf, "stream", "stream"},
		{"a name that the binding does not have", s.TypeOf, "usage", "usage"},
		{"one of an outcome's names", s.OutcomeOf, "aborted", "interrupted"},
		{"an outcome's name that no longer means anything", s.OutcomeOf, "interrupted", ""},
		{"an outcome that is not changed", s.OutcomeOf, "error", "error"},
		{"an outcome that the binding does not have", s.OutcomeOf, "error_max_turns", "error_max_turns"},
		{"a message's name", s.MessageName, "interrupt", "stop"},
		{"a message that is not changed", s.MessageName, "chat", "chat"},
	} {
		if got := tt.of(tt.wire); got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.reason, tt.wire, got, tt.want)
		}
	}
}
