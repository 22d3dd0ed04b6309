package sessionruntime

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// elsewhere is a wire with other places and names for everything: those of the profile node-runtime.yaml and more.
const elsewhere = `
senders: {frontend: web, manager: sm, session: sr, logger: log}
fields:
  id: /mid
  session: /sid
  event: /kind
  subtype: [/sub]
  sender: /by
  target: /to
  target-id: /to_id
  payload: /body
  timestamp: /ts
  metadata: /meta
  trace-id: [/meta/traceId]
  turn-id: [/meta/turnId]
  tx-id: [/meta/txId]
  is-chunk: /meta/stream/isChunk
  seq: /meta/stream/seq
  final: /meta/stream/final
  target-agent: [/body/target_agent_id]
  agent-id: [/body/agentId, /body/agent_spec/agent_id]
  code: [/body/code]
  from: [/body/from]
  to: [/body/to]
  reason: [/body/reason]
  trigger: [/body/trigger]
  mention: [/meta/mentionedAgent]
events: {USER_INPUT: ASK, EVENT: [NEWS, TIDINGS]}
targets: {SYSTEM: HUB}
subtypes: {CANCELED: TURN_CANCELED, CANCEL: HALT, MENTION: AT}`

// bound returns the binding of a profile with this wire.
func bound(t testing.TB, wire string) *codec {
	t.Helper()
	text := "url: http://h\nprotocol: session-runtime\n"
	if wire != "" {
		text += "session-runtime:\n  " + strings.ReplaceAll(strings.TrimSpace(wire), "\n", "\n  ") + "\n"
	}
	p, err := target.Kinds{binding.Kind()}.Parse([]byte(text), "test.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return newCodec(p)
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5e6, time.FixedZone("", 3600))

// whole returns a frame with all fields.
func whole() frame {
	return frame{id: "m1", session: "s", event: vocab.AgentOutput, from: "agent-a",
		payload: map[string]any{"text": "你好", "n": 1.5, "none": nil},
		trace:   "r1", turn: "t1", tx: "x1", stream: &stream{chunk: true, seq: 3},
		meta: map[string]any{"model": map[string]any{"t": 0.25}}, now: noon}
}

func TestEncode(t *testing.T) {
	text := func(change func(*frame)) frame {
		f := frame{id: "m1", session: "s", event: vocab.UserInput, from: judge.Frontend, payload: "hi \"there\"\n", now: noon}
		change(&f)
		return f
	}
	rows := []struct {
		reason, wire string
		in           frame
		label, want  string
	}{
		{"a text", "", text(func(*frame) {}), "USER_INPUT",
			`{"event":"USER_INPUT","id":"m1","metadata":{},"payload":"hi \"there\"\n","sender":"frontend","session_id":"s",` +
				`"target":"SYSTEM","timestamp":"2026-01-02T11:00:00.005Z"}`},
		{"a mention, with its subtype and agent in every possible place", "",
			text(func(f *frame) { f.subtype, f.mention = vocab.Mention, "agent-b" }), "USER_INPUT MENTION",
			`{"event":"USER_INPUT","id":"m1","metadata":{"mentioned_agent_id":"agent-b","subtype":"MENTION",` +
				`"target_agent_id":"agent-b"},"payload":"hi \"there\"\n","sender":"frontend","session_id":"s",` +
				`"subtype":"MENTION","target":"SYSTEM","timestamp":"2026-01-02T11:00:00.005Z"}`},
		{"on BROADCAST, for one", "", text(func(f *frame) { f.target, f.targetID = vocab.ToBroadcast, "x" }), "USER_INPUT",
			`{"event":"USER_INPUT","id":"m1","metadata":{},"payload":"hi \"there\"\n","sender":"frontend","session_id":"s",` +
				`"target":"BROADCAST","target_id":"x","timestamp":"2026-01-02T11:00:00.005Z"}`},
		{"output", "", whole(), "AGENT_OUTPUT",
			`{"event":"AGENT_OUTPUT","id":"m1","metadata":{"model":{"t":0.25},"stream":{"final":false,"is_chunk":true,` +
				`"seq":3},"trace_id":"r1","turn_id":"t1","tx_id":"x1"},"payload":{"n":1.5,"none":null,"text":"你好"},` +
				`"sender":"agent-a","session_id":"s","target":"SYSTEM","timestamp":"2026-01-02T11:00:00.005Z"}`},
		{"output elsewhere", elsewhere, whole(), "AGENT_OUTPUT",
			`{"body":{"n":1.5,"none":null,"text":"你好"},"by":"agent-a","kind":"AGENT_OUTPUT","meta":{"model":{"t":0.25},` +
				`"stream":{"final":false,"isChunk":true,"seq":3},"traceId":"r1","turnId":"t1","txId":"x1"},"mid":"m1",` +
				`"sid":"s","to":"HUB","ts":"2026-01-02T11:00:00.005Z"}`},
		{"a mention elsewhere", elsewhere, text(func(f *frame) { f.subtype, f.mention = vocab.Mention, "agent-b" }),
			"USER_INPUT MENTION",
			`{"body":"hi \"there\"\n","by":"web","kind":"ASK","meta":{"mentionedAgent":"agent-b"},"mid":"m1","sid":"s",` +
				`"sub":"AT","to":"HUB","ts":"2026-01-02T11:00:00.005Z"}`},
		{"the first of several names", elsewhere,
			frame{event: vocab.Event, subtype: vocab.Canceled, from: judge.Manager, now: noon}, "EVENT CANCELED",
			`{"body":null,"by":"sm","kind":"NEWS","meta":{},"mid":"","sid":"","sub":"TURN_CANCELED","to":"HUB",` +
				`"ts":"2026-01-02T11:00:00.005Z"}`},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			m, err := bound(t, r.wire).encode(r.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, string(m.Body)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			if m.Label != r.label || m.Binary {
				t.Errorf("it is labelled %q", m.Label)
			}
		})
	}
}

// TestEncodeLeavesTheSendersMetadata checks that encoding does not change a frame's metadata.
func TestEncodeLeavesTheSendersMetadata(t *testing.T) {
	f := whole()
	f.meta = map[string]any{"stream": map[string]any{"own": true}}
	if _, err := bound(t, "").encode(f); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"stream": map[string]any{"own": true}}, f.meta); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestFields(t *testing.T) {
	at := target.Pointers{"/payload/agent_id", "/payload/agent/id"}
	for _, r := range []struct {
		reason string
		in     field
		want   string
	}{
		{"the first place", field{places: at, value: "b"}, `{"agent_id":"b"}`},
		{"all places", field{places: at, all: true, value: "b"}, `{"agent":{"id":"b"},"agent_id":"b"}`},
		{"null is a value", field{places: at, value: nil}, `{"agent_id":null}`},
		{"no place", field{value: "b"}, `{}`},
	} {
		m, err := bound(t,
			"").encode(frame{event: vocab.Control, payload: map[string]any{}, fields: []field{r.in}, now: noon})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(m.Body), `"payload":`+r.want+`,`) {
			t.Errorf("%s: %s, want %s", r.reason, m.Body, r.want)
		}
	}
}

func TestEncodeThatCannotBe(t *testing.T) {
	for reason, f := range map[string]frame{
		"what is no JSON": {event: vocab.UserInput, payload: func() {}},
		"a field within a text": {event: vocab.Control, payload: "text",
			fields: []field{{places: target.Pointers{"/payload/agent_id"}, value: "b"}}},
		"marks within a stream of its own": {event: vocab.AgentOutput, meta: map[string]any{"stream": "s"},
			stream: &stream{}},
	} {
		if m, err := bound(t, "").encode(f); err == nil || m.Body != nil {
			t.Errorf("%s: %s, %v", reason, m.Body, err)
		}
	}
}

// decoded returns the decoded record of a text frame.
func decoded(t testing.TB, wire, body string) transcript.Record {
	t.Helper()
	r := transcript.Record{N: 1, Conn: bus, Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
		Bytes: []byte(body)}
	bound(t, wire).decode(&r)
	return r
}

// TestRoundTrip checks that every wire decodes what it encodes.
func TestRoundTrip(t *testing.T) {
	for name, wire := range map[string]string{"by default": "", "elsewhere": elsewhere} {
		for _, f := range []frame{
			whole(),
			{id: "m2", session: "s", event: vocab.UserInput, subtype: vocab.Mention, mention: "agent-b", from: judge.Frontend,
				payload: "a text"},
			{id: "m3", session: "s", event: vocab.Control, subtype: vocab.Cancel, from: judge.Manager, target: vocab.ToBroadcast,
				targetID: "x", payload: map[string]any{}},
			{id: "m4", session: "s", event: vocab.Event, subtype: vocab.StreamStopped, from: "agent-b", payload: []any{"a"},
				turn: "t"},
			{id: "m5", session: "s", event: vocab.Error, subtype: "MODEL_ERROR", from: judge.Logger, payload: nil},
			{id: "m6", session: "s", event: vocab.Control, subtype: vocab.SwitchAgent, from: judge.Self, payload: 7},
		} {
			m, err := bound(t, wire).encode(f)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := judge.Read(decoded(t, wire, string(m.Body)))
			to := f.target
			if to == "" {
				to = vocab.ToSystem
			}
			want := judge.Message{N: 1, ID: f.id, Session: f.session, Event: f.event, Subtype: f.subtype, From: f.from,
				Target: to, TargetID: f.targetID,
				Trace: f.trace, Turn: f.turn, Tx: f.tx, Chunk: f.stream != nil && f.stream.chunk, Final: f.stream != nil &&
					f.stream.final}
			if f.mention != "" && got.Data["mention"] != f.mention {
				t.Errorf("%s: %s mentions %v", name, m.Label, got.Data["mention"])
			}
			if !wjson.Equal(got.Payload, f.payload) {
				t.Errorf("%s: the payload of %s is %v", name, m.Label, got.Payload)
			}
			for key, v := range f.meta {
				if meta, _ := got.Metadata.(map[string]any); !wjson.Equal(meta[key], v) {
					t.Errorf("%s: metadata.%s of %s is %v", name, key, m.Label, got.Metadata)
				}
			}
			got.Payload, got.Metadata, got.Data, got.TargetAgent = nil, nil, nil, "" // a mention may name its agent in these too
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("%s: %s; want(-) got(+):\n%s", name, m.Label, diff)
			}
		}
	}
}

var decodeRows = []struct {
	reason, wire, in string
	typ              string
	want             map[string]any // among others; nil: absent
}{
	{"nothing but an event", "", `{"event":"CONTROL"}`, "CONTROL",
		map[string]any{judge.EventName: vocab.Control, judge.Subtype: nil, judge.Payload: nil, judge.ID: nil}},
	{"no event", "", `{"subtype":"CANCEL"}`, "", map[string]any{judge.EventName: nil, judge.Subtype: vocab.Cancel}},
	{"an event that is not a string", "", `{"event":7}`, "7", map[string]any{}},
	{"a subtype of its own", "", `{"event":"EVENT","subtype":"HELLO"}`, "EVENT HELLO",
		map[string]any{judge.Subtype: "HELLO"}},
	{"a subtype within metadata (RT-174)", "", `{"event":"CONTROL","metadata":{"subtype":"INPUT_ACK"}}`,
		"CONTROL INPUT_ACK", map[string]any{judge.Subtype: vocab.InputAck}},
	{"in both places: the first", "", `{"event":"CONTROL","subtype":"CANCEL","metadata":{"subtype":"INPUT_ACK"}}`,
		"CONTROL CANCEL", map[string]any{judge.Subtype: vocab.Cancel}},
	{"a null subtype, and one within metadata", "",
		`{"event":"CONTROL","subtype":null,"metadata":{"subtype":"INPUT_ACK"}}`, "CONTROL INPUT_ACK",
		map[string]any{judge.Subtype: vocab.InputAck}},
	{"a subtype that is not a string", "", `{"event":"CONTROL","subtype":["CANCEL"]}`, "CONTROL", map[string]any{}},
	{"another name of the same", "", `{"event":"EVENT","subtype":"TURN_CANCELED"}`, "EVENT CANCELED",
		map[string]any{judge.Subtype: vocab.Canceled}},
	{"ids within the payload", "",
		`{"event":"EVENT","payload":{"turn_id":"t","trace_id":"r","tx_id":"x","target_agent_id":"b"}}`, "EVENT",
		map[string]any{judge.Turn: "t", judge.Trace: "r", judge.Tx: "x", judge.TargetAgent: "b"}},
	{"ids in both: the first", "", `{"event":"EVENT","metadata":{"turn_id":"t1"},"payload":{"turn_id":"t2"}}`, "EVENT",
		map[string]any{judge.Turn: "t1"}},
	{"ids beside a string payload", "", `{"event":"EVENT","payload":"text","metadata":{"turn_id":"t1"}}`, "EVENT",
		map[string]any{judge.Turn: "t1", judge.Payload: "text", judge.AgentID: nil}},
	{"a null payload", "", `{"event":"EVENT","payload":null}`, "EVENT", map[string]any{judge.Payload: nil}},
	{"an ERROR whose code is its subtype", "", `{"event":"ERROR","payload":{"code":"ROUTE_TIMEOUT"}}`,
		"ERROR ROUTE_TIMEOUT", map[string]any{judge.Subtype: vocab.RouteTimeout}},
	{"an ERROR with both", "", `{"event":"ERROR","subtype":"X","payload":{"code":"ROUTE_TIMEOUT"}}`, "ERROR X",
		map[string]any{judge.Subtype: "X"}},
	{"a code of something else", "", `{"event":"EVENT","payload":{"code":"ROUTE_TIMEOUT"}}`, "EVENT",
		map[string]any{judge.Subtype: nil}},
	{"a switch from no agent: null is present", "",
		`{"event":"CONTROL","subtype":"SWITCH_AGENT","payload":{"from":null,"to":"b","reason":null}}`,
		"CONTROL SWITCH_AGENT", map[string]any{judge.SwitchTo: "b"}},
	{"senders", "", `{"event":"EVENT","sender":"session_manager"}`, "EVENT",
		map[string]any{judge.From: judge.Manager, judge.Sender: "session_manager"}},
	{"an invalid sender", "", `{"event":"EVENT","sender":7}`, "EVENT", map[string]any{judge.From: ""}},
	{"the mention of something else than a mention", "", `{"event":"USER_INPUT","metadata":{"mentioned_agent_id":"b"}}`,
		"USER_INPUT", map[string]any{"mention": nil}},

	{"elsewhere", elsewhere,
		`{"kind":"ASK","sub":"AT","by":"web","to":"HUB","meta":{"mentionedAgent":"b"},"body":{"agentId":"c"}}`,
		"USER_INPUT MENTION",
		map[string]any{judge.EventName: vocab.UserInput, judge.From: judge.Frontend, judge.Target: vocab.ToSystem,
			"mention": "b", judge.AgentID: "c"}},
	{"another name of several", elsewhere, `{"kind":"TIDINGS","sub":"TURN_CANCELED"}`, "EVENT CANCELED",
		map[string]any{}},
	{"names that this wire has for something else", elsewhere, `{"kind":"USER_INPUT","sub":"CANCEL","to":"SYSTEM"}`,
		"(USER_INPUT) (CANCEL)", map[string]any{judge.Target: "(SYSTEM)"}},
	{"the places of the default", elsewhere, `{"event":"CONTROL","subtype":"CANCEL","session_id":"s"}`, "",
		map[string]any{judge.EventName: nil, judge.Session: nil}},

	{"a set-up frame", "", `{"parley":"ready","session_id":"s"}`, judge.ReadyFrame, map[string]any{"session_id": "s"}},
	{"a fence elsewhere", elsewhere, `{"parley":"fenced","id":"f"}`, judge.FencedFrame, map[string]any{"id": "f"}},
	{"a message that has such a member", "", `{"parley":7,"event":"EVENT"}`, "EVENT", map[string]any{}},
}

func TestDecode(t *testing.T) {
	for _, r := range decodeRows {
		t.Run(r.reason, func(t *testing.T) {
			rec := decoded(t, r.wire, r.in)
			if rec.Event == nil || rec.Event.Type != r.typ || rec.Label != r.typ {
				t.Fatalf("%q, %+v", rec.Label, rec.Event)
			}
			data := rec.Event.Data.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(r.want)) {
				if !wjson.Equal(data[name], r.want[name]) {
					t.Errorf("%s is %v, want %v", name, data[name], r.want[name])
				}
			}
		})
	}
}

// TestNullMembers checks that a null member of a switch is present, and a missing one absent.
func TestNullMembers(t *testing.T) {
	data := decoded(t, "",
		`{"event":"CONTROL","subtype":"SWITCH_AGENT","payload":{"from":null,"to":"b",`+
			`"reason":null}}`).Event.Data.(map[string]any)
	for name, want := range map[string]bool{judge.SwitchFrom: true, judge.SwitchTo: true, judge.Reason: true,
		judge.Trigger: false} {
		if _, there := data[name]; there != want {
			t.Errorf("%s is there: %v", name, there)
		}
	}
}

func TestDecodeOfWhatIsNone(t *testing.T) {
	for _, body := range []string{"", "junk", "[]", "7", `"text"`, "null", `{"event":"CONTROL"`} {
		if r := decoded(t, "", body); r.Event != nil || r.Label != "" {
			t.Errorf("%s: %+v", body, r.Event)
		}
	}
	for _, r := range []transcript.Record{{Kind: transcript.Closed, Type: "text", Bytes: []byte(`{}`)},
		{Kind: transcript.Frame, Type: "binary", Bytes: []byte(`{}`)}} {
		if bound(t, "").decode(&r); r.Event != nil {
			t.Errorf("%+v", r)
		}
	}
	r := transcript.Record{Kind: transcript.Frame, Type: "text", Label: judge.Back + "X",
		Bytes: []byte(`{"event":"EVENT"}`)}
	if bound(t, "").decode(&r); r.Label != judge.Back+"X" {
		t.Errorf("the label has become %q", r.Label)
	}
}

// TestFaults checks that defects of the JSON itself are reported.
func TestFaults(t *testing.T) {
	if r := decoded(t, "", `{"event":"EVENT","event":"CONTROL"}`); r.Event == nil || len(r.Event.Faults) == 0 {
		t.Errorf("%+v", r.Event)
	}
	if r := decoded(t, "", `{"event":"EVENT"}`); len(r.Event.Faults) > 0 {
		t.Errorf("%v", r.Event.Faults)
	}
}

func TestMarks(t *testing.T) {
	for wire, want := range map[string][]string{
		"": {"mentioned_agent_id", "stream", "subtype", "target_agent_id", "trace_id", "turn_id", "tx_id",
			"visibility"},
		elsewhere: {"mentionedAgent", "stream", "traceId", "turnId", "txId", "visibility"},
	} {
		if diff := cmp.Diff(want, bound(t, wire).marks()); diff != "" {
			t.Errorf("want(-) got(+):\n%s", diff)
		}
	}
}

func TestSenders(t *testing.T) {
	for _, wire := range []string{"", elsewhere} {
		b := bound(t, wire)
		for _, who := range []string{judge.Frontend, judge.Manager, judge.Self, judge.Logger, "agent-a", ""} {
			if got := b.party(b.sender(who)); got != who {
				t.Errorf("%q becomes %q", who, got)
			}
		}
	}
}

// FuzzDecode checks that decoding and reading never panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"event":"CONTROL","payload":{"from":null}}`))
	f.Add([]byte(`{"parley":"fenced","id":[]}`))
	f.Add([]byte(`{"event":{},"subtype":[],"metadata":7,"target":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := decoded(t, "", string(body))
		if m, ok := judge.Read(r); ok {
			_, _ = m.Kind(), m.Name()
		}
	})
}
