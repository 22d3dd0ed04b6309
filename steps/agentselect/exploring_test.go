package agentselect

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestExploreIsLegal checks that all drawn sequences are legal, and that each kind of act is drawn.
func TestExploreIsLegal(t *testing.T) {
	drawn := map[string]bool{}
	legal := func(draw *rapid.T) {
		lines := Protocol{}.Explore(draw)
		if !(Protocol{}).Legal(lines) {
			draw.Fatalf("not legal:\n%s", strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			drawn[line] = true
		}
	}
	for range 5 { // a hundred sequences each, so that chance leaves no act out
		rapid.Check(t, legal)
	}
	for _, line := range []string{
		`When client B switches to agent 3 of its list`, `When client A switches its session to "debugger"`,
		`When client A switches to "hacker"`, `When client A switches to the agent id "Agent@123"`,
		`When client A creates a session`, `When client A loads its first session again`,
		`When client B loads the session of client A`, `Given client A has a turn running`, `When client A aborts`,
		`When client A chats`, `When client A connects and switches to "debugger" as early as possible`,
	} {
		if !drawn[line] {
			t.Errorf("never drawn: %s", line)
		}
	}
}

// TestExploreShortens checks which sequences that have lost lines are not legal.
func TestExploreShortens(t *testing.T) {
	t.Parallel()
	whole := []string{`Given client A has a session`, `Given client A has a turn running`,
		`When the model lets the turn of client A continue`, `Then the turn of client A ends`, `When client A chats`,
		`Then client A is answered and its turn ends`, `Given client A has disconnected`,
		`When client B loads the session of client A`, `Then the server has followed its sessions`}
	for without, legal := range []bool{true, false, false, true, false, true, false, true} {
		if got := (Protocol{}).Legal(slices.Delete(slices.Clone(whole), without, without+1)); got != legal {
			t.Errorf("without %q: legal is %v", whole[without], got)
		}
	}
}
