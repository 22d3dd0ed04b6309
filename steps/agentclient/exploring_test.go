package agentclient

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestExplored: every kind of move is drawn, nothing is owed by a prompt that was shown before, and what is preselected
// ends in a session.
func TestExplored(t *testing.T) {
	drawn := map[string]bool{}
	rapid.Check(t, func(draw *rapid.T) {
		lines, wished := Protocol{}.Explore(draw), ""
		for i, line := range lines {
			drawn[line] = true
			_, text, prompted := strings.Cut(line, "the page shows the prompt ")
			if prompted && slices.ContainsFunc(lines[:i], func(l string) bool { return strings.HasSuffix(l, text) }) {
				draw.Fatalf("prompted twice: %s", line)
			}
			switch {
			case strings.Contains(line, "with the initial agent "):
				wished = ""
			case strings.HasPrefix(line, "When the user chooses") && strings.HasSuffix(lines[i+1], "is selected"):
				wished = strings.TrimPrefix(line, "When the user chooses ")
			}
			if wished != "" && strings.HasPrefix(line, "When the server") {
				draw.Fatalf("%s is preselected, and then: %s", wished, line)
			}
		}
	})
	for _, line := range []string{
		`Given a page with a session`, `When the server lists no agents`, `When the server ends the stream`,
		`When the user disconnects`, `When the user aborts`, `When the server refuses with "agent_busy"`,
		`When the server refuses with "agent_not_found" and availableAgents "General" and "Planner"`,
		`Then the page requests a session with the initial agent "Debugger"`, `When the server switches to "Debugger"`,
		`When the server lists the agents, with "my_old_agent" current`, `Then the page requests a switch to "Planner"`,
	} {
		if !drawn[line] {
			t.Errorf("never drawn: %s", line)
		}
	}
}
