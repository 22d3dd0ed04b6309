package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/reports"
	"parley/transcript"
	"parley/verdict"
	wjson "parley/wire/json"
)

// heard is a record of an event on a connection.
func heard(t *testing.T, conn, kind, data string) transcript.Record {
	t.Helper()
	v, _, err := wjson.Decode([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Stream, Event: &transcript.Event{Type: kind, Data: v}}
}

func TestNormalised(t *testing.T) {
	e := func(conn, kind, data string) transcript.Record { return heard(t, conn, kind, data) }
	sent := e("A", "agent_switched", `{}`)
	sent.Dir = transcript.Sent
	rows := []struct {
		reason string
		in     []transcript.Record
		want   []string
	}{
		{"nothing", nil, nil},
		{"what names a connection, a session, a request or a time is told by its kind",
			[]transcript.Record{e("A", "connected", `{"connectionId":"c-1","sessionId":null}`), e("A", "tool_confirmation_request", `{"requestId":7,"toolCallId":"x","arguments":{"a":1},"timestamp":"t","tool":"run"}`)},
			[]string{`client A: connected {"connectionId":"string","sessionId":"null"}`,
				`client A: tool_confirmation_request {"arguments":"object","requestId":"number","timestamp":"string","tool":"run","toolCallId":"string"}`}},
		{"texts may carry a nonce", []transcript.Record{e("A", "error", `{"errorCode":"agent_not_found","message":"no fence-1"}`)}, []string{`client A: error {"errorCode":"agent_not_found","message":"string"}`}},
		{"order within a connection counts, and between connections it does not",
			[]transcript.Record{e("B", "agent_list", `{}`), e("A", "agent_list", `{}`), e("B", "complete", `{}`), e("A", "agent_switched", `{"currentAgentId":"debugger"}`)},
			[]string{"client A: agent_list {}", `client A: agent_switched {"currentAgentId":"debugger"}`, "client B: agent_list {}", "client B: complete {}"}},
		{"messages come in pieces of any size", []transcript.Record{e("A", "message", `{"content":"x"}`), e("A", "presence", `{}`)}, nil},
		{"how often a switch is tried again is chance", []transcript.Record{e("A", "error", `{"errorCode":"agent_busy","message":"m"}`), e("A", "error", `{"errorCode":"agent_busy","message":"m"}`)}, nil},
		{"errors without a code are each transport's own", []transcript.Record{e("A", "error", `{"message":"m"}`), e("A", "error", `"boom"`)}, nil},
		{"what the harness sent is not compared", []transcript.Record{sent}, nil},
		{"nor what is no event", []transcript.Record{{Conn: "A", Dir: transcript.Received, Kind: transcript.Comment, Label: "ping"}}, nil},
		{"data that is no object is told by its kind", []transcript.Record{e("A", "agent_list", `[1]`), e("A", "complete", `null`)}, []string{"client A: agent_list array", "client A: complete null"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if diff := cmp.Diff(r.want, normalised(r.in), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	same, other := []string{"client A: complete {}"}, []string{"client A: agent_list {}"}
	rows := []struct {
		reason  string
		sse, ws []string
		outcome verdict.Outcome // over ws
		racing  bool
		want    bool
	}{
		{"the same course", same, same, verdict.Passed, false, false},
		{"another course", same, other, verdict.Passed, false, true},
		{"something is missing", same, nil, verdict.Passed, false, true},
		{"what did not pass is told elsewhere", same, other, verdict.Failed, false, false},
		{"what warned too", same, other, verdict.Warned, false, false},
		{"a race has no course", same, other, verdict.Passed, true, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			one := &run{traces: map[string]map[string][]string{"AS-1.1-01": {"sse": r.sse, "ws": r.ws}}, racing: map[string]bool{"AS-1.1-01": r.racing},
				results: map[string]map[string]reports.Scenario{"sse": {"AS-1.1-01": {Outcome: verdict.Passed}}, "ws": {"AS-1.1-01": {Outcome: r.outcome}}}}
			got := one.differences()
			if (len(got) == 1) != r.want {
				t.Fatalf("notes: %+v", got)
			}
			if r.want && (got[0].Kind != "driver-difference" || got[0].Scenario != "AS-1.1-01" || !strings.Contains(got[0].Text, "client A: complete {}") || strings.Contains(got[0].Text, "\u00a0")) {
				t.Errorf("the note is %+v", got[0])
			}
		})
	}
	alone := &run{traces: map[string]map[string][]string{"AS-1.1-01": {"sse": same}}, results: map[string]map[string]reports.Scenario{"sse": {"AS-1.1-01": {Outcome: verdict.Passed}}}}
	if got := alone.differences(); got != nil {
		t.Errorf("one driver differs from nobody: %+v", got)
	}
}
