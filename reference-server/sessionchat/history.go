package sessionchat

import (
	"slices"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// weight returns the size of a turn's text in bytes, plus an allowance for the rest of it.
func (t *Turn) weight() int { return 64 + len(t.Content) + len(t.Answer) }

// messages returns the conversation up to the last turn, whose answer is wanted. The roles alternate, as models
// require: for a turn without an answer, a note takes its place.
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

// answer returns the answer of an earlier turn, or a note on why there is none.
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

// trim drops the oldest turns until the limits hold, but never the last one.
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
