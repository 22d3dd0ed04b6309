package externalagent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// TestActs checks which messages of an agent count as acts, each of which restarts the limit of a wait.
func TestActs(t *testing.T) {
	n := 0
	says := func(kind string, body any) transcript.Record {
		n++
		return transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(kind, fmt.Sprint(n), "", body))}
	}
	told := func(kind string, body object) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Sent, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(kind, "", fmt.Sprint(n), body))}
	}
	start := func() transcript.Record { return says(vocab.SessionStart, []any{object{"studyId": "s"}}) }
	call := func() transcript.Record { return says(vocab.ToolCall, object{"toolName": "next", "params": object{}}) }
	refuse := func() transcript.Record { return told(vocab.ErrorMessage, object{"code": "INVALID_MESSAGE"}) }
	times := func(n int, of ...func() transcript.Record) (out []transcript.Record) {
		for range n {
			for _, make := range of {
				out = append(out, make())
			}
		}
		return out
	}
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		acts   int
		again  string
	}{
		{"it goes on after refusals, as scenarios plan them", times(stubborn, call, refuse), stubborn, ""},
		{"it repeats what is refused", times(9, start, refuse), stubborn, "repeats a session.start that was refused 8 times"},
		{"it repeats two messages", times(9, start, refuse, call, refuse), 2 * stubborn, "repeats a tool.call"},
		{"it asks for what is refused, and does something else", slices.Concat(times(9, start, refuse), times(1, call)),
			stubborn + 1, ""},
		{"after an answer everything counts", slices.Concat(times(9, call, refuse),
			[]transcript.Record{call(), told(vocab.ToolResult, object{"ok": true})}, times(2, call, refuse)), stubborn + 2, ""},
		{"a failure is a refusal", times(9, call, func() transcript.Record {
			return told(vocab.ToolResult, object{"ok": false})
		}), stubborn, "repeats a tool.call"},
		{"nothing is answered", times(9, call), 9, ""},
		{"others' messages", []transcript.Record{refuse(), {Conn: "agent1", Dir: transcript.Received, Kind: transcript.Open}},
			0, ""},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			for _, rec := range r.t {
				s.T.Append(rec)
			}
			var a acts
			got := 0
			for _, rec := range s.T.All() {
				if a.act(&rec) {
					got++
				}
			}
			if again := a.again(); got != r.acts || (again == "") != (r.again == "") || !strings.Contains(again, r.again) {
				t.Errorf("%s: %d acts, want %d; said %q, want %q", r.reason, got, r.acts, again, r.again)
			}
			return nil
		})
	}
}
