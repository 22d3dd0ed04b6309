package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/protocol/messages"
	"parley/transport/transcript"
)

// TestRules checks what may differ by the schemas of messages, and that nothing else may though it looks as if.
func TestRules(t *testing.T) {
	chat := func(session, text string) string {
		return fmt.Sprintf(`{"message_type":"assistant","agent_id":"red","session_id":%q,"timestamp":"2026-01-31T12:00:00Z",`+
			`"message":{"role":"assistant","content":%q}}`, session, text)
	}
	for _, c := range []struct {
		reason, protocol, recorded, came string
		words                            bool
		want                             string
	}{
		{"a short id", "session-chat", chat("1", "Hi"), chat("2", "Hi"), false, ""},
		{"a model's words", "session-chat", chat("1", "Hi"), chat("1", "Hello there"), false, ""},
		{"no words", "session-chat", chat("1", "Hi"), chat("1", ""), false, `/message/content "Hi" ""`},
		{"the same words are wanted", "session-chat", chat("1", "Hi"), chat("1", "Ho"), true, `/message/content "Hi" "Ho"`},
		{"an id of the agent", "session-chat", strings.Replace(chat("1", "Hi"), `"red"`, `"conn_SOP34PLKMHZIAVA3FDUZ"`, 1),
			strings.Replace(chat("1", "Hi"), `"red"`, `"conn_XEQX4VZDXVYLLTWHFMDF"`, 1), false,
			`/agent_id "conn_SOP34PLKMHZIAVA3FDUZ" "conn_XEQX4VZDXVYLLTWHFMDF"`},
		{"an id that is null", "session-chat", chat("1", "Hi"), strings.Replace(chat("1", "Hi"), `"1"`, "null", 1), false,
			`/session_id "1" null`},
		{"an invalid time", "session-chat", chat("1", "Hi"),
			strings.Replace(chat("1", "Hi"), "2026-01-31T12:00:00Z", "noon", 1), false, `/timestamp "«time»" "noon"`},
		{"a duration", "session-chat", `{"message_type":"result","message":{"subtype":"success","duration_ms":1}}`,
			`{"message_type":"result","message":{"subtype":"success","duration_ms":2}}`, false, ""},
		{"a number", "session-chat", `{"message_type":"result","message":{"subtype":"success","num_turns":1763933570475}}`,
			`{"message_type":"result","message":{"subtype":"success","num_turns":1763999999999}}`, false,
			"/message/num_turns 1763933570475 1763999999999"},
		{"a model's choice", "agent-select",
			`{"type":"tool_confirmation_request","requestId":"a","data":{"arguments":{"a":1}}}`,
			`{"type":"tool_confirmation_request","requestId":"b","data":{"arguments":{"b":[2]}}}`, false, ""},
		{"a subtype's schema", "session-runtime",
			`{"event":"EVENT","subtype":"CANCELED","id":"1","metadata":{"turn_id":"3"}}`,
			`{"event":"EVENT","subtype":"CANCELED","id":"2","metadata":{"turn_id":"4"}}`, false, ""},
		{"numbers as ids", "session-runtime", `{"event":"EVENT","id":1}`, `{"event":"EVENT","id":2}`, false, ""},
		{"an id of another kind", "session-runtime", `{"event":"EVENT","id":1}`, `{"event":"EVENT","id":"2"}`, false,
			`/id 1 "2"`},
	} {
		r := rules{set: messages.For(c.protocol), from: messages.Server}
		two := comparison{ids: newIDs(), kind: "x", exact: c.words}
		var all []string
		for _, d := range two.compareMessages(r.decodeRecord(frame(c.recorded)), r.decodeRecord(frame(c.came))) {
			all = append(all, fmt.Sprintf("%s %s %s", d.At, d.Recorded, d.Came))
		}
		if diff := cmp.Diff(c.want, strings.Join(all, "\n")); diff != "" {
			t.Errorf("%s:\n%s", c.reason, diff)
		}
	}
}

// TestCounters checks that ids which are counters are mapped: 1 was recorded and 2 came, and then 2 was and 3 came.
func TestCounters(t *testing.T) {
	i := newIDs()
	for _, row := range []struct {
		recorded, came string
		same           bool
	}{{"1", "2", true}, {"2", "3", true}, {"1", "2", true}, {"2", "2", false}, {"3", "3", false}, {"4", "4", true}} {
		if got := i.sameID("sessionid", row.recorded, row.came, true); got != row.same {
			t.Errorf("%s, %s: %v", row.recorded, row.came, got)
		}
	}
	r := rules{set: messages.For("session-chat"), from: messages.Server}
	out := i.outgoingMessage(r.readFrom(frame(`{"type":"chat","session_id":"1","content":"1"}`), messages.Client))
	if got := string(out); got != `{"content":"1","session_id":"2","type":"chat"}` {
		t.Error(got)
	}
	if got := i.renewPath("/x?session_id=2&n=2"); got != "/x?session_id=3&n=2" {
		t.Error(got)
	}
}

// TestTry checks that what was learnt on trial is forgotten, and nothing else.
func TestTry(t *testing.T) {
	i := newIDs()
	i.sameID("a", "1", "2", true)
	i.tryForgetting(func() {
		if !i.sameID("a", "3", "4", true) {
			t.Error("it learns nothing on trial")
		}
	})
	if len(i.now) != 1 || len(i.then) != 1 || len(i.oldest.keys) != 1 || !i.sameID("a", "3", "5", true) {
		t.Errorf("%v", i.now)
	}
}

// TestOurs checks that what this side has sent is not taken for what the other side draws.
func TestOurs(t *testing.T) {
	r := rules{set: messages.For("session-chat"), from: messages.Server}
	i := newIDs()
	i.outgoingMessage(r.readFrom(
		frame(`{"type":"chat","agent_id":"red","session_id":"s-A1B2C3D4E5"}`), messages.Client))
	for _, row := range []struct {
		recorded, came string
		same           bool
	}{{"s-A1B2C3D4E5", "s-A1B2C3D4E5", true}, {"s-A1B2C3D4E5", "s-F1B2C3D4E5", false}, // it is ours, and was repeated
		{"s-B1B2C3D4E5", "s-A1B2C3D4E5", false}, {"s-B1B2C3D4E5", "red", false}, // it is not the server's
		{"s-B1B2C3D4E5", "s-C1B2C3D4E5", true}} {
		if got := i.sameID("sessionid", row.recorded, row.came, true); got != row.same {
			t.Errorf("%s, %s: %v", row.recorded, row.came, got)
		}
	}
}

// TestShown checks how a difference is shown.
func TestShown(t *testing.T) {
	var r rules
	recorded := r.decodeRecord(frame(`{"type":"list","of":{"red":{"id":"a","n":1},"a":1,"b":2,"c":3},"all":[1,2]}`))
	came := r.decodeRecord(frame(`{"type":"list","of":{"red":{"id":"b"},"a":1,"b":2,"c":3,"d":4},"all":[1,2,3]}`))
	p := &player{ids: newIDs(), side: &client{Caller: &Caller{}}, rules: r}
	var all []string
	p.o.Differs = func(d Difference) { all = append(all, d.String()) }
	p.comparePair(recorded, came)
	p.reportMissing(recorded)
	p.reportExtra(came)
	p.reportUnsent(recorded, "its connection is not open")
	refused := recorded
	refused.Record = transcript.Record{N: 5, Conn: "A", Kind: transcript.Response, Status: 200}
	wrong := refused
	wrong.Status = 404
	p.comparePair(refused, wrong)
	want := `A frame list (record 3) at /all/2, /of/d, /of/red/id, and 1 more
    {
      "all": [
        …
        2
  +     3
      ]
      "of": {
        …
        "c": 3
  +     "d": 4
        "red": {
  -       "id": "a"
  +       "id": "b"
  -       "n": 1
        }
A frame list (record 3) did not come
  - {"type":"list","of":{"red":{"id":"a","n":1},"a":1,"b":2,"c":3},"all":[1,2]}
A frame list came, and was not recorded
  + {"type":"list","of":{"red":{"id":"b"},"a":1,"b":2,"c":3,"d":4},"all":[1,2,3]}
A frame list (record 3) cannot be sent: its connection is not open
A response (record 5) at status
  - 200
  + 404`
	if diff := cmp.Diff(want, strings.ReplaceAll(strings.Join(all, "\n"), "A response list", "A response")); diff != "" {
		t.Error(diff)
	}
	if p.result.Differences != 5 {
		t.Error(p.result.Differences)
	}
}
