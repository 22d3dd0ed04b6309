package sessionchat

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// of returns a record of another kind.
func of(r transcript.Record, kind transcript.Kind, typ string) transcript.Record {
	r.Kind, r.Type = kind, typ
	return r
}

const places = "fields: {message: {type: [message_type, type, /meta/type]}}"

var decodeRows = []struct {
	reason string
	wire   string
	in     transcript.Record
	want   string // type, data, time and faults; "" for no event
}{
	{"a piece", "", heard(`{"message_type":"stream","agent_id":"red","session_id":"s","message":{"text":"hi"},` +
		`"timestamp":"t"}`),
		`stream {"agent_id":"red","message":{"text":"hi"},"message_type":"stream","piece":true,"session_id":"s",` +
			`"text":"hi","timestamp":"t"} at "t"`},
	{"null members are present", "",
		heard(`{"message_type":"system","agent_id":"red","session_id":null,"message":null,"timestamp":null}`),
		`system {"agent_id":"red","message":null,"message_type":"system","session_id":null,"timestamp":null}`},
	{"missing members are absent", "", heard(`{"message_type":"result"}`),
		`result {"message_type":"result"}`},
	{"extra members are ignored", "", heard(`{"message_type":"result","seq":1,"x":{"agent_id":"blue"}}`),
		`result {"message_type":"result"}`},
	{"an outcome", "", heard(`{"message_type":"result","message":{"subtype":"success"}}`),
		`result {"message":{"subtype":"success"},"message_type":"result","subtype":"success","text":"success"}`},
	{"an outcome that is not a string", "", heard(`{"message_type":"result","message":{"subtype":{"a":1}}}`),
		`result {"message":{"subtype":{"a":1}},"message_type":"result","subtype":{"a":1}}`},
	{"an outcome that the binding does not have", "",
		heard(`{"message_type":"result","message":{"subtype":"error_max_turns"}}`),
		`result {"message":{"subtype":"error_max_turns"},"message_type":"result","subtype":"error_max_turns",` +
			`"text":"error_max_turns"}`},
	{"an error", "", heard(`{"message_type":"error","agent_id":null,"message":{"code":"c","text":"m"}}`),
		`error {"agent_id":null,"code":"c","message":{"code":"c","text":"m"},"message_type":"error","text":"c\nm"}`},
	{"a pong", "", heard(`{"message_type":"pong"}`), `pong {"message_type":"pong"}`},
	{"a type that the binding does not have", "", heard(`{"message_type":"usage","agent_id":"red"}`),
		`usage {"agent_id":"red","message_type":"usage"}`},
	{"no type", "", heard(`{"agent_id":"red"}`), ` {"agent_id":"red"}`},
	{"a type that is no string", "", heard(`{"message_type":7}`), ` {"message_type":7}`},
	{"a type that is null", "", heard(`{"message_type":null}`), ` {"message_type":null}`},
	{"an empty object", "", heard(`{}`), ` {}`},

	{"every string of a message is its text", "",
		heard(`{"message_type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"},` +
			`"b",7,null,["c"]]}}`),
		`assistant {"message":{"content":[{"text":"a","type":"text"},"b",7,null,["c"]],"role":"assistant"},` +
			`"message_type":"assistant","text":"a\ntext\nb\nc\nassistant"}`},
	{"a message that is a string", "", heard(`{"message_type":"assistant","message":"hi"}`),
		`assistant {"message":"hi","message_type":"assistant","text":"hi"}`},
	{"a piece has only its own text", "", heard(`{"message_type":"stream","message":{"text":"a","role":"assistant"}}`),
		`stream {"message":{"role":"assistant","text":"a"},"message_type":"stream","piece":true,"text":"a"}`},
	{"a piece whose text is empty", "", heard(`{"message_type":"stream","message":{"text":"","role":"b"}}`),
		`stream {"message":{"role":"b","text":""},"message_type":"stream","piece":true,"text":""}`},
	{"a piece whose text is null", "", heard(`{"message_type":"stream","message":{"text":null,"role":"b"}}`),
		`stream {"message":{"role":"b","text":null},"message_type":"stream","piece":true,"text":""}`},
	{"a stream message with its text elsewhere is not a piece", "",
		heard(`{"message_type":"stream","message":{"delta":{"text":"a"},"role":"b"}}`),
		`stream {"message":{"delta":{"text":"a"},"role":"b"},"message_type":"stream","text":"a\nb"}`},
	{"a stream message without a body is not a piece", "", heard(`{"message_type":"stream","text":"a"}`),
		`stream {"message_type":"stream"}`},
	{"a wire member called piece is ignored", "", heard(`{"message_type":"assistant","piece":true,"text":""}`),
		`assistant {"message_type":"assistant"}`},
	{"a piece whose text is not a string has none", "",
		heard(`{"message_type":"stream","message":{"text":["a"],"role":"b"}}`),
		`stream {"message":{"role":"b","text":["a"]},"message_type":"stream","piece":true,"text":""}`},
	{"a message that is not a piece has all of its text", "",
		heard(`{"message_type":"assistant","message":{"text":"a","role":"assistant"}}`),
		`assistant {"message":{"role":"assistant","text":"a"},"message_type":"assistant","text":"assistant\na"}`},

	{"elsewhere", elsewhere, heard(`{"kind":"delta","meta":{"thread":"red","conversation":"s"},"body":{"chunk":"hi"},` +
		`"at":"t","seq":1}`),
		`stream {"agent_id":"red","message":{"chunk":"hi"},"message_type":"delta","piece":true,"session_id":"s",` +
			`"text":"hi","timestamp":"t"} at "t"`},
	{"an outcome elsewhere", elsewhere,
		heard(`{"kind":"finished","meta":{"thread":"red","conversation":null},"body":{"state":"stopped"},"at":"t"}`),
		`result {"agent_id":"red","message":{"state":"stopped"},"message_type":"finished","session_id":null,` +
			`"subtype":"interrupted","text":"stopped","timestamp":"t"} at "t"`},
	{"an error elsewhere has its type in another location", elsewhere,
		heard(`{"event":"problem","problem":{"code":"c","detail":"d"},"at":"t"}`),
		`error {"code":"c","timestamp":"t"} at "t"`},
	{"a pong elsewhere", elsewhere, heard(`{"event":"heartbeat_ack"}`), `pong {}`},
	{"the default locations mean nothing there", elsewhere,
		heard(`{"message_type":"stream","agent_id":"red","session_id":"s","message":{"text":"x"},"timestamp":"t"}`),
		` {}`},
	{"a location inside a value that is not an object", elsewhere, heard(`{"kind":"delta","meta":"red","body":[1]}`),
		`stream {"message":[1],"message_type":"delta"}`},

	{"the first place of the type counts", places, heard(`{"message_type":"stream","type":"error"}`),
		`stream {"message_type":"stream"}`},
	{"then the second, which is no message_type", places, heard(`{"type":"error","meta":{"type":"pong"}}`),
		`error {}`},
	{"then the third", places, heard(`{"meta":{"type":"pong"}}`), `pong {}`},
	{"a first place without a name does not count", places, heard(`{"message_type":null,"type":"error"}`),
		`error {"message_type":null}`},
	{"an unknown name in the first place counts", places, heard(`{"message_type":"usage","type":"error"}`),
		`usage {"message_type":"usage"}`},
	{"several names of one type: the first", "types: {result: [done, stopped]}", heard(`{"message_type":"done"}`),
		`result {"message_type":"done"}`},
	{"and the second", "types: {result: [done, stopped]}", heard(`{"message_type":"stopped"}`),
		`result {"message_type":"stopped"}`},
	{"its own among them", "types: {result: [result, done]}", heard(`{"message_type":"result"}`),
		`result {"message_type":"result"}`},
	{"swapped names", "types: {system: stream, stream: system}",
		heard(`{"message_type":"system","message":{"text":"a","b":"c"}}`),
		`stream {"message":{"b":"c","text":"a"},"message_type":"system","piece":true,"text":"a"}`},
	{"a name that this wire gives to nothing", "types: {result: done}",
		heard(`{"message_type":"result","message":{"text":"a"}}`),
		`(result) {"message":{"text":"a"},"message_type":"result","text":"a"}`},
	{"such a name is not a piece", "types: {stream: delta}",
		heard(`{"message_type":"stream","message":{"text":"a","b":"c"}}`),
		`(stream) {"message":{"b":"c","text":"a"},"message_type":"stream","text":"c\na"}`},
	{"a name that this wire gives to something else", "types: {result: error, error: problem}",
		heard(`{"message_type":"error"}`), `result {"message_type":"error"}`},
	{"such a name in the first place counts",
		"fields: {message: {type: [message_type, type]}}\ntypes: {error: problem}",
		heard(`{"message_type":"error","type":"pong"}`), `(error) {"message_type":"error"}`},
	{"such a name in the second place counts",
		"fields: {message: {type: [message_type, type]}}\ntypes: {error: problem}",
		heard(`{"message_type":null,"type":"error"}`), `(error) {"message_type":null}`},
	{"a name in parentheses is an ordinary name", "", heard(`{"message_type":"(result)"}`),
		`(result) {"message_type":"(result)"}`},
	{"an outcome that this wire gives to nothing", "outcomes: {interrupted: cancelled}",
		heard(`{"message_type":"result","message":{"subtype":"interrupted"}}`),
		`result {"message":{"subtype":"interrupted"},"message_type":"result","subtype":"(interrupted)",` +
			`"text":"interrupted"}`},
	{"swapped outcomes", "outcomes: {success: error, error: success}",
		heard(`{"message_type":"result","message":{"subtype":"error"}}`),
		`result {"message":{"subtype":"error"},"message_type":"result","subtype":"success","text":"error"}`},
	{"several names of one outcome", "outcomes: {interrupted: [cancelled, aborted]}",
		heard(`{"message_type":"result","message":{"subtype":"aborted"}}`),
		`result {"message":{"subtype":"aborted"},"message_type":"result","subtype":"interrupted","text":"aborted"}`},
	{"a wire without bodies", "fields: {message: {body: '', text: text}}",
		heard(`{"message_type":"stream","text":"a"}`),
		`stream {"message":{"message_type":"stream","text":"a"},"message_type":"stream","piece":true,"text":"a"}`},
	{"names in a list", "fields: {message: {agent-id: /ids/0, session-id: /ids/1}}",
		heard(`{"message_type":"result","ids":["red","s"]}`),
		`result {"agent_id":"red","message_type":"result","session_id":"s"}`},

	{"a repeated key: the last counts, and it is a fault", "",
		heard(`{"message_type":"stream","message_type":"result","agent_id":"a","agent_id":"b"}`),
		`result {"agent_id":"b","message_type":"result"} fault duplicate key at "/message_type" (byte 25) ` +
			`fault duplicate key at "/agent_id" (byte 64)`},
	{"bad UTF-8 is a fault", "", heard("{\"message_type\":\"stream\",\"message\":{\"text\":\"\xff\"}}"),
		"stream {\"message\":{\"text\":\"\ufffd\"},\"message_type\":\"stream\",\"piece\":true,\"text\":\"\ufffd\"} fault " +
			"invalid UTF-8 at \"/message/text\" (byte 44)"},
	{"half a surrogate pair is a fault", "", heard(`{"message_type":"stream","message":{"text":"\ud83d"}}`),
		"stream {\"message\":{\"text\":\"\ufffd\"},\"message_type\":\"stream\",\"piece\":true,\"text\":\"\ufffd\"} fault " +
			"lone surrogate at \"/message/text\" (byte 44)"},
	{"keys are compared exactly", "", heard(`{"Message_Type":"stream","AGENT_ID":"red"}`), ` {}`},
	{"numbers stay as they are", "", heard(`{"agent_id":1e400,"session_id":-0}`),
		` {"agent_id":1e400,"session_id":-0}`},

	{"an array", "", heard(`[{"message_type":"stream"}]`), ""},
	{"a string", "", heard(`"stream"`), ""},
	{"a number", "", heard(`42`), ""},
	{"null", "", heard(`null`), ""},
	{"nothing", "", heard(``), ""},
	{"malformed JSON", "", heard(`{"message_type":"stream"`), ""},
	{"two values", "", heard(`{"message_type":"stream"} {}`), ""},
	{"no JSON at all", "", heard("\x00\xff"), ""},
	{"a binary frame", "", of(heard(`{"message_type":"stream"}`), transcript.Frame, "binary"), ""},
	{"a frame of no type", "", of(heard(`{"message_type":"stream"}`), transcript.Frame, ""), ""},
	{"the answer to a handshake", "", of(heard(`{"message_type":"stream"}`), transcript.Response, "text"), ""},
	{"a ping of the transport", "", of(heard(`{"message_type":"stream"}`), transcript.Comment, "text"), ""},
	{"the end of the connection", "", of(heard(`{"message_type":"stream"}`), transcript.Closed, "text"), ""},
}

func TestDecode(t *testing.T) {
	for _, r := range decodeRows {
		t.Run(r.reason, func(t *testing.T) {
			in := r.in
			bound(t, r.wire).decode(&in)
			if got := told(in); got != r.want {
				t.Errorf("%s\nis    %s\nwant  %s", r.in.Bytes, got, r.want)
			}
			if !bytes.Equal(in.Bytes, r.in.Bytes) {
				t.Errorf("the bytes have become %s", in.Bytes)
			}
			if in.Event != nil && in.Label != in.Event.Type || in.Event == nil && in.Label != "" {
				t.Errorf("it is labelled %q", in.Label)
			}
		})
	}
}

// TestNamesThatMeanNothing checks that a default binding name which this wire has renamed is just some name of the
// wire's own.
func TestNamesThatMeanNothing(t *testing.T) {
	for _, kind := range []string{vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage,
		vocab.ResultMessage, vocab.ErrorMessage, vocab.PongMessage} {
		t.Run(kind, func(t *testing.T) {
			r := heard(`{"kind":"` + kind + `","meta":{"thread":"red"}}`)
			bound(t, elsewhere).decode(&r)
			if want := "(" + kind + ")"; r.Event.Type != want || r.Label != want || text(&r, vocab.MessageType) != kind {
				t.Errorf("it is %s, labelled %q", told(r), r.Label)
			}
		})
	}
	for _, how := range []string{vocab.Success, vocab.Interrupted, vocab.Failed} {
		t.Run("a result that is "+how, func(t *testing.T) {
			r := heard(`{"kind":"finished","body":{"state":"` + how + `"}}`)
			bound(t, elsewhere).decode(&r)
			if got := text(&r, vocab.Subtype); r.Event.Type != vocab.ResultMessage || got != "("+how+")" {
				t.Errorf("the turn has ended with %q: %s", got, told(r))
			}
		})
	}
}

// TestDecodeKeepsLabels checks that decoding keeps a driver's label.
func TestDecodeKeepsLabels(t *testing.T) {
	r := heard(`{"message_type":"stream"}`)
	r.Label = "text that is not UTF-8"
	bound(t, "").decode(&r)
	if r.Label != "text that is not UTF-8" || r.Event.Type != vocab.StreamMessage {
		t.Errorf("%q, %s", r.Label, told(r))
	}
}

// TestDecodeKeepsTheEnvelope checks that the original message stays available, wherever its members are.
func TestDecodeKeepsTheEnvelope(t *testing.T) {
	r := heard(`{"kind":"finished","meta":{"thread":"red"},"body":{"state":"stopped"},"seq":1}`)
	bound(t, elsewhere).decode(&r)
	if got := wjson.Compact(r.Event.Envelope); got != `{"body":{"state":"stopped"},"kind":"finished",`+
		`"meta":{"thread":"red"},"seq":1}` {
		t.Errorf("the envelope is %s", got)
	}
}

func TestDecodeSent(t *testing.T) {
	rows := []struct {
		reason, wire, in string
		want             string
	}{
		{"a chat", "", `{"type":"chat","agent_id":"red","content":"x","options":{"model":"m"}}`,
			`chat {"agent_id":"red","content":"x","options":{"model":"m"}}`},
		{"a chat with odd values", "", `{"type":"chat","agent_id":null,"content":["x"],"options":42}`,
			`chat {"agent_id":null,"content":["x"],"options":42}`},
		{"a chat without anything", "", `{"type":"chat"}`, `chat {}`},
		{"an interrupt", "", `{"type":"interrupt","agent_id":"red"}`, `interrupt {"agent_id":"red"}`},
		{"a ping", "", `{"type":"ping"}`, `ping {}`},
		{"no type", "", `{"agent_id":"red"}`, ` {"agent_id":"red"}`},
		{"a type that is no string", "", `{"type":7,"agent_id":"red"}`, ` {"agent_id":"red"}`},
		{"an unknown type", "", `{"type":"x-unknown"}`, `x-unknown {}`},
		{"a server's member name is not a client's", "", `{"message_type":"stream","type":"stream"}`, `stream {}`},
		{"a chat elsewhere", elsewhere, `{"action":"send","thread":"red","text":"x","settings":{"llm":"m"}}`,
			`chat {"agent_id":"red","content":"x","options":{"llm":"m"}}`},
		{"an interrupt elsewhere", elsewhere, `{"action":"stop","thread":"red"}`, `interrupt {"agent_id":"red"}`},
		{"a ping elsewhere", elsewhere, `{"action":"heartbeat"}`, `ping {}`},
		{"swapped names", "messages: {interrupt: ping, ping: interrupt}", `{"type":"ping"}`, `interrupt {}`},
		{"an array", "", `[]`, ""},
		{"a string", "", `"chat"`, ""},
		{"malformed JSON", "", `{"type":"chat"`, ""},
		{"nothing", "", ``, ""},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			in := heard(r.in)
			in.Dir, in.Label = transcript.Sent, "as the step calls it"
			bound(t, r.wire).decode(&in)
			if got := told(in); got != r.want {
				t.Errorf("%s\nis    %s\nwant  %s", r.in, got, r.want)
			}
			if in.Label != "as the step calls it" {
				t.Errorf("it is labelled %q", in.Label)
			}
		})
	}
}

// TestRoundTrip checks that what is sent on a wire is read back under the names of the default binding.
func TestRoundTrip(t *testing.T) {
	for _, wire := range []string{"", elsewhere, "messages: {chat: ping, ping: chat}",
		"fields: {request: {type: /head/type, agent-id: /head/id, content: /body/text, options: /body/opts, model: /m}}"} {
		for _, kind := range []string{"chat", "interrupt", "ping", "x-unknown", ""} {
			b := bound(t, wire)
			m, err := b.message(kind, fields{vocab.AgentID: "red", vocab.Content: "x", vocab.Options: map[string]any{"a": "b"}})
			if err != nil {
				t.Fatal(err)
			}
			r := heard(string(m.Body))
			r.Dir = transcript.Sent
			b.decode(&r)
			if got, want := told(r), kind+` {"agent_id":"red","content":"x","options":{"a":"b"}}`; got != want {
				t.Errorf("over %q: %s becomes %s, want %s", wire, m.Body, got, want)
			}
		}
	}
}

func TestMember(t *testing.T) {
	r := heard(`{"message_type":"stream","agent_id":"red","session_id":null,"timestamp":7}`)
	bound(t, "").decode(&r)
	for name, want := range map[string]string{
		vocab.AgentID: "red", vocab.SessionID: "", vocab.Timestamp: "", vocab.Body: "", vocab.Text: "",
	} {
		if got := text(&r, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := wjson.Compact(member(&r, vocab.Timestamp)); got != "7" {
		t.Errorf("the time is %s", got)
	}
	for _, r := range []transcript.Record{{}, {Event: &transcript.Event{}}, {Event: &transcript.Event{Data: []any{1}}}} {
		if got := member(&r, vocab.AgentID); got != nil {
			t.Errorf("%+v has the agent_id %v", r, got)
		}
	}
}

// FuzzDecode checks that any message is decoded or is not an event, and that decoding again yields the same, also for
// the decoded message itself if nothing in it was at fault.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"message_type":"stream","agent_id":"red","session_id":null,"message":{"text":"hi"},`+
		`"timestamp":"t"}`), false, "text")
	f.Add([]byte(`{"kind":"finished","meta":{"thread":["red"]},"body":{"state":{"a":[1e400,"x"]}},"at":7}`), false, "text")
	f.Add([]byte(`{"event":"problem","problem":[],"message_type":{},"message":[[["a"]],{"b":"c"}]}`), false, "text")
	f.Add([]byte("{\"message_type\":\"stream\",\"message_type\":\"\xff\",\"message\":\"\\ud800\"}"), false, "text")
	f.Add([]byte(`{"type":"chat","action":"send","agent_id":"red","options":{}}`), true, "text")
	f.Add([]byte(`[{}] `), true, "binary")
	f.Fuzz(func(t *testing.T, data []byte, sent bool, typ string) {
		for _, wire := range []string{"", elsewhere, "fields: {message: {type: [/a/0, /b], body: '', text: /c/d}}"} {
			b := bound(t, wire)
			r := heard(string(data))
			r.Type = typ
			if sent {
				r.Dir = transcript.Sent
			}
			b.decode(&r)
			if r.Event == nil {
				if r.Label != "" {
					t.Errorf("%q is no event, and labelled %q", data, r.Label)
				}
				continue
			}
			again := r
			b.decode(&again)
			if diff := cmp.Diff(r, again); diff != "" {
				t.Errorf("%q, the second time:\n%s", data, diff)
			}
			if len(r.Event.Faults) > 0 {
				continue
			}
			understood := heard(wjson.Compact(r.Event.Envelope))
			understood.Dir = r.Dir
			b.decode(&understood)
			if diff := cmp.Diff(r.Event, understood.Event); diff != "" {
				t.Errorf("%q, as understood:\n%s", data, diff)
			}
		}
	})
}
