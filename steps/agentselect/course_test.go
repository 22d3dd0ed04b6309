package agentselect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// heard returns a record of an event on a connection.
func heard(t *testing.T, conn, kind, data string) transcript.Record {
	t.Helper()
	v, _, err := wjson.Decode([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Stream,
		Event: &transcript.Event{Type: kind, Data: v}}
}

func TestCourse(t *testing.T) {
	e := func(conn, kind, data string) transcript.Record { return heard(t, conn, kind, data) }
	sent := e("A", "agent_switched", `{}`)
	sent.Dir = transcript.Sent
	asks := e("A", "switch_agent", `{"agentId":"debugger"}`)
	asks.Dir = transcript.Sent
	to := func(id string) transcript.Record { return e("A", "agent_switched", `{"currentAgentId":"`+id+`"}`) }
	rows := []struct {
		reason string
		in     []transcript.Record
		want   []string
	}{
		{"nothing", nil, nil},
		{"ids of connections, sessions and requests, and times, are reduced to their kind",
			[]transcript.Record{e("A", "connected", `{"connectionId":"c-1","sessionId":null}`),
				e("A", "tool_confirmation_request",
					`{"requestId":7,"toolCallId":"x","arguments":{"a":1},"timestamp":"t","tool":"run"}`)},
			[]string{`client A: connected {"connectionId":"string","sessionId":"null"}`,
				`client A: tool_confirmation_request {"arguments":"object","requestId":"number",` +
					`"timestamp":"string","tool":"run","toolCallId":"string"}`}},
		{"texts may carry a nonce", []transcript.Record{e("A", "error",
			`{"errorCode":"agent_not_found","message":"no fence-1"}`)},
			[]string{`client A: error {"errorCode":"agent_not_found","message":"string"}`}},
		{"order within a connection counts, and between connections it does not",
			[]transcript.Record{e("B", "agent_list", `{}`), e("A", "agent_list", `{}`), e("B", "complete", `{}`),
				e("A", "agent_switched", `{"currentAgentId":"debugger"}`)},
			[]string{"client A: agent_list {}", `client A: agent_switched {"currentAgentId":"debugger"}`,
				"client B: agent_list {}", "client B: complete {}"}},
		{"messages come in pieces of any size", []transcript.Record{e("A", "message", `{"content":"x"}`),
			e("A", "presence", `{}`)}, nil},
		{"how often a switch is tried again is chance", []transcript.Record{e("A", "error",
			`{"errorCode":"agent_busy","message":"m"}`), e("A", "error", `{"errorCode":"agent_busy","message":"m"}`)}, nil},
		{"errors without a code are each transport's own",
			[]transcript.Record{e("A", "error", `{"message":"m"}`), e("A", "error", `"boom"`)}, nil},
		{"sequential switches keep their order", []transcript.Record{asks, to("a"), asks, to("b")},
			[]string{`client A: agent_switched {"currentAgentId":"a"}`, `client A: agent_switched {"currentAgentId":"b"}`}},
		{"the order of two switches in flight is a race", []transcript.Record{asks, asks, to("b"), to("a")},
			[]string{"client A: agent_switched", "client A: agent_switched"}},
		{"messages of the harness are not compared", []transcript.Record{sent}, nil},
		{"nor are other records", []transcript.Record{{Conn: "A", Dir: transcript.Received, Kind: transcript.Comment,
			Label: "ping"}}, nil},
		{"data that is not an object is reduced to its kind", []transcript.Record{e("A", "agent_list", `[1]`),
			e("A", "complete", `null`)}, []string{"client A: agent_list array", "client A: complete null"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if diff := cmp.Diff(r.want, Protocol{}.Course(r.in), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestSameCourse(t *testing.T) {
	switched := func(id string) string { return `client A: agent_switched {"currentAgentId":"` + id + `"}` }
	const bare = "client A: agent_switched"
	rows := []struct {
		reason string
		a, b   []string
		want   bool
	}{
		{"the same", []string{switched("a"), switched("b")}, []string{switched("a"), switched("b")}, true},
		{"another order", []string{switched("a"), switched("b")}, []string{switched("b"), switched("a")}, false},
		{"over one transport the switches overtook each other", []string{bare, bare},
			[]string{switched("a"), switched("b")}, true},
		{"and there one is missing", []string{bare}, []string{switched("a"), switched("b")}, false},
		{"a greeting that was cut short", []string{"client A: connected {}"},
			[]string{"client A: connected {}", "client A: agent_list {}"}, true},
	}
	for _, row := range rows {
		if got := (Protocol{}).SameCourse(row.a, row.b); got != row.want {
			t.Errorf("%s: %v", row.reason, got)
		}
		if got := (Protocol{}).SameCourse(row.b, row.a); got != row.want {
			t.Errorf("%s, the other way round: %v", row.reason, got)
		}
	}
}
