package externalagent

import (
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/transcript"
)

// TestCalledLate: an agent that takes longer for its next call than the state was kept back has not shown that it waits for it.
func TestCalledLate(t *testing.T) {
	at := func(ms int, dir transcript.Dir, kind string) transcript.Record {
		return transcript.Record{At: time.Duration(ms) * time.Millisecond, Conn: "agent 1", Dir: dir, Kind: transcript.Frame,
			Event: &transcript.Event{Type: kind, Data: object{"uiSpec": object{}}}}
	}
	result, state := at(100, transcript.Sent, vocab.ToolResult), at(300, transcript.Sent, vocab.StateUpdated)
	for _, r := range []struct {
		reason  string
		records []transcript.Record // the last is the call
		late    bool
	}{
		{"soon behind the state", []transcript.Record{result, state, at(350, transcript.Received, vocab.ToolCall)}, false},
		{"just as long behind it", []transcript.Record{result, state, at(500, transcript.Received, vocab.ToolCall)}, false},
		{"long behind it", []transcript.Record{result, state, at(501, transcript.Received, vocab.ToolCall)}, true},
		{"before it", []transcript.Record{result, at(200, transcript.Received, vocab.ToolCall)}, false},
		{"long behind the state that it has asked for", []transcript.Record{result, at(150, transcript.Received, vocab.SnapshotGet),
			at(151, transcript.Sent, vocab.SnapshotState), at(900, transcript.Received, vocab.ToolCall)}, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			for i := range r.records {
				r.records[i].N = i + 1
			}
			got := calledLate(r.records, 1, &r.records[len(r.records)-1])
			if (got != "") != r.late || r.late && !strings.Contains(got, "was given 200ms in which the state was kept back") {
				t.Errorf("%q, want late: %v", got, r.late)
			}
		})
	}
}
