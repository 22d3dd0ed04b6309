package sessionchat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/sessionchat"
	"parley/steps/sessionchat/binding"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// elsewhere is a wire with other locations and names for everything, that of examples/profiles/node-chat.yaml.
const elsewhere = `
ws: {path: /api/v1/conversations/socket, subprotocols: [conversations.v1]}
fields:
  message: {type: [kind, event], agent-id: /meta/thread, session-id: /meta/conversation, body: body, timestamp: at,
    subtype: /body/state, code: /problem/code, text: /body/chunk}
  request: {type: action, agent-id: thread, content: text, options: settings, model: /settings/llm}
types: {system: init, stream: delta, assistant: answer, result: finished, pong: heartbeat_ack, error: problem}
outcomes: {success: completed, interrupted: stopped, error: failed}
messages: {chat: send, interrupt: stop, ping: heartbeat}`

// bound returns the codec of a profile with this wire.
func bound(t testing.TB, wire string) *codec {
	t.Helper()
	p := profile(t, wire)
	return newCodec(p, p.URL)
}

func profile(t testing.TB, wire string) *target.Profile {
	t.Helper()
	text := "url: http://h/base\nprotocol: session-chat\n"
	if wire != "" {
		text += "session-chat:\n  " + strings.ReplaceAll(strings.TrimSpace(wire), "\n", "\n  ") + "\n"
	}
	p, err := target.Kinds{binding.Kind()}.Parse([]byte(text), "test.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestURL(t *testing.T) {
	for wire, want := range map[string]string{"": "http://h/base/chat/ws",
		elsewhere: "http://h/base/api/v1/conversations/socket"} {
		if got := bound(t, wire).url(); got != want {
			t.Errorf("the socket is %q, want %q", got, want)
		}
	}
}

// everything returns all fields of a chat.
func everything() fields {
	return fields{vocab.AgentID: "red", vocab.Content: "你好", vocab.Model: "m",
		vocab.Options: map[string]any{"x": []any{1, nil}}}
}

var messageRows = []struct {
	reason string
	wire   string
	kind   string
	f      fields
	want   string
}{
	{"a chat", "", "chat", fields{vocab.AgentID: "red", vocab.Content: "你好"},
		`{"agent_id":"red","content":"你好","type":"chat"}`},
	{"with everything", "", "chat", everything(),
		`{"agent_id":"red","content":"你好","options":{"model":"m","x":[1,null]},"type":"chat"}`},
	{"a model needs no options", "", "chat", fields{vocab.Model: "m"}, `{"options":{"model":"m"},"type":"chat"}`},
	{"options without a model", "", "chat", fields{vocab.Options: map[string]any{}}, `{"options":{},"type":"chat"}`},
	{"a model within options that are null", "", "chat", fields{vocab.Options: nil, vocab.Model: "m"},
		`{"options":{"model":"m"},"type":"chat"}`},
	{"a model replaces that of the options", "", "chat",
		fields{vocab.Options: map[string]any{vocab.Model: "a"}, vocab.Model: "m"}, `{"options":{"model":"m"},"type":"chat"}`},
	{"an interrupt", "", "interrupt", fields{vocab.AgentID: "red"}, `{"agent_id":"red","type":"interrupt"}`},
	{"a ping", "", "ping", nil, `{"type":"ping"}`},
	{"no type", "", "", fields{vocab.AgentID: "red"}, `{"agent_id":"red"}`},
	{"a type that the binding does not have", "", "x-unknown", nil, `{"type":"x-unknown"}`},
	{"odd values stay unchanged", "", "chat", fields{vocab.AgentID: nil, vocab.Content: []any{"a"}, vocab.Options: 42},
		`{"agent_id":null,"content":["a"],"options":42,"type":"chat"}`},
	{"only what must be is escaped", "", "chat", fields{vocab.Content: "<b>&amp;</b> 👋🏽"},
		`{"content":"<b>&amp;</b> 👋🏽","type":"chat"}`},
	{"special characters are escaped", "", "chat", fields{vocab.Content: "a\"\\\n\u0001"},
		`{"content":"a\"\\\n\u0001","type":"chat"}`},

	{"a chat elsewhere", elsewhere, "chat", everything(),
		`{"action":"send","settings":{"llm":"m","x":[1,null]},"text":"你好","thread":"red"}`},
	{"a model elsewhere", elsewhere, "chat", fields{vocab.Model: "m"}, `{"action":"send","settings":{"llm":"m"}}`},
	{"an interrupt elsewhere", elsewhere, "interrupt", fields{vocab.AgentID: "red"}, `{"action":"stop","thread":"red"}`},
	{"a ping elsewhere", elsewhere, "ping", nil, `{"action":"heartbeat"}`},
	{"no type elsewhere", elsewhere, "", fields{vocab.Content: "x"}, `{"text":"x"}`},
	{"an unknown type elsewhere", elsewhere, "x-unknown", nil, `{"action":"x-unknown"}`},

	{"nested fields", "fields: {request: {type: /head/type, agent-id: /head/agent/id, content: /body/0/text, options: " +
		"/body/opts, model: /body/opts/deep/model}}", "chat", everything(),
		`{"body":{"0":{"text":"你好"},"opts":{"deep":{"model":"m"},"x":[1,null]}},"head":{"agent":{"id":"red"},` +
			`"type":"chat"}}`},
	{"a model beside the options", "fields: {request: {model: model}}", "chat", everything(),
		`{"agent_id":"red","content":"你好","model":"m","options":{"x":[1,null]},"type":"chat"}`},
	{"everything within the options", "fields: {request: {agent-id: /options/agent, content: /options/content}}",
		"chat", everything(), `{"options":{"agent":"red","content":"你好","model":"m","x":[1,null]},"type":"chat"}`},
	{"two fields at the same location, one of them used", "fields: {request: {agent-id: id, content: id}}",
		"interrupt", fields{vocab.AgentID: "red"}, `{"id":"red","type":"interrupt"}`},
	{"a type below the content of a message that has none", "fields: {request: {type: /content/type}}", "ping", nil,
		`{"content":{"type":"ping"}}`},
	{"a content at the location of the type, without a type", "fields: {request: {content: type}}", "",
		fields{vocab.Content: "x"}, `{"type":"x"}`},
	{"names that need escapes", "fields: {request: {agent-id: /a~1b/c~0d}}", "chat", fields{vocab.AgentID: "red"},
		`{"a/b":{"c~d":"red"},"type":"chat"}`},
	{"swapped names", "messages: {interrupt: ping, ping: interrupt}", "ping", nil, `{"type":"interrupt"}`},
}

func TestMessage(t *testing.T) {
	for _, r := range messageRows {
		t.Run(r.reason, func(t *testing.T) {
			m, err := bound(t, r.wire).message(r.kind, r.f)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.Body); got != r.want {
				t.Errorf("the message is\n%s, want\n%s", got, r.want)
			}
			if m.Label != r.kind || m.Binary {
				t.Errorf("it is labelled %q, binary: %v", m.Label, m.Binary)
			}
		})
	}
}

func TestMessageThatCannotBe(t *testing.T) {
	rows := []struct {
		reason string
		wire   string
		f      fields
		want   string // in the error
	}{
		{"a field that no message has", "", fields{vocab.SessionID: "s"}, "session_id"},
		{"a value that JSON can't represent", "", fields{vocab.Content: func() {}}, "encode chat"},
		{"a model within options that are a number", "", fields{vocab.Options: 42, vocab.Model: "m"},
			`field /options/model: "options" is not an object`},
		{"a model within options that are a list", "", fields{vocab.Options: []any{}, vocab.Model: "m"},
			`field /options/model: "options" is not an object`},
		{"an agent_id below the content", "fields: {request: {agent-id: /content/agent}}",
			fields{vocab.AgentID: "red", vocab.Content: "x"}, `field /content/agent: "content" is not an object`},
		{"a content below the type", "fields: {request: {content: /type/content}}", fields{vocab.Content: "x"},
			`field /type/content: "type" is not an object`},
		{"a type below the content", "fields: {request: {type: /content/type}}", fields{vocab.Content: "x"},
			"field content: /content is another field's place"},
		{"a type within the options", "fields: {request: {type: /options/type}}", fields{vocab.Options: 42},
			"field options: /options is another field's place"},
		{"a type within options that are an object", "fields: {request: {type: /options/type}}",
			fields{vocab.Options: map[string]any{"x": 1}}, "field options: /options is another field's place"},
		{"a type below the model", "fields: {request: {type: /head/type, model: /head}}", fields{vocab.Model: "m"},
			"its type stands within another field"},
		{"an agent_id at the place of the type", "fields: {request: {agent-id: type}}", fields{vocab.AgentID: "red"},
			"field agent_id: /type is another field's place"},
		{"a content below the agent_id", "fields: {request: {content: /agent_id/text}}",
			fields{vocab.AgentID: "red", vocab.Content: "x"}, "field agent_id: /agent_id is another field's place"},
		{"a content at the place of the options", "fields: {request: {content: options}}",
			fields{vocab.Content: "x", vocab.Options: map[string]any{}}, "field content: /options is another field's place"},
		{"a content at the place of the model", "fields: {request: {content: /options/model}}",
			fields{vocab.Content: "x", vocab.Model: "m"}, "field content: /options/model is another field's place"},
		{"a content that is null, at the place of the model", "fields: {request: {content: /options/model}}",
			fields{vocab.Content: nil, vocab.Model: "m"}, "field content: /options/model is another field's place"},
		{"a model at the place of the agent_id", "fields: {request: {model: agent_id}}",
			fields{vocab.AgentID: "red", vocab.Model: "m"}, "field agent_id: /agent_id is another field's place"},
		{"a model below the content", "fields: {request: {model: /content/model}}",
			fields{vocab.Content: "x", vocab.Model: "m"},
			"field content: /content is another field's place"},
		{"an agent_id at a place that the options have taken", "fields: {request: {agent-id: /options/agent}}",
			fields{vocab.AgentID: "red", vocab.Options: map[string]any{"agent": "x"}},
			"field agent_id: /options/agent is another field's place"},
		{"two fields at one place", "fields: {request: {agent-id: id, content: id}}",
			fields{vocab.AgentID: "red", vocab.Content: "x"}, "field agent_id: /id is another field's place"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if m, err := bound(t, r.wire).message("chat", r.f); err == nil || !strings.Contains(err.Error(), r.want) ||
				m.Body != nil {
				t.Errorf("message: %s, %v; want an error with %q in it", m.Body, err, r.want)
			}
		})
	}
}

// TestMessageLeavesItsFields checks that encoding does not change the fields, so that they may be sent twice.
func TestMessageLeavesItsFields(t *testing.T) {
	f := fields{vocab.Options: map[string]any{"x": 1}, vocab.Model: "m"}
	for range 2 {
		m, err := bound(t, "").message("chat", f)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.Body); got != `{"options":{"model":"m","x":1},"type":"chat"}` {
			t.Errorf("the message is %s", got)
		}
		if diff := cmp.Diff(fields{vocab.Options: map[string]any{"x": 1}, vocab.Model: "m"}, f); diff != "" {
			t.Errorf("the fields have changed; want(-) got(+):\n%s", diff)
		}
	}
}

// heard returns the record of a text frame sent by a target.
func heard(data string) transcript.Record {
	return transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
		Bytes: []byte(data)}
}

// told formats a record in the protocol's terms; "" if it means nothing.
func told(r transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	out := r.Event.Type + " " + wjson.Compact(r.Event.Data)
	if r.Event.Timestamp != nil {
		out += " at " + wjson.Compact(r.Event.Timestamp)
	}
	for _, f := range r.Event.Faults {
		out += " fault " + f
	}
	return out
}
