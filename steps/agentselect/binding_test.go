package agentselect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/target"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// bound returns the binding of a profile with this wire.
func bound(t *testing.T, driverName, wire string) *codec {
	t.Helper()
	text := "url: http://h/base\n"
	if wire != "" {
		text += "agent-select:\n  " + strings.ReplaceAll(strings.TrimSpace(wire), "\n", "\n  ") + "\n"
	}
	p, err := target.Kinds{binding.Kind()}.Parse([]byte(text), "test.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return newCodec(p, p.URL, driverName)
}

var allFields = fields{vocab.AgentID: "debugger", vocab.SessionID: "s"}

var messageRows = []struct {
	reason string
	driver string
	wire   string
	kind   string
	f      fields
	conn   any
	want   string // method, URL, headers and body
}{
	{"the default binding", sse.Name, "", "switch_agent", allFields, "c",
		`POST http://h/base/message {"agentId":"debugger","connectionId":"c","sessionId":"s","type":"switch_agent"}`},
	{"a connection that has no id", sse.Name, "", "abort", nil, nil, `POST http://h/base/message {"type":"abort"}`},
	{"a numeric id", sse.Name, "", "abort", nil, 7,
		`POST http://h/base/message {"connectionId":7,"type":"abort"}`},
	{"a socket is its own correlation, and has no URL", ws.Name, "", "switch_agent", allFields, "c",
		`  {"agentId":"debugger","sessionId":"s","type":"switch_agent"}`},
	{"sessions are endpoints", sse.Name, "", "session_create", fields{vocab.InitialAgentID: "debugger"}, "c",
		`POST http://h/base/session/create {"connectionId":"c","initialAgentId":"debugger"}`},
	{"and messages on a socket", ws.Name, "", "session_load", fields{vocab.SessionID: "s"}, "c",
		`  {"sessionId":"s","type":"session_load"}`},

	{"correlation by another field", sse.Name, "correlation: {body: conn}", "abort", nil, "c",
		`POST http://h/base/message {"conn":"c","type":"abort"}`},
	{"by a nested one", sse.Name, "correlation: {body: /meta/conn}", "abort", nil, "c",
		`POST http://h/base/message {"meta":{"conn":"c"},"type":"abort"}`},
	{"by a header", sse.Name, "correlation: {header: x-connection-id}", "abort", nil, "c",
		`POST http://h/base/message X-Connection-Id=c {"type":"abort"}`},
	{"by a header, at every endpoint", sse.Name, "correlation: {header: X-Conn}", "session_load",
		fields{vocab.SessionID: "s"}, "c", `POST http://h/base/session/load X-Conn=c {"sessionId":"s"}`},
	{"a socket sends no header", ws.Name, "correlation: {header: X-Conn}", "abort", nil, "c", `  {"type":"abort"}`},
	{"by nothing", sse.Name, "correlation: single", "abort", nil, "c", `POST http://h/base/message {"type":"abort"}`},

	{"other endpoints", sse.Name, "sse: {message: {path: /m?v=1, method: PUT}, load: /l}", "abort", nil, nil,
		`PUT http://h/base/m?v=1 {"type":"abort"}`},
	{"another endpoint of sessions keeps its method", sse.Name, "sse: {load: /l}", "session_load",
		fields{vocab.SessionID: "s"}, nil, `POST http://h/base/l {"sessionId":"s"}`},
	{"a session at the endpoint of messages needs a type", sse.Name, "sse: {create: /message}", "session_create", nil,
		nil, `POST http://h/base/message {"type":"session_create"}`},
	{"renamed messages", sse.Name, "messages: {switch_agent: agent.switch}", "switch_agent",
		fields{vocab.AgentID: "a"}, nil,
		`POST http://h/base/message {"agentId":"a","type":"agent.switch"}`},
	{"a message unknown to the binding", sse.Name, "", "list_agents", fields{"anything": true}, nil,
		`POST http://h/base/message {"anything":true,"type":"list_agents"}`},

	{"renamed fields", sse.Name, "fields: {request: {type: kind, agent-id: agent, session-id: session}}", "switch_agent",
		allFields, nil, `POST http://h/base/message {"agent":"debugger","kind":"switch_agent","session":"s"}`},
	{"nested fields", sse.Name, "fields: {request: {agent-id: /data/agent/id, session-id: /data/session, type: " +
		"/head/type}}", "switch_agent", allFields, "c",
		`POST http://h/base/message {"connectionId":"c","data":{"agent":{"id":"debugger"},"session":"s"},` +
			`"head":{"type":"switch_agent"}}`},
	{"names that need escapes", sse.Name, "fields: {request: {agent-id: /a~1b/c~0d}}", "switch_agent",
		fields{vocab.AgentID: "x"}, nil, `POST http://h/base/message {"a/b":{"c~d":"x"},"type":"switch_agent"}`},
	{"every other field of a request", sse.Name,
		"fields: {request: {content: /m/text, request-id: rid, response: answer, initial-agent-id: /start/agent}}",
		"user_question_response",
		fields{vocab.Content: "c", vocab.RequestID: 1, vocab.Response: map[string]any{"a": nil},
			vocab.InitialAgentID: "i"}, nil,
		`POST http://h/base/message {"answer":{"a":null},"m":{"text":"c"},"rid":1,"start":{"agent":"i"},` +
			`"type":"user_question_response"}`},
	{"JSON that stands as it is", sse.Name, "", "switch_agent", fields{vocab.AgentID: raw(`{"a":1e2}`)}, nil,
		`POST http://h/base/message {"agentId":{"a":1e2},"type":"switch_agent"}`},
	{"nothing is escaped that need not be", sse.Name, "", "chat", fields{vocab.Content: "<b>&主"}, nil,
		`POST http://h/base/message {"content":"<b>&主","type":"chat"}`},
}

func TestMessage(t *testing.T) {
	for _, r := range messageRows {
		t.Run(r.reason, func(t *testing.T) {
			m, err := bound(t, r.driver, r.wire).message(r.kind, r.f, r.conn)
			if err != nil {
				t.Fatal(err)
			}
			var headers string
			for k, v := range m.Header {
				headers += k + "=" + strings.Join(v, ",") + " "
			}
			if got := m.Method + " " + m.URL + " " + headers + string(m.Body); got != r.want {
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
		want   string
	}{
		{"a field below one that is not an object", "fields: {request: {type: /content/type}}", fields{vocab.Content: "text"},
			`field /content/type: "content" is not an object`},
		{"not JSON", "", fields{vocab.Content: func() {}}, "encode chat: "},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			_, err := bound(t, sse.Name, r.wire).message("chat", r.f, nil)
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("message: %v; want %q in it", err, r.want)
			}
		})
	}
}

func TestVerbatim(t *testing.T) {
	m := bound(t, sse.Name, "correlation: {header: X-Conn}").verbatim("{\xff", "c")
	if string(m.Body) != "{\xff" || m.URL != "http://h/base/message" || m.Header.Get("X-Conn") != "c" {
		t.Errorf("the message is %+v", m)
	}
	if m := bound(t, ws.Name, "").verbatim("x", "c"); m.URL != "" || m.Header != nil {
		t.Errorf("the message is %+v", m)
	}
}

func TestStreamURL(t *testing.T) {
	rows := []struct{ reason, driver, wire, query, want string }{
		{"the default", sse.Name, "", "", "http://h/base/events"},
		{"with a query", sse.Name, "", "agentId=debugger", "http://h/base/events?agentId=debugger"},
		{"with a query beside one", sse.Name, "sse: {stream: /s?a=b}", "c=d", "http://h/base/s?a=b&c=d"},
		{"of a socket", ws.Name, "ws: {path: /socket}", "c=d", "http://h/base/socket?c=d"},
		{"of the interop driver", "r3labs", "", "", "http://h/base/events"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := bound(t, r.driver, r.wire).streamURL(r.query); got != r.want {
				t.Errorf("streamURL is %q, want %q", got, r.want)
			}
		})
	}
}

// event returns a record of a target's message.
func event(kind, data string) transcript.Record {
	return transcript.Record{Dir: transcript.Received, Kind: transcript.Stream, Type: kind, Label: kind,
		Bytes: []byte(data)}
}

// told renders a record in the protocol's terms; "" if it is not an event.
func told(r transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	out := r.Event.Type + " " + wjson.Compact(r.Event.Data)
	if r.Event.RequestID != nil {
		out += " request " + wjson.Compact(r.Event.RequestID)
	}
	if r.Event.Timestamp != nil {
		out += " time " + wjson.Compact(r.Event.Timestamp)
	}
	for _, f := range r.Event.Faults {
		out += " fault " + f
	}
	return out
}

func frame(typ, data string) transcript.Record {
	r := event(typ, data)
	r.Kind = transcript.Frame
	return r
}

func of(r transcript.Record, k transcript.Kind, d transcript.Dir) transcript.Record {
	r.Kind, r.Dir = k, d
	return r
}

const deep = `
fields:
  event:
    {connection-id: /conn/id, agents: /list/all, current-agent-id: /now, previous-agent-id: /was/id, agent-name: /title,
    error-code: /code, message: /text, available-agents: /choices, role: /by, content: /body/text, streaming: /partial,
    session-id: /session/id, cancelled: /stopped}
  agent: {id: key, name: /label/text, description: about}`

var decodeRows = []struct {
	reason string
	driver string
	wire   string
	in     transcript.Record
	want   string
}{
	{"the default envelope", sse.Name, "",
		event("message", `{"type":"agent_list","data":{"agents":[]},"requestId":"r","timestamp":"t"}`),
		`agent_list {"agents":[]} request "r" time "t"`},
	{"the event field of the stream says nothing there", sse.Name, "", event("agent_list", `{"type":"error","data":{}}`),
		"error {}"},
	{"no data", sse.Name, "", event("message", `{"type":"complete"}`), "complete null"},
	{"an event that the binding does not know", sse.Name, "", event("message", `{"type":"presence","data":1}`),
		"presence 1"},
	{"numbers stay as they are", sse.Name, "", event("message", `{"type":"x","data":{"n":1.50e3}}`), `x {"n":1.50e3}`},
	{"a frame", ws.Name, "", frame("text", `{"type":"x","data":1}`), "x 1"},
	{"a binary frame is not a message", ws.Name, "", frame("binary", `{"type":"x","data":1}`), ""},
	{"nor is a comment", sse.Name, "", of(event("", `{"type":"x"}`), transcript.Comment, transcript.Received), ""},
	{"nor an answer", sse.Name, "", of(event("", `{"type":"x"}`), transcript.Response, transcript.Received), ""},
	{"nor a remark", sse.Name, "", of(event("", `{"type":"x"}`), transcript.Remark, transcript.Noted), ""},

	{"no type", sse.Name, "", event("message", `{"data":{}}`), ""},
	{"a type that is not a string", sse.Name, "", event("message", `{"type":7}`), ""},
	{"no object", sse.Name, "", event("message", `[1]`), ""},
	{"no JSON", sse.Name, "", event("message", `{"type":"x"`), ""},
	{"two values", sse.Name, "", event("message", `{"type":"x"} {}`), ""},
	{"nothing", sse.Name, "", event("message", ``), ""},
	{"a key that is given twice: the last counts, and it is a fault", sse.Name, "",
		event("message", `{"type":"x","type":"y","data":{"a":1,"a":2}}`),
		`y {"a":2} fault duplicate key at "/type" (byte 12) fault duplicate key at "/data/a" (byte 37)`},
	{"keys are compared exactly", sse.Name, "", event("message", `{"Type":"x","type":"y","DATA":1}`), "y null"},
	{"bad UTF-8 is a fault", sse.Name, "", event("message", "{\"type\":\"x\",\"data\":\"a\xff\"}"),
		"x \"a\ufffd\" fault invalid UTF-8 at \"/data\" (byte 21)"},
	{"half a surrogate pair is a fault", sse.Name, "", event("message", `{"type":"x","data":"\ud800"}`),
		"x \"\ufffd\" fault lone surrogate at \"/data\" (byte 20)"},

	{"another envelope", sse.Name, "envelope: {type: /head/kind, data: /body, request-id: /head/id, timestamp: /head/at}",
		event("message", `{"head":{"kind":"x","id":7,"at":"t"},"body":[1]}`), `x [1] request 7 time "t"`},
	{"data that is the whole object", sse.Name, `envelope: {data: ""}`,
		event("message", `{"type":"error","errorCode":"c"}`), `error {"errorCode":"c","type":"error"}`},
	{"the type in the stream's event field", sse.Name, "envelope: {type: sse-event}",
		event("agent_list", `{"agents":[],"requestId":"r"}`), `agent_list {"agents":[],"requestId":"r"} request "r"`},
	{"with the data in a place of its own", sse.Name, "envelope: {type: sse-event, data: payload}",
		event("agent_list", `{"payload":{"agents":[]}}`), `agent_list {"agents":[]}`},
	{"a type in the object means nothing then", sse.Name, "envelope: {type: sse-event}",
		event("message", `{"type":"error"}`), `message {"type":"error"}`},
	{"an event that is not JSON still has its type", sse.Name, "envelope: {type: sse-event}",
		event("agent_list", `oops`),
		`agent_list null fault not JSON at byte 0: invalid character 'o' at start of value`},
	{"a socket has no event field: the default positions are used", ws.Name, "envelope: {type: sse-event}",
		frame("text", `{"type":"x","data":1}`), "x 1"},

	{"renamed events", sse.Name, "events: {agent_switched: agent.switched}",
		event("message", `{"type":"agent.switched","data":{}}`), "agent_switched {}"},
	{"a name that means something else here", sse.Name, "events: {agent_switched: agent.switched}",
		event("message", `{"type":"agent_switched","data":{}}`), " {}"},
	{"names that are exchanged", sse.Name, "events: {message: complete, complete: message}",
		event("message", `{"type":"message","data":{"sessionId":"s"}}`), `complete {"sessionId":"s"}`},
	{"renamed, in the event field", sse.Name, "envelope: {type: sse-event}\nevents: {error: failed}",
		event("failed", `{"errorCode":"c"}`), `error {"errorCode":"c"}`},

	{"connected", sse.Name, deep, event("message", `{"type":"connected","data":{"conn":{"id":"c"}}}`),
		`connected {"conn":{"id":"c"},"connectionId":"c"}`},
	{"agent_list, and its agents", sse.Name, deep, event("message",
		`{"type":"agent_list","data":{"list":{"all":[{"key":"k","label":{"text":"n"},"about":"d","x":1}]},"now":null}}`),
		`agent_list {"agents":[{"about":"d","description":"d","id":"k","key":"k","label":{"text":"n"},"name":"n","x":1}],` +
			`"currentAgentId":null,"list":{"all":[{"about":"d","key":"k","label":{"text":"n"},"x":1}]},"now":null}`},
	{"agent_switched", sse.Name, deep, event("message",
		`{"type":"agent_switched","data":{"was":{"id":"a"},"now":"b","title":"B"}}`),
		`agent_switched {"agentName":"B","currentAgentId":"b","now":"b","previousAgentId":"a","title":"B","was":{"id":"a"}}`},
	{"error", sse.Name, deep, event("message", `{"type":"error","data":{"code":"c","text":"m","choices":[{"key":"k"}]}}`),
		`error {"availableAgents":[{"id":"k","key":"k"}],"choices":[{"key":"k"}],"code":"c",` +
			`"errorCode":"c","message":"m","text":"m"}`},
	{"message", sse.Name, deep, event("message",
		`{"type":"message","data":{"by":"assistant","body":{"text":"hi"},"partial":true}}`),
		`message {"body":{"text":"hi"},"by":"assistant","content":"hi","partial":true,"role":"assistant","streaming":true}`},
	{"complete", sse.Name, deep, event("message", `{"type":"complete","data":{"session":{"id":"s"},"stopped":true}}`),
		`complete {"cancelled":true,"session":{"id":"s"},"sessionId":"s","stopped":true}`},
	{"session_created", ws.Name, deep, frame("text", `{"type":"session_created","data":{"session":{"id":"s"}}}`),
		`session_created {"session":{"id":"s"},"sessionId":"s"}`},
	{"session_loaded", ws.Name, deep, frame("text", `{"type":"session_loaded","data":{"session":{"id":"s"}}}`),
		`session_loaded {"session":{"id":"s"},"sessionId":"s"}`},
	{"the default names mean nothing there", sse.Name, deep, event("message",
		`{"type":"agent_switched","data":{"previousAgentId":"a","currentAgentId":"b","agentName":"B"}}`),
		`agent_switched {}`},
	{"data that is not an object is unchanged", sse.Name, deep, event("message", `{"type":"error","data":"boom"}`),
		`error "boom"`},
	{"an invalid list of agents is unchanged", sse.Name, deep, event("message",
		`{"type":"agent_list","data":{"list":{"all":"none"},"now":"a"}}`),
		`agent_list {"agents":"none","currentAgentId":"a","list":{"all":"none"},"now":"a"}`},
	{"an agent that is not an object is unchanged", sse.Name, deep,
		event("message", `{"type":"agent_list","data":{"list":{"all":["a",{}]}}}`),
		`agent_list {"agents":["a",{}],"list":{"all":["a",{}]}}`},
}

func TestDecode(t *testing.T) {
	for _, r := range decodeRows {
		t.Run(r.reason, func(t *testing.T) {
			in := r.in
			bound(t, r.driver, r.wire).decode(&in)
			if got := told(in); got != r.want {
				t.Errorf("%s\nis    %s\nwant  %s", r.in.Bytes, got, r.want)
			}
			if diff := cmp.Diff(r.in.Bytes, in.Bytes); diff != "" {
				t.Errorf("the bytes were changed:\n%s", diff)
			}
		})
	}
}

// TestDecodeKeepsTheEnvelope checks that the original envelope is kept, whatever was moved in the data.
func TestDecodeKeepsTheEnvelope(t *testing.T) {
	r := event("message", `{"type":"connected","data":{"id":"c"},"more":1}`)
	bound(t, sse.Name, "fields: {event: {connection-id: id}}").decode(&r)
	if got := wjson.Compact(r.Event.Envelope); got != `{"data":{"id":"c"},"more":1,"type":"connected"}` {
		t.Errorf("the envelope is %s", got)
	}
	if r.Label != "connected" {
		t.Errorf("the label is %q", r.Label)
	}
}

func TestDecodeSent(t *testing.T) {
	sent := func(kind transcript.Kind, body string) transcript.Record {
		return transcript.Record{Dir: transcript.Sent, Kind: kind, Label: "POST /message", Type: "switch_agent",
			Bytes: []byte(body)}
	}
	const deep = "fields: {request: {type: /head/kind, agent-id: /data/agent, session-id: /data/session}}\nmessages: " +
		"{switch_agent: agent.switch}"
	rows := []struct {
		reason string
		wire   string
		in     transcript.Record
		want   string
	}{
		{"a request", "", sent(transcript.Request,
			`{"type":"switch_agent","agentId":"a","sessionId":"s","connectionId":"c"}`),
			`switch_agent {"agentId":"a","sessionId":"s"}`},
		{"a frame", "", sent(transcript.Frame, `{"type":"switch_agent","agentId":null}`), `switch_agent {"agentId":null}`},
		{"without fields", "", sent(transcript.Request, `{"type":"abort"}`), `abort {}`},
		{"on another wire", deep, sent(transcript.Request,
			`{"head":{"kind":"agent.switch"},"data":{"agent":"a","session":"s"}}`),
			`switch_agent {"agentId":"a","sessionId":"s"}`},
		{"a session has no type at its endpoint", "", sent(transcript.Request, `{"sessionId":"s"}`), ""},
		{"no JSON", "", sent(transcript.Request, `{`), ""},
		{"the opening of a connection", "", sent(transcript.Open, `{"type":"abort"}`), ""},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			in := r.in
			bound(t, sse.Name, r.wire).decode(&in)
			if got := told(in); got != r.want {
				t.Errorf("%s\nis    %s\nwant  %s", r.in.Bytes, got, r.want)
			}
			if in.Label != r.in.Label {
				t.Errorf("the label is %q now", in.Label)
			}
		})
	}
}

// TestRoundTrip checks that a message sent on a wire is decoded from it under the default names.
func TestRoundTrip(t *testing.T) {
	for _, wire := range []string{"", "messages: {switch_agent: agent.switch, chat: say}",
		"fields: {request: {agent-id: /a/b, session-id: /a/c, type: /t/y}}"} {
		for _, name := range []string{sse.Name, ws.Name} {
			b := bound(t, name, wire)
			m, err := b.message("switch_agent", fields{vocab.AgentID: "a", vocab.SessionID: "s"}, "c")
			if err != nil {
				t.Fatal(err)
			}
			r := transcript.Record{Dir: transcript.Sent, Kind: transcript.Request, Bytes: m.Body}
			b.decode(&r)
			if got := told(r); got != `switch_agent {"agentId":"a","sessionId":"s"}` {
				t.Errorf("%s over %q: %s becomes %s", name, wire, m.Body, got)
			}
		}
	}
}

// FuzzDecode checks that decoding never panics, whatever a target sends.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"agent_list","data":{"agents":[{"key":{}},1],"now":[]}}`), "agent_list")
	f.Add([]byte("{\"type\":\"error\",\"data\":\"\xff\"}"), "")
	f.Fuzz(func(t *testing.T, data []byte, typ string) {
		for _, wire := range []string{"", "envelope: {type: sse-event}",
			"fields: {event: {agents: /a/b, error-code: code}, agent: {id: /k/v}}"} {
			p, err := target.Kinds{binding.Kind()}.Parse([]byte("url: http://h\nagent-select: {"+wire+"}\n"), "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			r := event(typ, string(data))
			newCodec(p, p.URL, sse.Name).decode(&r)
			if r.Event == nil && r.Label != typ {
				t.Errorf("%q is no event, and labelled %q", data, r.Label)
			}
		}
	})
}

// TestCorrelationByEndpoint checks that each endpoint identifies the connection in its own way.
func TestCorrelationByEndpoint(t *testing.T) {
	p := binding.Kind().New()
	binding.Of(p).Correlation = binding.Correlation{Header: "X-Conn", Create: &binding.Correlation{Body: "/connectionId"},
		Load: &binding.Correlation{Header: "X-Load"}}
	b := newCodec(p, "http://x", target.SSE)
	for kind, want := range map[string]string{
		vocab.SwitchAgentType:   "X-Conn",
		vocab.SessionCreateType: "connectionId",
		vocab.SessionLoadType:   "X-Load",
	} {
		m, err := b.message(kind, fields{}, "conn_1")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for name := range m.Header {
			got += name
		}
		if strings.Contains(string(m.Body), `"connectionId":"conn_1"`) {
			got += "connectionId"
		}
		if got != want {
			t.Errorf("%s: the connection is told by %q, want %q", kind, got, want)
		}
	}
}
