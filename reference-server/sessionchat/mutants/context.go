package mutants

import (
	"slices"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// contextFaults ask the model with turns other than the session's.
var contextFaults = map[string]fault{
	"shares-context":         sharing(func(turnView) string { return "" }),
	"context-per-connection": sharing(func(v turnView) string { return v.Conn }),
	"leaks-what-runs":        leaksWhatRuns,
	"leaks-when-switching":   leaksWhenSwitching,
	"forgets-history":        remembering(0),
	"remembers-two-turns":    remembering(2),
	"remembers-ten-turns":    remembering(10),
	"forgets-the-first-turn": shortened(forgetsFirst),
	"failure-forgets":        forgettingAfter(proto.Failed),
	"interrupt-forgets":      forgettingAfter(proto.Interrupted),
}

// sharing keeps one conversation for all turns with the same name.
func sharing(name func(v turnView) string) fault {
	return func(o *options) {
		said := map[string][]llm.Message{}
		o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
			n := name(v)
			said[n] = append(said[n], messages[len(messages)-1])
			return slices.Clone(said[n])
		}
	}
}

// leaksWhatRuns keeps the conversation that is being answered in state shared by all sessions.
func leaksWhatRuns(o *options) {
	running := map[string][]llm.Message{} // by agent_id
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		var all []llm.Message
		for _, m := range running {
			all = append(all, m...)
		}
		running[v.AgentID] = messages
		return append(all, messages...)
	}
	o.Outbound = hearing(ended(), func(msg message) { delete(running, agentOf(msg)) })
}

// leaksWhenSwitching prepends the last message of the previous session when a connection switches.
func leaksWhenSwitching(o *options) {
	last := map[string]llm.Message{} // by connection
	switched := false
	back := returning(func(turnView) { switched = true })
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		was := last[v.Conn]
		last[v.Conn] = messages[len(messages)-1]
		switched = false
		if back(v); !switched {
			return messages
		}
		return append([]llm.Message{was, {Role: llm.RoleAssistant, Text: "ok"}}, messages...)
	}
}

// shortened shows the model only part of the conversation.
func shortened(to func(messages []llm.Message) []llm.Message) fault {
	return deciding(rules{History: func(_ turnView, messages []llm.Message) []llm.Message { return to(messages) }})
}

// remembering shows the model only the last turns, plus the new message.
func remembering(turns int) fault {
	return shortened(func(messages []llm.Message) []llm.Message { return messages[max(0, len(messages)-1-2*turns):] })
}

// forgetsFirst omits the first turn of the session.
func forgetsFirst(messages []llm.Message) []llm.Message {
	if len(messages) > 1 {
		return messages[2:]
	}
	return messages
}

// forgettingAfter restarts the conversation after a turn with a certain outcome, but keeps the session.
func forgettingAfter(how string) fault {
	return func(o *options) {
		length, from := map[string]int{}, map[string]int{} // by agent_id: messages in its conversation, and how many to omit
		o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
			length[v.AgentID] = len(messages)
			return messages[min(from[v.AgentID], len(messages)-1):]
		}
		o.Outbound = hearing(ended(how), func(msg message) {
			from[agentOf(msg)] = length[agentOf(msg)] + 1 // counting the note that stands for its answer
		})
	}
}
