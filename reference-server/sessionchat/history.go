package sessionchat

import (
	"slices"

	"parley/llm"
	proto "parley/protocol/sessionchat"
)

// weight is the text of a turn in bytes, with something for the rest of it.
func (t *Turn) weight() int { return 64 + len(t.Content) + len(t.Answer) }

// messages is the conversation up to the last turn, whose answer is asked for. The roles alternate, as models want
// them: where a turn ended before anything was said, a note stands in for the answer.
func messages(turns []*Turn) []llm.Message {
	var all []llm.Message
	for i, t := range turns {
		all = append(all, llm.Message{Role: llm.RoleUser, Text: t.Content})
		if i < len(turns)-1 {
			all = append(all, llm.Message{Role: llm.RoleAssistant, Text: t.answer()})
		}
	}
	return all
}

// answer is what was said in an earlier turn, or a note why nothing was.
func (t *Turn) answer() string {
	switch {
	case t.Answer != "":
		return t.Answer
	case t.Outcome == proto.Success:
		return "[empty answer]"
	case t.Outcome == proto.Failed:
		return "[no answer: failed]"
	}
	return "[no answer: interrupted]"
}

// trim drops the oldest turns until the limits hold; the last one always stays.
func trim(turns []*Turn, l Limits) []*Turn {
	bytes, first := 0, len(turns)
	for first > 0 {
		bytes += turns[first-1].weight()
		if n := len(turns) - first; n > 0 && (n >= l.History || bytes > l.HistoryBytes) {
			break
		}
		first--
	}
	return slices.Clone(turns[first:])
}
