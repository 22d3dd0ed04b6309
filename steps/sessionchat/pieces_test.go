package sessionchat

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
)

// piece returns the model's words for piece i of n, for a script.
func piece(i, n int) string { return fmt.Sprintf("stream NONCE %d/%d ", i, n) }

// pieces returns some of three pieces.
func pieces(which ...int) []string {
	var out []string
	for _, i := range which {
		out = append(out, piece(i, 3))
	}
	return out
}

// nonce is the nonce of a scenario's first turn.
const nonce = "n-1"

// whole returns the model's complete words in n pieces. It contains the nonce, so that it may be cut anywhere.
func whole(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(piece(i+1, n))
	}
	return strings.ReplaceAll(b.String(), "NONCE", nonce)
}

// portions cuts a text into parts of size bytes.
func portions(text string, size int) []string {
	var out []string
	for part := range slices.Chunk([]byte(text), size) {
		out = append(out, string(part))
	}
	return out
}

// soFar returns a text as it grows by size bytes.
func soFar(text string, size int) []string {
	var out []string
	for _, part := range portions(text, size) {
		before := ""
		if len(out) > 0 {
			before = out[len(out)-1]
		}
		out = append(out, before+part)
	}
	return out
}

// between inserts other messages between these.
func between(list []saying, other ...saying) []saying {
	var out []saying
	for i, m := range list {
		if i > 0 {
			out = append(out, other...)
		}
		out = append(out, m)
	}
	return out
}

func as(agent string, list []saying) []saying {
	for i := range list {
		list[i].agent = agent
	}
	return list
}

func block(text string) map[string]any { return map[string]any{vocab.Type: "text", vocab.Text: text} }

// numbered returns assistant messages with an id besides their text.
func numbered(list ...string) []saying {
	out := assistants(list...)
	for i := range out {
		out[i].body["id"] = fmt.Sprintf("msg-%d", i)
	}
	return out
}

var whole3 = strings.Join(pieces(1, 2, 3), "")
var foreign3 = strings.ReplaceAll(whole3, "NONCE", "n-7")

var inOrderRows = []struct {
	reason string
	in     [][]saying
	want   verdict.Outcome
}{
	{"one by one", [][]saying{streams(pieces(1, 2, 3)...), ends}, verdict.Passed},
	{"one by one, and the whole", [][]saying{{theSystem}, streams(pieces(1, 2, 3)...), assistants(whole3), ends},
		verdict.Passed},
	{"one by one, and the whole as a piece", [][]saying{streams(pieces(1, 2, 3)...), streams(whole3), ends},
		verdict.Passed},
	{"in one piece", [][]saying{streams(whole3), ends}, verdict.Passed},
	{"two, and one", [][]saying{streams(piece(1, 3)+piece(2, 3), piece(3, 3)), ends}, verdict.Passed},
	{"the whole only", [][]saying{assistants(whole3), ends}, verdict.Passed},
	{"the whole with other data of the model's API",
		[][]saying{{{kind: vocab.AssistantMessage, body: map[string]any{"model": "m", vocab.Content: []any{block(whole3)}}}},
			ends}, verdict.Passed},
	{"a block for each piece", [][]saying{{{kind: vocab.AssistantMessage,
		body: map[string]any{vocab.Content: []any{block(piece(1, 3)), block(piece(2, 3)), block(piece(3, 3))}}}}, ends},
		verdict.Passed},
	{"an assistant message for each piece", [][]saying{assistants(pieces(1, 2, 3)...), ends}, verdict.Passed},
	{"an assistant message for some of them", [][]saying{assistants(piece(1, 3), piece(2, 3)+piece(3, 3)), ends},
		verdict.Passed},
	{"assistant messages with the text so far",
		[][]saying{assistants(piece(1, 3), piece(1, 3)+piece(2, 3), whole3), ends}, verdict.Passed},
	{"assistant messages that grow by several pieces", [][]saying{assistants(piece(1, 3), whole3), ends}, verdict.Passed},
	{"assistant messages that grow, and one of them twice",
		[][]saying{assistants(piece(1, 3), piece(1, 3), piece(1, 3)+piece(2, 3), whole3), ends}, verdict.Passed},
	{"assistant messages that grow, with other strings that do not",
		[][]saying{numbered(piece(1, 3), piece(1, 3)+piece(2, 3), whole3), ends}, verdict.Passed},
	{"growing assistant messages after one with other words",
		[][]saying{assistants("Let me think.", piece(1, 3), whole3), ends}, verdict.Passed},
	{"one by one, and assistant messages that grow",
		[][]saying{streams(pieces(1, 2, 3)...), assistants(piece(1, 3), piece(1, 3)+piece(2, 3), whole3), ends},
		verdict.Passed},
	{"one by one, and assistant messages with other words",
		[][]saying{streams(pieces(1, 2, 3)...), assistants("Let me think.", "Done."), ends}, verdict.Passed},
	{"assistant messages for each piece, and one with the whole",
		[][]saying{assistants(append(pieces(1, 2, 3), whole3)...), ends}, verdict.Passed},
	{"the same assistant message twice", [][]saying{assistants(whole3, whole3), ends}, verdict.Passed},
	{"pieces with the text so far", [][]saying{streams(piece(1, 3), piece(1, 3)+piece(2, 3), whole3), ends},
		verdict.Passed},
	{"the text so far, completed only by the whole",
		[][]saying{streams(piece(1, 3), piece(1, 3)+piece(2, 3)), assistants(whole3), ends}, verdict.Passed},
	{"one by one, and an empty portion", [][]saying{streams(append(pieces(1, 2, 3), "")...), ends}, verdict.Passed},
	{"with their text at another location",
		[][]saying{says(vocab.StreamMessage, "delta", pieces(1, 2, 3)), ends}, verdict.Passed},
	{"and once more at another location",
		[][]saying{streams(pieces(1, 2, 3)...), says(vocab.StreamMessage, "delta", pieces(1, 2, 3)), ends}, verdict.Passed},
	{"in portions that end in the middle of the nonce",
		[][]saying{streams("stream n-", "1 1/3 stream ", "n-1 2/3 stream n", "-1 3/3 "), ends}, verdict.Passed},
	{"in portions that end in the middle of a number",
		[][]saying{streams("stream n-1 1", "/3 stream n-1 2/", "3 stream n-1 3/3"), ends}, verdict.Passed},
	{"only in the result", [][]saying{{result(map[string]any{"result": whole3})}}, verdict.Passed},
	{"everywhere", [][]saying{streams(pieces(1, 2, 3)...), assistants(whole3), {result(map[string]any{"result": whole3})}},
		verdict.Passed},
	{"a result with any summary",
		[][]saying{streams(pieces(1, 2, 3)...), {result(map[string]any{"result": strings.Join(pieces(3, 1), "")})}},
		verdict.Passed},
	{"without the last blank", [][]saying{streams(strings.TrimSpace(whole3)), ends}, verdict.Passed},
	{"an assistant message without the last blank", [][]saying{assistants(strings.TrimSpace(whole3)), ends},
		verdict.Passed},
	{"assistant messages of text alone, without their last blanks", [][]saying{{
		{kind: vocab.AssistantMessage, body: map[string]any{vocab.Text: strings.TrimSpace(piece(1, 3))}},
		{kind: vocab.AssistantMessage, body: map[string]any{vocab.Text: strings.TrimSpace(piece(2, 3) + piece(3, 3))}},
	}, ends}, verdict.Passed},
	{"messages of other types between",
		[][]saying{between(streams(pieces(1, 2, 3)...), theSystem,
			saying{kind: "usage", body: map[string]any{vocab.Text: piece(9, 3)}}), ends}, verdict.Passed},
	{"pieces without text between small portions",
		[][]saying{between(streams(portions(whole(3), 5)...), saying{kind: vocab.StreamMessage, silent: true}), ends},
		verdict.Passed},
	{"pieces of another kind between small portions",
		[][]saying{between(streams(portions(whole(3), 5)...),
			saying{kind: vocab.StreamMessage, body: map[string]any{"event": "ping"}}), ends}, verdict.Passed},
	{"small portions, and the whole as a piece", [][]saying{streams(portions(whole(3), 1)...), streams(whole3), ends},
		verdict.Passed},
	{"another session's words between",
		[][]saying{between(streams(pieces(1, 2, 3)...), as("blue", streams(foreign3))...), ends}, verdict.Passed},

	{"the first is lost", [][]saying{streams(pieces(2, 3)...), ends}, verdict.Failed},
	{"one is lost", [][]saying{streams(pieces(1, 3)...), ends}, verdict.Failed},
	{"the last is lost", [][]saying{streams(pieces(1, 2)...), ends}, verdict.Failed},
	{"one is lost, though the whole has it", [][]saying{streams(pieces(1, 3)...), assistants(whole3), ends},
		verdict.Failed},
	{"the first is lost, though the whole has it", [][]saying{streams(pieces(2, 3)...), assistants(whole3), ends},
		verdict.Failed},
	{"the last is lost, though the whole has it", [][]saying{streams(pieces(1, 2)...), assistants(whole3), ends},
		verdict.Failed},
	{"all but the first are lost, though the whole has them",
		[][]saying{streams(pieces(1)...), assistants(whole3), ends}, verdict.Failed},
	{"the last is lost, though the result has it",
		[][]saying{streams(pieces(1, 2)...), {result(map[string]any{"result": whole3})}}, verdict.Failed},
	{"the last is lost, though the whole as a piece has it", [][]saying{streams(append(pieces(1, 2), whole3)...), ends},
		verdict.Failed},
	{"one is lost, though the whole as a piece has it", [][]saying{streams(append(pieces(1, 3), whole3)...), ends},
		verdict.Failed},
	{"one is lost, though it is at another location",
		[][]saying{streams(pieces(1, 3)...), says(vocab.StreamMessage, "delta", pieces(1, 2, 3)), ends}, verdict.Failed},
	{"the last small portions are lost, though the whole has them",
		[][]saying{streams(portions(whole(3), 4)[:9]...), assistants(whole3), ends}, verdict.Failed},
	{"one is lost in the text so far", [][]saying{streams(piece(1, 3), piece(1, 3)+piece(3, 3)), ends}, verdict.Failed},
	{"one is lost in the text so far, though the whole has it",
		[][]saying{streams(piece(1, 3), piece(1, 3)+piece(3, 3)), assistants(whole3), ends}, verdict.Failed},
	{"the first is lost in the text so far, though the whole has it",
		[][]saying{streams(piece(2, 3), piece(2, 3)+piece(3, 3)), assistants(whole3), ends}, verdict.Failed},
	{"the last is lost in the text so far", [][]saying{streams(piece(1, 3), piece(1, 3)+piece(2, 3)), ends},
		verdict.Failed},
	{"one is lost in assistant messages that grow",
		[][]saying{assistants(piece(1, 3), piece(1, 3)+piece(3, 3)), ends}, verdict.Failed},
	{"one is lost between assistant messages that grow",
		[][]saying{assistants(piece(1, 3), piece(1, 3)+piece(3, 3), whole3), ends}, verdict.Failed},
	{"the last is lost in assistant messages that grow",
		[][]saying{assistants(piece(1, 3), piece(1, 3)+piece(2, 3)), ends}, verdict.Failed},
	{"one is lost in the whole", [][]saying{streams(pieces(1, 2, 3)...), assistants(strings.Join(pieces(1, 3), "")),
		ends}, verdict.Failed},
	{"one of the assistant messages is lost", [][]saying{assistants(pieces(1, 3)...), ends}, verdict.Failed},
	{"a small portion is lost", [][]saying{streams(slices.Delete(portions(whole(3), 4), 4, 5)...), ends}, verdict.Failed},
	{"the first one twice", [][]saying{streams(pieces(1, 1, 2, 3)...), ends}, verdict.Failed},
	{"one twice", [][]saying{streams(pieces(1, 2, 2, 3)...), ends}, verdict.Failed},
	{"the last one twice", [][]saying{streams(pieces(1, 2, 3, 3)...), ends}, verdict.Failed},
	{"the first one twice in the text so far",
		[][]saying{streams(piece(1, 3), piece(1, 3)+piece(1, 3), piece(1, 3)+whole3), ends}, verdict.Failed},
	{"the first one twice, and the whole", [][]saying{streams(pieces(1, 1, 2, 3)...), assistants(whole3), ends},
		verdict.Failed},
	{"one twice, and the whole as a piece", [][]saying{streams(append(pieces(1, 2, 2, 3), whole3)...), ends},
		verdict.Failed},
	{"the portion with a nonce twice", [][]saying{streams(slices.Insert(portions(whole(3), 5), 1, "m n-1")...), ends},
		verdict.Failed},
	{"all of them twice, in small portions", [][]saying{streams(portions(whole(3)+whole(3), 5)...), ends}, verdict.Failed},
	{"all of them three times", [][]saying{streams(whole3, whole3, whole3), ends}, verdict.Failed},
	{"one twice in assistant messages", [][]saying{assistants(pieces(1, 2, 2, 3)...), ends}, verdict.Failed},
	{"the first one twice in assistant messages", [][]saying{assistants(pieces(1, 1, 2, 3)...), ends}, verdict.Failed},
	{"one twice in assistant messages that grow",
		[][]saying{assistants(piece(1, 3), strings.Join(pieces(1, 2, 2, 3), "")), ends}, verdict.Failed},
	{"assistant messages that grow and shrink",
		[][]saying{assistants(piece(1, 3)+piece(2, 3), piece(1, 3), whole3), ends}, verdict.Failed},
	{"assistant messages that start again after the whole", [][]saying{assistants(whole3, piece(1, 3)), ends},
		verdict.Failed},
	{"all of them twice, one by one", [][]saying{streams(pieces(1, 2, 3, 1, 2, 3)...), ends}, verdict.Failed},
	{"all of them twice in one message", [][]saying{assistants(whole3 + whole3), ends}, verdict.Failed},
	{"one twice in the whole", [][]saying{streams(pieces(1, 2, 3)...),
		assistants(strings.Join(pieces(1, 2, 2, 3), "")), ends}, verdict.Failed},
	{"two are swapped", [][]saying{streams(pieces(1, 3, 2)...), ends}, verdict.Failed},
	{"the first two are swapped", [][]saying{streams(pieces(2, 1, 3)...), ends}, verdict.Failed},
	{"backwards", [][]saying{streams(pieces(3, 2, 1)...), ends}, verdict.Failed},
	{"two are swapped, though the whole has them in order",
		[][]saying{streams(pieces(1, 3, 2)...), assistants(whole3), ends}, verdict.Failed},
	{"two are swapped in the whole",
		[][]saying{streams(pieces(1, 2, 3)...), assistants(strings.Join(pieces(1, 3, 2), "")), ends}, verdict.Failed},
	{"one type has some, and another the rest", [][]saying{streams(pieces(1, 2)...), assistants(pieces(3)...), ends},
		verdict.Failed},
	{"in the result only, and not all",
		[][]saying{{result(map[string]any{"result": strings.Join(pieces(1, 2), "")})}}, verdict.Failed},
	{"in the result only, and not in order",
		[][]saying{{result(map[string]any{"result": strings.Join(pieces(2, 1, 3), "")})}}, verdict.Failed},
	{"one of another turn instead of its own",
		[][]saying{streams(piece(1, 3), strings.ReplaceAll(piece(2, 3), "NONCE", "n-7"), piece(3, 3)), ends}, verdict.Failed},
	{"those of another turn", [][]saying{streams(foreign3), ends}, verdict.Failed},
	{"those of a turn whose nonce begins with its own",
		[][]saying{streams(strings.ReplaceAll(whole3, "NONCE", "n-11")), ends}, verdict.Failed},
	{"pieces of another number", [][]saying{streams(piece(1, 4), piece(2, 4), piece(3, 4)), ends}, verdict.Failed},
	{"under another agent_id", [][]saying{as("blue", streams(pieces(1, 2, 3)...)), ends}, verdict.Failed},
	{"in messages of no turn", [][]saying{says("delta", "text", pieces(1, 2, 3)), ends}, verdict.Failed},
	{"nothing but a result", [][]saying{ends}, verdict.Failed},
	{"nothing", nil, verdict.Failed},
}

// TestInOrder checks that all of the model's words must arrive, each once and in order, in any portions.
func TestInOrder(t *testing.T) {
	for _, r := range inOrderRows {
		t.Run(r.reason, func(t *testing.T) {
			if diff := order(t, 3, slices.Concat(r.in...), r.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// order plays a turn of n pieces, and returns what is wrong with their order.
func order(t *testing.T, n int, script []saying, want verdict.Outcome) string {
	t.Helper()
	got := perform(t, "@SC-012 @SC-020",
		fmt.Sprintf("When client A chats with \"red\" in a turn of %d pieces\nThen the pieces of \"red\" come in order",
			n), script)
	if got.Outcome != want {
		return fmt.Sprintf("%s (%s), want %s", got.Outcome, got.Reason, want)
	}
	for _, c := range got.Clauses {
		if c.Outcome != want {
			return fmt.Sprintf("%s is %s (%s), want %s", c.Clause, c.Outcome, c.Reason, want)
		}
	}
	for _, f := range got.Failures {
		if f.Monitor == "" && (f.Observed == "" || f.At < 1 || f.Expected != fmt.Sprintf("%d pieces, all and in order", n)) {
			return fmt.Sprintf("it is told as %+v", f)
		}
	}
	return ""
}

// TestPortions checks pieces in portions of every size, and as a growing text.
func TestPortions(t *testing.T) {
	for _, n := range []int{1, 2, 12} {
		text := whole(n)
		for size := 1; size <= len(text); size += 1 + size/20 {
			for how, script := range map[string][]saying{
				"portions":                streams(portions(text, size)...),
				"portions, and the whole": append(streams(portions(text, size)...), assistants(text)...),
				"text so far":             streams(soFar(text, size)...),
				"assistant messages with the text so far": assistants(soFar(text, size)...),
			} {
				if diff := order(t, n, append(script, result(nil)), verdict.Passed); diff != "" {
					t.Errorf("%d pieces, %s of %d bytes: %s", n, how, size, diff)
				}
			}
		}
	}
}

// TestPiecesOfOtherTurns checks that the turns of a session are judged separately, and that a chat without requested
// pieces has none.
func TestPiecesOfOtherTurns(t *testing.T) {
	script := append(streams(piece(1, 2), piece(2, 2)), result(nil))
	rows := []struct {
		reason, lines string
		want          verdict.Outcome
	}{
		{"the second turn", "When client A chats with \"red\" in a turn of 2 pieces\nAnd client A chats with \"red\" in a " +
			"turn of 2 pieces\nThen the pieces of \"red\" come in order", verdict.Passed},
		{"another session", "When client A chats with \"red\" in a turn of 2 pieces\nAnd client A chats with \"blue\" in " +
			"a turn of 2 pieces\nThen the pieces of \"red\" come in order\nAnd the pieces of \"blue\" come in order",
			verdict.Passed},
		{"over another connection", "When client A chats with \"red\" in a turn of 2 pieces\nAnd client B chats with " +
			"\"red\" in a turn of 2 pieces\nThen the pieces of \"red\" come in order", verdict.Passed},
		{"an ordinary turn", "When client A chats with \"red\"\nThen the pieces of \"red\" come in order", verdict.NotTested},
		{"no turn", "Given client A connects\nThen the pieces of \"red\" come in order", verdict.NotTested},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := perform(t, "@SC-012 @SC-020", r.lines, script); got.Outcome != r.want {
				t.Errorf("%s (%s), want %s", got.Outcome, got.Reason, r.want)
			}
		})
	}
}
