package model

import (
	_ "embed"

	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation"
)

// duties are the obligations of the model, with the clauses that each may keep or break: what a test collects from the
// transcripts of the others.
//
//go:embed duties.yaml
var duties []byte

// Chart describes the model.
func Chart() (obligation.Chart, error) {
	return obligation.Chart{Party: "server", Machines: machines}.With(duties)
}

// Reached implements obligation.Reaching.
func (m *Model) Reached() []obligation.Reached { return m.tally.List() }

const interruptedTurn = vocab.ResultMessage + " of the interrupted turn"

// named says on which message something is owed, and what.
func named(o *owed) (on, owes string) {
	if o.Cause.lacking() != "" {
		return "client: chat that lacks a member", o.About
	}
	return "client: " + o.Cause.kind, o.About
}

// count counts what became of the answer to a chat of our own clients.
func (m *Model) count(c *Chat, of obligation.Coverage) {
	on, owes := named(&owed{Cause: c.message, About: "answer under its " + vocab.AgentID})
	m.tally.Add(on, owes, of)
	if m.duties != nil {
		m.duties.Note(on, owes, answered...)
	}
}

var machines = []obligation.Machine{
	{Name: "a session, which is that of an agent_id", Moves: []obligation.Move{
		{To: "unused"},
		{From: "unused", To: "active", On: "its first chat", Clauses: []string{"SC-009", "SC-046", "SC-047"}},
		{From: "active", To: "active", On: "a further chat", Clauses: []string{"SC-006", "SC-042", "SC-050"}},
		{From: "active", To: "active", On: "a chat with another agent_id, and back", Clauses: []string{"SC-028", "SC-052"}},
		{From: "active", To: "stored", On: "a restart, the end of the connection, or a long rest",
			Clauses: []string{"SC-053", "SC-054"}},
		{From: "stored", To: "active", On: "its next chat", Clauses: []string{"SC-008", "SC-016", "SC-016a", "SC-048"}},
	}},
	{Name: "a turn", Moves: []obligation.Move{
		{To: "asked", On: "chat", Clauses: []string{"SC-005", "SC-029"}},
		{From: "asked", To: "speaking", On: "system, stream or assistant", Clauses: []string{"SC-012", "SC-021", "SC-041"}},
		{From: "speaking", To: "speaking", On: "another turn, ping or interrupt of another agent_id",
			Clauses: []string{"SC-004", "SC-024", "SC-036", "SC-037"}},
		{From: "speaking", To: "ended", On: "result", Clauses: []string{"SC-020"}},
		{From: "speaking", To: "ended", On: "result, after its interrupt", Clauses: []string{"SC-035", "SC-036"}},
		{From: "ended"},
	}},
}
