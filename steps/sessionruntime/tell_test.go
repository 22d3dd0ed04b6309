package sessionruntime

import (
	"slices"
	"testing"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
)

// TestToldWithoutRaces: where a short limit applies, the steps expect nothing that depends on whether an agent was in
// time, since the machine that runs them may be slower than the one that recorded. A step that waits until everything
// is handled takes their place.
func TestToldWithoutRaces(t *testing.T) {
	chunk := judge.Message{From: "agent-a", Turn: "turn", Event: vocab.AgentOutput, Chunk: true}
	confirmed := judge.Message{From: "agent-a", Turn: "turn", Subtype: vocab.CancelAck}
	for _, c := range []struct {
		name      string
		message   judge.Message
		limits    [2]float64
		cancelled bool
		want      string
	}{
		{"a chunk", chunk, [2]float64{}, false, `the frontend receives the output of "t1"`},
		{"a chunk behind a short limit", chunk, [2]float64{inputAck: 100}, false, handled},
		{"a chunk with a short limit for cancels", chunk, [2]float64{cancelAck: 100}, false,
			`the frontend receives the output of "t1"`},
		{"a confirmation", confirmed, [2]float64{}, true, `the frontend is told that "t1" is cancelled`},
		{"a confirmation behind a short limit", confirmed, [2]float64{cancelAck: 100}, true, handled},
		{"a confirmation of what was perhaps not acknowledged in time", confirmed, [2]float64{inputAck: 100}, true, handled},
	} {
		in := &toldInput{name: "t1", agent: "a", turn: "turn", asking: true, cancelled: c.cancelled}
		ss := &toldSession{inputs: []*toldInput{in}, sent: map[string]string{}}
		told := &tale{agents: map[string]string{"agent-a": "a"}, limits: c.limits}
		lines, known := told.fromAgent(ss, c.message, "")
		if !known || len(lines) != 2 || !slices.Contains(lines, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, lines, known, c.want)
		}
	}
}
