package sessionchat

import (
	"slices"
	"testing"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
)

const helloWords = "[[echo n-1]] Hello from client A"

var ends = []saying{result(nil)}
var theSystem = saying{kind: vocab.SystemMessage, body: map[string]any{vocab.Subtype: "init"}}
var aWarning = saying{kind: vocab.ErrorMessage, body: map[string]any{vocab.Code: "slow", vocab.Text: "be patient"}}

var answeredRows = []struct {
	reason string
	in     [][]saying
	want   verdict.Outcome
}{
	{"in one piece", [][]saying{{theSystem}, streams(helloWords), ends}, verdict.Passed},
	{"character by character", [][]saying{{theSystem}, streams(portions(helloWords, 1)...), ends}, verdict.Passed},
	{"character by character, and the whole",
		[][]saying{{theSystem}, streams(portions(helloWords, 1)...), assistants(helloWords), ends}, verdict.Passed},
	{"the text so far", [][]saying{streams(soFar(helloWords, 1)...), assistants(helloWords), ends}, verdict.Passed},
	{"the whole only", [][]saying{assistants(helloWords), ends}, verdict.Passed},
	{"in the second of two assistant messages", [][]saying{assistants("Let me think.", helloWords), ends}, verdict.Passed},
	{"in a block", [][]saying{{{kind: vocab.AssistantMessage,
		body: map[string]any{vocab.Content: []any{block("Hm."), block(helloWords)}}}}, ends}, verdict.Passed},
	{"in the result only", [][]saying{{theSystem, result(map[string]any{"result": helloWords})}}, verdict.Passed},
	{"with messages of other types between and after",
		[][]saying{between(streams(portions(helloWords, 4)...), saying{kind: "usage", silent: true}), ends,
			{{kind: "usage", body: map[string]any{vocab.Text: helloWords}}}}, verdict.Passed},
	{"with a warning before it", [][]saying{{aWarning}, assistants(helloWords), ends}, verdict.Passed},
	{"in portions that end in the middle of its nonce",
		[][]saying{streams("[[echo n-", "1]] Hello from client A"), ends}, verdict.Passed},
	{"in portions that end after its nonce", [][]saying{streams("[[echo n-1", "]] Hello from client A"), ends},
		verdict.Passed},
	{"with its nonce as a portion", [][]saying{streams("[[echo ", "n-1", "]] Hello from client A"), ends}, verdict.Passed},
	{"after a nonce that begins with its own", [][]saying{streams("not n-1", "1 but n-", "1 now"), ends}, verdict.Passed},
	{"with a title that quotes it before",
		[][]saying{{{kind: vocab.SystemMessage, body: map[string]any{"title": helloWords}}}, streams(helloWords), ends},
		verdict.Passed},
	{"with a later system message that quotes it",
		[][]saying{streams(helloWords), ends, {{kind: vocab.SystemMessage, body: map[string]any{"title": helloWords}}}},
		verdict.Passed},
	{"with another session's messages between",
		[][]saying{between(streams(portions(helloWords, 4)...), as("blue", streams("n-7"))...), ends}, verdict.Passed},

	{"by nothing", nil, verdict.Failed},
	{"by a result alone", [][]saying{{theSystem}, ends}, verdict.Failed},
	{"by an error", [][]saying{{aWarning}}, verdict.Failed},
	{"without an end", [][]saying{streams(helloWords), assistants(helloWords)}, verdict.Failed},
	{"after its end", [][]saying{ends, assistants(helloWords)}, verdict.Failed},
	{"with the words of another turn", [][]saying{assistants("[[echo n-7]] Hello"), ends}, verdict.Failed},
	{"with other words than requested", [][]saying{assistants("Hello"), ends}, verdict.Failed},
	{"under another agent_id", [][]saying{as("blue", slices.Concat(streams(helloWords), []saying{result(nil)}))},
		verdict.Failed},
	{"under its agent_id in capitals", [][]saying{as("RED-N", slices.Concat(streams(helloWords), []saying{result(nil)}))},
		verdict.Failed},
	{"with an end under another agent_id", [][]saying{streams(helloWords), as("blue", []saying{result(nil)})},
		verdict.Failed},
	{"with the words of a turn whose nonce begins with its own", [][]saying{assistants("[[echo n-11]] Hello"), ends},
		verdict.Failed},
	{"with such words, in portions that end where its own nonce would",
		[][]saying{streams("[[echo n-1", "1]] Hello"), ends}, verdict.Failed},
	{"with such words, character by character", [][]saying{streams(portions("[[echo n-11]] Hello", 1)...), ends},
		verdict.Failed},
	{"with a recall of other turns", [][]saying{streams("n-7 n-11 (2)"), assistants("n-7 n-11 (2)"), ends},
		verdict.Failed},
	{"by a system message that quotes it",
		[][]saying{{{kind: vocab.SystemMessage, body: map[string]any{"title": helloWords}}}, ends}, verdict.Failed},
}

// TestAnswered checks that the model's words, in any portions, and the end of the turn answer a chat. All monitors
// judge the legal cases too.
func TestAnswered(t *testing.T) {
	for _, r := range answeredRows {
		t.Run(r.reason, func(t *testing.T) {
			got := perform(t, "@SC-012", "When client A chats with \"red\"\nThen client A is answered by \"red\"",
				slices.Concat(r.in...), func(env *steps.Env) { env.Brain = llm.New() })
			if got.Outcome != r.want {
				t.Errorf("%s (%s), want %s", got.Outcome, got.Reason, r.want)
			}
			for _, f := range got.Failures {
				if r.want == verdict.Passed {
					t.Errorf("%s breaks %s: %s", f.Monitor, f.Clause, f.Observed)
				}
			}
		})
	}
}

// TestChatsAgain checks that a session that may still be busy is asked until it answers, in any portions.
func TestChatsAgain(t *testing.T) {
	const words = "[[echo n-2]] Again"
	end := []saying{result(nil)}
	rows := []struct {
		reason string
		in     [][]saying
		want   verdict.Outcome
	}{
		{"in one piece", [][]saying{streams(words), end}, verdict.Passed},
		{"after the end of the previous turn", [][]saying{end, streams(words), end}, verdict.Passed},
		{"character by character, and the whole", [][]saying{streams(portions(words, 1)...), assistants(words), end},
			verdict.Passed},
		{"character by character", [][]saying{streams(portions(words, 1)...), end}, verdict.Passed},
		{"in portions that end in the middle of its nonce", [][]saying{streams("[[echo n-", "2]] Again"), end},
			verdict.Passed},
		{"in the result only", [][]saying{{result(map[string]any{"result": words})}}, verdict.Passed},
		{"without an end", [][]saying{streams(words)}, verdict.Failed},
		{"with the words of a turn whose nonce begins with its own, in portions",
			[][]saying{streams("[[echo n-2", "1]] Again"), end}, verdict.Failed},
		{"by a system message that quotes it",
			[][]saying{{{kind: vocab.SystemMessage, body: map[string]any{"title": words}}}, end}, verdict.Failed},
		{"by nothing", nil, verdict.Failed},
		{"by only the end of the previous turn", [][]saying{end}, verdict.Failed},
		{"under another agent_id", [][]saying{as("blue", streams(words)), end}, verdict.Failed},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got := perform(t, "@SC-054", "When client A chats with \"red\"\nThen client A can chat with \"red\" again",
				slices.Concat(r.in...), func(env *steps.Env) { env.Brain = llm.New() })
			if got.Outcome != r.want {
				t.Errorf("%s (%s), want %s", got.Outcome, got.Reason, r.want)
			}
		})
	}
}

// TestErrorOfOwnModel: where a target uses a model of its own, an error that answers the first chat may come of that,
// and judges nothing; once a chat has been answered, it does.
func TestErrorOfOwnModel(t *testing.T) {
	broken, other := aWarning, result(nil)
	broken.unless, other.unless = "blue", "red"
	const chats = "When client A chats with \"red\"\nThen client A receives the answer of \"red\"\n"
	res := perform(t, "@SC-029", chats, []saying{broken})
	why := `the server answered the chat with an error: "be patient" (has it a model? See model in the profile)`
	if res.Outcome != verdict.NotTested || res.Reason != why {
		t.Errorf("%s: %s, want not-tested: %s", res.Outcome, res.Reason, why)
	}
	res = perform(t, "@SC-029", "Given client A has chatted with \"blue\"\n"+chats, []saying{broken, other})
	if res.Outcome != verdict.Failed {
		t.Errorf("after an answered chat: %s: %s, want failed", res.Outcome, res.Reason)
	}
	res = perform(t, "@SC-029", chats, []saying{broken}, func(e *steps.Env) { e.Brain = llm.New() })
	if res.Outcome != verdict.Failed {
		t.Errorf("with the model stub: %s: %s, want failed", res.Outcome, res.Reason)
	}
}
