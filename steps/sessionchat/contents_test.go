package sessionchat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// chats returns the agent_id and content of each chat sent by these lines.
func chats(t *testing.T, lines string) (agents, contents []string) {
	t.Helper()
	got := perform(t, "@SC-019", lines, nil)
	if got.Outcome == verdict.HarnessError {
		t.Fatal(got.Reason)
	}
	for _, r := range got.Records {
		if r.Dir == transcript.Sent && r.Event != nil && r.Event.Type == vocab.ChatType {
			agents, contents = append(agents, text(&r, vocab.AgentID)), append(contents, text(&r, vocab.Content))
		}
	}
	return agents, contents
}

// TestTexts checks that every text known to features has one directive with the nonce of its turn, and no leftover
// format verbs.
func TestTexts(t *testing.T) {
	var seen []string
	for _, kind := range []string{"Chinese", "emoji", "combining marks", "other scripts", "astral characters", "JSON",
		"quotes and backslashes",
		"line breaks", "white space at its edges", "markup", "control characters", "accented letters", "a NUL",
		"a line break at its end", "an SQL fragment", "format verbs", "great length"} {
		t.Run(kind, func(t *testing.T) {
			_, sent := chats(t, fmt.Sprintf("When client A chats with \"red\" with a text of %s", kind))
			if len(sent) != 1 || slices.Contains(seen, sent[0]) {
				t.Fatalf("sent: %q", sent)
			}
			seen = append(seen, sent[0])
			want := llm.Directive{Kind: llm.KindEcho, Nonce: "n-1"}
			if kind == "great length" {
				want = llm.Directive{Kind: llm.KindStream, Nonce: "n-1", Count: 1}
			}
			if diff := cmp.Diff([]llm.Directive{want}, llm.Directives(sent[0])); diff != "" {
				t.Errorf("directives; want(-) got(+):\n%s", diff)
			}
			if strings.Contains(sent[0], "%!") || strings.Contains(sent[0], "(MISSING)") {
				t.Errorf("sent: %.200q", sent[0])
			}
			if long := len(sent[0]) > 1<<16; long != (kind == "great length") {
				t.Errorf("it has %d bytes", len(sent[0]))
			}
		})
	}
}

// TestAgentIDs checks that every agent_id known to features is unique to the scenario and the same for every chat.
func TestAgentIDs(t *testing.T) {
	var seen []string
	for _, kind := range []string{"capitals", "white space at its edges", "Chinese", "emoji", "a combining accent",
		"a path", "quotes and backslashes",
		"digits and letters", "great length", "characters of an SQL pattern"} {
		t.Run(kind, func(t *testing.T) {
			line := fmt.Sprintf("When client A chats with \"red\" under an agent_id of %s\n", kind)
			ids, _ := chats(t, line+`When client A chats with "red"`)
			if len(ids) != 2 || ids[0] != ids[1] || slices.Contains(seen, ids[0]) || !strings.Contains(ids[0], "n-red") ||
				strings.Contains(ids[0], "%!") {
				t.Errorf("sent under %q", ids)
			}
			seen = append(seen, ids...)
		})
	}
}

// TestDigits checks that a digits-only agent_id could be mistaken for a number.
func TestDigits(t *testing.T) {
	ids, _ := chats(t, "When client A chats with \"red\" under an agent_id of digits\n"+`When client A chats with "red"`)
	if len(ids) != 2 || ids[0] != ids[1] || !regexp.MustCompile(`\A[1-9][0-9]{10}\z`).MatchString(ids[0]) {
		t.Errorf("sent under %q", ids)
	}
}

// TestNearAgentIDs checks that similar agent_ids do differ.
func TestNearAgentIDs(t *testing.T) {
	for _, r := range []struct{ one, how string }{
		{"capitals", "its case folded"},
		{"capitals", "a blank after it"},
		{"capitals", "a line break after it"},
		{"capitals", "its last character gone"},
		{"a combining accent", "its accent composed"},
	} {
		t.Run(r.how, func(t *testing.T) {
			ids, _ := chats(t, fmt.Sprintf("When client A chats with \"red\" under an agent_id of %s\nAnd client A chats "+
				"with \"blue\" under the agent_id of \"red\" with %s", r.one, r.how))
			if len(ids) != 2 || ids[0] == ids[1] {
				t.Errorf("sent under %q", ids)
			}
		})
	}
}

// TestUnknownWords checks that a word unknown to the steps is an error of the feature, not of the target.
func TestUnknownWords(t *testing.T) {
	for _, line := range []string{
		`When client A chats with "red" with a text of nonsense`,
		`When client A chats with "red" under an agent_id of nonsense`,
		`When client A chats with "red" under the agent_id of "red" with nonsense`,
		`When client A sends "red" a chat whose content is nonsense`,
		`When client A sends a chat whose options are nonsense`,
	} {
		if got := perform(t, "@SC-019", line, nil); got.Outcome != verdict.HarnessError {
			t.Errorf("%s: %s (%s)", line, got.Outcome, got.Reason)
		}
	}
}
