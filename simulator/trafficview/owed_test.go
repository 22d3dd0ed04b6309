package trafficview

import (
	"strings"
	"testing"
	"time"

	"parley/simulator/proxy"
	"parley/steps"
)

// passing is traffic in which something is owed.
type passing struct {
	stats proxy.Stats
	owed  []steps.Owed
	more  int
}

// Stats implements Traffic.
func (p *passing) Stats() proxy.Stats { return p.stats }

// Owed implements Traffic.
func (p *passing) Owed() ([]steps.Owed, int) { return p.owed, len(p.owed) + p.more }

// TestOwed: what is owed is above the state line until it is settled, the oldest first; the list has all, with what
// would settle the chosen one and the sentence of its clauses, and leads to the message that is the cause.
func TestOwed(t *testing.T) {
	t.Parallel()
	s := newTestScreen(t, Options{Explain: func(clause string) string { return "MUST what " + clause + " says" }})
	wants(t, s, "without traffic", "no:owe")
	on := &passing{}
	s.v.traffic = on
	s.Update(tick{})
	wants(t, s, "when nothing is owed", "no:owe", "ping", "said")
	since := time.Now().Add(-61*time.Minute - 500*time.Millisecond)
	on.owed = []steps.Owed{
		{By: "server", Conn: "C1", Session: "main", What: "pong", Or: []string{"an error"}, Clauses: []string{"X-007"},
			Record: 1, Cause: "ping", Since: since},
		{By: "page", What: "an answer", Clauses: strings.Fields("X-001 X-002 X-003 X-004 X-005"), Record: 2, Since: since},
		{By: "server", What: "third", Clauses: []string{"X-001"}, Record: 400, Since: since},
		{By: "server", What: "fourth", Clauses: []string{"X-001"}, Record: 3, Since: since},
	}
	on.more = 5
	s.Update(tick{})
	wants(t, s, "owed", "the server owes on C1 pong · 3660 s · X-007 · message 1",
		"the page owes an answer · 3660 s · X-001 X-002 X-003 +2 · message 2", "third", "and 6 more: o lists them",
		"no:fourth", "ping")
	s.pressAll("/", "s", "a", "i", "d", "enter", "o")
	wants(t, s, "listed", "fourth", "and 5 more", "because of ping, in session main", "would settle it, too: an error",
		"X-007 MUST what X-007 says", "no:X-005")
	s.pressAll("down")
	wants(t, s, "the second", "X-005 MUST what X-005 says", "no:X-007 MUST")
	s.pressAll("up", "enter")
	wants(t, s, "the cause, which the filter did not show", "message 1 of C1: ping", "no:filter: said", "no:following")
	s.pressAll("o", "down", "down", "enter")
	wants(t, s, "a cause that is not kept", "message 400 is not kept any more")
	s.pressAll("o", "esc", "p")
	on.owed, on.more = nil, 0
	s.Update(tick{})
	wants(t, s, "paused", "owes")
	s.pressAll("p")
	s.Update(tick{})
	wants(t, s, "settled", "no:owes", "said")
	s.pressAll("o", "enter", "o")
	wants(t, s, "an empty list", "nothing is owed")
}
