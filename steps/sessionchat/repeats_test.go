package sessionchat

import (
	"testing"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

// TestErrorsTwice: an equal error is a repetition unless an interrupt may have asked for it.
func TestErrorsTwice(t *testing.T) {
	sent, received := transcript.Sent, transcript.Received
	type msg struct {
		dir  transcript.Dir
		kind string
	}
	interrupt, failure := msg{sent, vocab.InterruptType}, msg{received, vocab.ErrorMessage}
	for _, row := range []struct {
		reason string
		msgs   []msg
		again  int
	}{
		{"each interrupt gets one", []msg{interrupt, interrupt, failure, failure}, 0},
		{"one interrupt gets two", []msg{interrupt, failure, failure}, 1},
		{"two interrupts get three", []msg{interrupt, interrupt, failure, failure, failure}, 1},
		{"a chat gets two", []msg{{sent, vocab.ChatType}, failure, failure}, 1},
	} {
		env := &steps.Env{}
		s := &repeats{env: env}
		for i, m := range row.msgs {
			data := map[string]any{vocab.AgentID: "red", vocab.Body: map[string]any{vocab.Code: "no"}}
			s.note(&transcript.Record{N: i + 1, Conn: "A", Dir: m.dir, Kind: transcript.Frame,
				Event: &transcript.Event{Type: m.kind, Data: data}})
		}
		if n, _, _ := env.Again(); n != row.again {
			t.Errorf("%s: %d repetitions, want %d", row.reason, n, row.again)
		}
	}
}
