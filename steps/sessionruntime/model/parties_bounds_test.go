package model

import (
	"strings"
	"testing"

	"parley/transport/transcript"
)

// TestPartyBounds: the judges of a bus keep a bounded state, and find a mistake after many messages.
func TestPartyBounds(t *testing.T) {
	v := &parties{subject: addresses, links: map[string]*link{}}
	take := func(n int, dir transcript.Dir, data map[string]any) {
		v.take(transcript.Record{N: n, Conn: "bus", Dir: dir, Kind: transcript.Frame,
			Event: &transcript.Event{Type: "USER_INPUT", Data: data}})
	}
	for i := range 10 * mostIDs {
		take(i+1, transcript.Received, map[string]any{ID: strings.Repeat("x", i%1000) + string(rune('a'+i)),
			EventName: "USER_INPUT", Target: "AGENT", Turn: string(rune('a' + i)), TargetID: string(rune('a' + i))})
	}
	b := v.links["bus"]
	if len(b.published) > mostIDs+1 || len(b.older) > mostIDs+1 || len(b.turns) > mostTurns {
		t.Errorf("%d, %d and %d are kept", len(b.published), len(b.older), len(b.turns))
	}
	take(1, transcript.Sent, map[string]any{ID: "1", EventName: "AGENT_OUTPUT", Target: "FRONTEND", From: "a"})
	if len(v.out) == 0 {
		t.Errorf("found %+v", v.out)
	}
}
