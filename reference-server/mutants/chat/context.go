package chat

import (
	"slices"

	"parley/model"
	proto "parley/protocol/sessionchat"
)

// contextFaults ask the model with other turns than those of the session.
var contextFaults = map[string]fault{
	"shares-context":         deciding(sharing(func(turnView) string { return "" })),
	"context-per-connection": deciding(sharing(func(v turnView) string { return v.Conn })),
	"leaks-what-runs":        leaksWhatRuns,
	"leaks-when-switching":   deciding(leaksWhenSwitching),
	"forgets-history":        deciding(remembering(0)),
	"remembers-two-turns":    deciding(remembering(2)),
	"forgets-the-first-turn": deciding(forgetsFirst),
	"failure-forgets":        forgettingAfter(proto.Failed),
	"interrupt-forgets":      forgettingAfter(proto.Interrupted),
}

// sharing keeps one conversation for all turns with the same name.
func sharing(name func(v turnView) string) func() rules {
	return func() rules {
		said := map[string][]model.Message{}
		return rules{history: func(v turnView, messages []model.Message) []model.Message {
			n := name(v)
			said[n] = append(said[n], messages[len(messages)-1])
			return slices.Clone(said[n])
		}}
	}
}

// leaksWhatRuns keeps the conversation that is being answered in a place that all sessions use.
func leaksWhatRuns(o *options) {
	running := map[string][]model.Message{} // by agent_id
	o.Policy = rules{history: func(v turnView, messages []model.Message) []model.Message {
		var all []model.Message
		for _, m := range running {
			all = append(all, m...)
		}
		running[v.AgentID] = messages
		return append(all, messages...)
	}}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if msg.Type() == proto.ResultMessage {
			delete(running, agentOf(msg))
		}
		send(to.ID, msg)
	}
}

// leaksWhenSwitching has the last message of the session left in front of the other's.
func leaksWhenSwitching() rules {
	type said struct {
		agentID string
		message model.Message
	}
	last := map[string]said{} // by connection
	return rules{history: func(v turnView, messages []model.Message) []model.Message {
		was := last[v.Conn]
		last[v.Conn] = said{v.AgentID, messages[len(messages)-1]}
		if was.agentID == "" || was.agentID == v.AgentID {
			return messages
		}
		return append([]model.Message{was.message, {Role: model.RoleAssistant, Text: "ok"}}, messages...)
	}}
}

// remembering shows the model the last turns only, beside the new message.
func remembering(turns int) func() rules {
	return func() rules {
		return rules{history: func(_ turnView, messages []model.Message) []model.Message {
			return messages[max(0, len(messages)-1-2*turns):]
		}}
	}
}

// forgetsFirst begins the conversation with the turn after the one that made the session.
func forgetsFirst() rules {
	return rules{history: func(_ turnView, messages []model.Message) []model.Message {
		if len(messages) > 1 {
			return messages[2:]
		}
		return messages
	}}
}

// forgettingAfter starts the conversation afresh behind a turn that has ended in one way, and keeps the session.
func forgettingAfter(how string) fault {
	return func(o *options) {
		length, from := map[string]int{}, map[string]int{} // by agent_id: of its conversation, and what is left out of it
		o.Policy = rules{history: func(v turnView, messages []model.Message) []model.Message {
			length[v.AgentID] = len(messages)
			return messages[min(from[v.AgentID], len(messages)-1):]
		}}
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			if ended(how)(msg) {
				from[agentOf(msg)] = length[agentOf(msg)] + 1 // with the note that stands for its answer
			}
			send(to.ID, msg)
		}
	}
}
