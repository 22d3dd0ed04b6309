package model

import (
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Sessions is the name of the monitor that has the model's findings in a run.
const Sessions = "sessions"

// All lists the monitors of session-chat.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "session-message-shape", Clauses: []string{"SC-038", "SC-039", "SC-040", "SC-043", "SC-044"},
			Text:  "every message of a session has well-formed agent_id, session_id, message_type, message and timestamp",
			Check: shapes, PerRecord: true, Passive: true},
		of(obligation.Ours, Sessions, "an agent_id keeps one session_id of its own while its session stays in memory, "+
			"answers have the agent_id of their chat, and a turn is told once and ends once",
			"SC-020", "SC-021", "SC-027", "SC-041", "SC-042", "SC-056"),
	}
}

// Foreign lists the monitors of foreign traffic, beside those of All that are marked as passive.
func Foreign() []monitor.Monitor {
	return []monitor.Monitor{of(obligation.Foreign, "foreign-sessions",
		"a legal chat is answered under its own agent_id, in a session of its own, by one whole turn; nothing else starts, "+
			"names or ends a session",
		strings.Fields(`SC-001 SC-002 SC-004 SC-005 SC-006 SC-009 SC-012 SC-013 SC-020 SC-021 SC-024 SC-025 SC-026 SC-027
			SC-028 SC-029 SC-030 SC-031 SC-032 SC-032a SC-033 SC-034 SC-035 SC-036 SC-037 SC-037a SC-041 SC-042 SC-045
			SC-050 SC-052 SC-054 SC-055 SC-056 SC-057 SC-060`)...)}
}

// of returns the monitor of an observer's model, for some of its clauses.
func of(o obligation.Observer, name, text string, clauses ...string) monitor.Monitor {
	return monitor.Monitor{Name: name, Text: text, Clauses: clauses, Passive: o != obligation.Ours}.
		FromModel(func() obligation.Model { return New(o) })
}

// Client lists the monitors that judge the client, which is not a target of a run. Each judges single messages. Other
// messages than the three documented ones are left open, and not judged.
func Client() []monitor.Monitor {
	return []monitor.Monitor{
		client("chats-formed", "a chat names its type, its agent_id and its content", chatFormed, "SC-029", "SC-030",
			"SC-031", "SC-032", "SC-033"),
		client("interrupts-formed", "an interrupt names its agent_id", func(m *Model, msg message) {
			if msg.kind == vocab.InterruptType {
				m.text(msg, vocab.AgentID, "SC-035")
			}
		}, "SC-035"),
		client("pings-formed", "a ping has no agent_id", pingFormed, "SC-037"),
	}
}

func client(name, text string, judge func(*Model, message), clauses ...string) monitor.Monitor {
	return monitor.Monitor{Name: name, Text: text, Clauses: clauses, Passive: true, PerRecord: true,
		Check: func(t []transcript.Record) []verdict.Finding {
			m := New(obligation.Foreign)
			for _, r := range t {
				if msg := read(r); !r.Late && msg.sent() && msg.data != nil && len(r.Event.Faults) == 0 {
					judge(m, msg)
				}
			}
			return m.Findings()
		}}
}

// text records a clause as kept if a member is a string, else as broken.
func (m *Model) text(msg message, name, clause string) {
	if isText(msg.data[name]) {
		m.keep(msg, clause)
		return
	}
	m.fail(msg, name+", a string", clause)
}

func chatFormed(m *Model, msg message) {
	switch {
	case msg.kind == vocab.ChatType:
		m.keep(msg, "SC-029")
	case msg.kind == "" && isText(msg.data[vocab.AgentID]) && isText(msg.data[vocab.Content]):
		m.fail(msg, `type "chat"`, "SC-029")
		return
	default:
		return
	}
	m.text(msg, vocab.AgentID, "SC-030")
	m.text(msg, vocab.Content, "SC-031")
	if options, ok := msg.data[vocab.Options].(map[string]any); ok {
		m.keep(msg, "SC-032")
		if isText(options[vocab.Model]) {
			m.keep(msg, "SC-033")
		}
	}
}

func pingFormed(m *Model, msg message) {
	if msg.kind != vocab.PingType {
		return
	}
	if _, named := msg.data[vocab.AgentID]; named {
		m.fail(msg, "no agent_id", "SC-037")
		return
	}
	m.keep(msg, "SC-037")
}
