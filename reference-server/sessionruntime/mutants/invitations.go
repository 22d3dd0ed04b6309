package mutants

import (
	"maps"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// inviteFaults do not ask SessionManager for an agent, or ask incorrectly (4E).
var inviteFaults = map[string]fault{
	"invite-makes-agent": begins(proto.InviteAgent, orchestrator.Register, orchestrator.TellDone),
	"invite-makes-and-asks": begins(proto.InviteAgent, orchestrator.Register, orchestrator.Request,
		orchestrator.TellBegun),
	"invite-added-at-once": begins(proto.InviteAgent, orchestrator.Request, orchestrator.Register,
		orchestrator.TellDone),
	"invite-keeps-nothing":  ruling(rules{Begin: keepsNothing}),
	"invite-cancels":        beginning(proto.InviteAgent, cancelsIf(anybody)),
	"invite-holds-output":   runtime(holdsOutput),
	"request-add-for-first": rewriting(proto.RequestAddAgent, addFirst),
}

// keepsNothing sends requests and assumes that they succeed.
func keepsNothing(v view, tx transaction) []step {
	program := correct.Begin(v, tx)
	if tx.Kind == proto.InviteAgent || tx.Kind == proto.RemoveAgent {
		program = append(program, orchestrator.TellDone)
	}
	return program
}

// holdsOutput forwards nothing while SessionManager is working.
func holdsOutput(o *options) {
	var held []message
	waiting := func(v view) bool {
		for _, tx := range v.Transactions() {
			if tx.Asked && tx.Kind == proto.InviteAgent {
				return true
			}
		}
		return false
	}
	o.Outbound = func(v view, msg message, send sender) {
		if kindOf(msg) == proto.AgentOutput && waiting(v) {
			held = append(held, msg)
			return
		}
		if !waiting(v) {
			for _, msg := range held {
				send(msg)
			}
			held = nil
		}
		send(msg)
	}
}

func addFirst(v view, msg message) message {
	msg.Payload = object{"session_id": v.SessionID(), "agent_id": v.Agents()[0],
		"agent_spec": object{"agent_id": v.Agents()[0]}}
	return msg
}

// addedFaults misread the receipts of an invitation, or report them incorrectly (RT-122 to RT-127).
var addedFaults = map[string]fault{
	"add-done-not-told":        upon(proto.AddAgentDone, orchestrator.Register),
	"add-done-not-registered":  upon(proto.AddAgentDone, orchestrator.TellDone),
	"add-failed-told-as-added": upon(proto.AddAgentFailed, orchestrator.TellDone),
	"add-failed-registers":     upon(proto.AddAgentFailed, orchestrator.Register, orchestrator.TellFailed),
	"added-tells-first-agent": rewriting(proto.AgentAdded, func(v view, msg message) message {
		return named(msg, "agent_id", v.Agents()[0])
	}),
	"added-active-in-silence": upon(proto.AddAgentDone, orchestrator.Register, orchestrator.Activate,
		orchestrator.TellDone),
	"invitations-first-asked": reading(of(proto.AddAgentDone), firstInvitation),
	"returning-agent-shunned": deciding(returningShunned),
}

// firstInvitation attributes a receipt to the oldest invitation, whichever agent it names.
func firstInvitation(v view, msg message) message {
	for _, tx := range v.Transactions() {
		if tx.Kind == proto.InviteAgent {
			msg.Metadata = maps.Clone(msg.Metadata)
			msg.Metadata[proto.TxID] = tx.ID
			return named(msg, "agent_id", tx.Agent)
		}
	}
	return msg
}

// returningShunned keeps a list of removed agents and checks it first.
func returningShunned() rules {
	gone := map[string]bool{}
	return rules{
		Begin: func(v view, tx transaction) []step {
			if tx.Kind == proto.RemoveAgent {
				gone[tx.Agent] = true
			}
			return correct.Begin(v, tx)
		},
		Member: func(v view, agent string) *refusal {
			if gone[agent] {
				return &refusal{Subtype: proto.AgentNotFound, Text: "it was removed"}
			}
			return correct.Member(v, agent)
		},
	}
}
