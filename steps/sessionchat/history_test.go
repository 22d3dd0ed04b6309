package sessionchat

import (
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
)

// TestEarlierTurns checks that the request for a session's second turn contains the first. If it does not, and the
// target had reported that turn as failed, the message says both.
func TestEarlierTurns(t *testing.T) {
	const one, two = "[[echo n-1]] Hello from client A", "[[echo n-2]] Hello from client A"
	failure := result(map[string]any{vocab.Subtype: vocab.Failed, vocab.Code: "store_failed"})
	whole := []llm.Message{{Role: llm.RoleUser, Text: one}, {Role: llm.RoleAssistant, Text: one},
		{Role: llm.RoleUser, Text: two}}
	rows := []struct {
		reason string
		end    saying
		sent   []llm.Message
		want   verdict.Outcome
		tells  bool
	}{
		{"the first turn is there", result(nil), whole, verdict.Passed, false},
		{"it is there, and was a failure", failure, whole, verdict.Passed, false},
		{"it is missing", result(nil), whole[2:], verdict.Failed, false},
		{"its answer is missing", result(nil),
			[]llm.Message{whole[0], {Role: llm.RoleAssistant, Text: "[no answer]"}, whole[2]}, verdict.Failed, false},
		{"it is missing, and was a failure", failure, whole[2:], verdict.Failed, true},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			brain := llm.New()
			if err := brain.Answer(t.Context(), llm.Request{Messages: r.sent}, func(llm.Part) error { return nil }); err != nil {
				t.Fatal(err)
			}
			const turn = "When client A chats with \"red\"\nThen client A is answered by \"red\"\n"
			got := perform(t, "@SC-006", turn+turn+`Then the model was sent the earlier turns of "red"`,
				slices.Concat(streams("[[echo NONCE]] Hello from client A"), []saying{r.end}),
				func(env *steps.Env) { env.Brain = brain })
			if got.Outcome != r.want {
				t.Fatalf("%s (%s), want %s", got.Outcome, got.Reason, r.want)
			}
			if r.want == verdict.Failed &&
				strings.Contains(got.Failures[0].Observed, "had ended n-1 as a failure: ") != r.tells {
				t.Errorf("observed: %s", got.Failures[0].Observed)
			}
		})
	}
}

// TestEqualTurns checks that of two earlier turns with the same text each is looked for.
func TestEqualTurns(t *testing.T) {
	const same = "[[echo n-1]] Hello"
	turn := []llm.Message{{Role: llm.RoleUser, Text: same}, {Role: llm.RoleAssistant, Text: same}}
	for _, r := range []struct {
		messages []llm.Message
		missing  int
	}{{slices.Concat(turn, turn), 0}, {turn, 1}, {nil, 2}} {
		if got := absent(llm.Request{Messages: r.messages}, []string{"n-1", "n-1"}); len(got) != r.missing {
			t.Errorf("%d messages: missing %v, want %d", len(r.messages), got, r.missing)
		}
	}
}
