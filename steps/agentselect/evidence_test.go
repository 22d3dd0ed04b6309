package agentselect

import (
	"testing"

	"parley/internal/llm"
	"parley/target"
)

const (
	marker   = "MARKER"
	reviewer = "You are Reviewer. " + marker
	general  = "You are General."
)

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

var answered = llm.Message{Role: llm.RoleAssistant, Text: "ok"}

// TestHasPrompt checks that instructions are found in the system prompt and in user messages, but not in those of
// earlier turns.
func TestHasPrompt(t *testing.T) {
	rows := []struct {
		reason   string
		system   string
		messages []llm.Message
		want     bool
	}{
		{"in the system prompt", reviewer, []llm.Message{user("[[echo a]]")}, true},
		{"in another prompt's place", general, []llm.Message{user("[[echo a]]")}, false},
		{"before the user's own text", general, []llm.Message{user(reviewer + "\n[[echo a]]")}, true},
		{"in a message before it", "", []llm.Message{user(reviewer), user("[[echo a]]")}, true},
		{"in a reminder after it", "", []llm.Message{user("[[echo a]]"), user(reviewer)}, true},
		{"at the head of a conversation that has gone on", "",
			[]llm.Message{user(reviewer), user("[[echo a]]"), answered, user("[[echo b]]")}, true},
		{"replaced by a later one", "", []llm.Message{user(reviewer), user("[[echo a]]"), answered, user(general),
			user("[[echo b]]"), answered, user("[[echo c]]")}, false},
		{"with an earlier turn's text", general, []llm.Message{user(reviewer + "\n[[echo a]]"), answered,
			user(general + "\n[[echo b]]")}, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := hasPrompt(llm.Request{System: r.system, Messages: r.messages},
				target.CustomAgent{ID: "reviewer", Prompt: marker}); got != r.want {
				t.Errorf("hasPrompt is %v, want %v", got, r.want)
			}
		})
	}
}
