package externalagent

import (
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// TestCalledLate checks that an agent whose next call takes too long, compared with how long the state was held back,
// has not shown that it waits for it.
func TestCalledLate(t *testing.T) {
	at := func(ms int, dir transcript.Dir, kind string) transcript.Record {
		return transcript.Record{At: time.Duration(ms) * time.Millisecond, Conn: "agent 1", Dir: dir, Kind: transcript.Frame,
			Event: &transcript.Event{Type: kind, Data: object{vocab.Spec: object{}}}}
	}
	result, state := at(100, transcript.Sent, vocab.ToolResult), at(300, transcript.Sent, vocab.StateUpdated)
	for _, r := range []struct {
		reason  string
		records []transcript.Record // the last record is the call
		prompt  int                 // of an earlier act, in milliseconds
		late    bool
	}{
		{"soon after the state", []transcript.Record{result, state, at(350, transcript.Received, vocab.ToolCall)}, 100,
			false},
		{"soon after it, by an agent with an equally slow clock", []transcript.Record{result, state,
			at(350, transcript.Received, vocab.ToolCall)}, 250, true},
		{"half the delay after it", []transcript.Record{result, state, at(400, transcript.Received, vocab.ToolCall)}, 0,
			false},
		{"long after it", []transcript.Record{result, state, at(401, transcript.Received, vocab.ToolCall)}, 0, true},
		{"before it", []transcript.Record{result, at(200, transcript.Received, vocab.ToolCall)}, 250, false},
		{"long after a requested state", []transcript.Record{result,
			at(150, transcript.Received, vocab.SnapshotGet),
			at(151, transcript.Sent, vocab.SnapshotState), at(900, transcript.Received, vocab.ToolCall)}, 0, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			for i := range r.records {
				r.records[i].N = i + 1
			}
			got := calledLate(r.records, 1, &r.records[len(r.records)-1], time.Duration(r.prompt)*time.Millisecond)
			if (got != "") != r.late || r.late && !strings.Contains(got,
				"was given 100ms in which the state was delayed for twice as long") {
				t.Errorf("%q, want late: %v", got, r.late)
			}
		})
	}
}
