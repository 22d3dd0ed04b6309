package agentclient

import (
	"os"
	"strings"
	"testing"
)

// TestTextsOfTheSource checks that every text occurs in the source exactly as here.
func TestTextsOfTheSource(t *testing.T) {
	b, err := os.ReadFile("../../docs/spec/source/agent-client.zh.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		ConnectFirst, NoAgents, NoAgentsPrompt, Disconnected, StalePrompt, EmptyIDPrompt, FormatIDPrompt,
		BusyPrompt, NoSessionPrompt,
		strings.ReplaceAll(StaleFormat, "%s", "{currentAgentId}"),
		strings.ReplaceAll(Preselected, "%s", "{name}"),
		strings.Replace(strings.Replace(Switched, "%s", "{previousAgentName}", 1), "%s", "{agentName}", 1),
	} {
		if !strings.Contains(string(b), `"`+text+`"`) {
			t.Errorf("%s does not stand in the source", text)
		}
	}
	if !strings.HasPrefix(StaleFormat, StalePrefix+" ") {
		t.Errorf("%s does not begin with %s", StaleFormat, StalePrefix)
	}
}
