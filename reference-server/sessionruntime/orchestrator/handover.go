package orchestrator

import (
	"cmp"
	"slices"

	proto "parley/protocol/sessionruntime"
)

// heir returns the target of a HANDOVER_REQUEST; "" if it has none. The source does not name the member.
func heir(msg proto.Message) string {
	for _, name := range []string{"target_agent_id", "target_agent", "to_agent_id", "to_agent", "to", "target",
		"agent_id"} {
		if id, _ := payloadOf(msg)[name].(string); id != "" {
			return id
		}
	}
	return cmp.Or(text(msg, "target_agent_id"), text(msg, "target_agent"))
}

// handover handles a HANDOVER_REQUEST (4F). A refusal goes to the frontend: the source has no message for telling an
// agent.
func (m *Machine) handover(msg proto.Message) {
	to := heir(msg)
	if to == "" {
		m.refuse(msg, &Refusal{proto.BadMessage, "HANDOVER_REQUEST requires payload.target_agent_id"})
		return
	}
	if r := m.o.Policy.Handover(m, msg.Sender, to); r != nil {
		m.refuse(msg, r)
		return
	}
	if slices.ContainsFunc(m.txs, func(tx *transaction) bool {
		return tx.Kind == proto.HandoverRequest && tx.From == msg.Sender && tx.Agent == to
	}) {
		m.refuse(msg, &Refusal{proto.InProgress, "the user has been asked already"})
		return
	}
	tx := &transaction{Transaction: Transaction{Kind: proto.HandoverRequest, From: msg.Sender, Agent: to, Request: msg}}
	if tx.turn = m.turns[text(msg, proto.TurnID)]; tx.turn == nil || tx.turn.Agent != msg.Sender {
		tx.turn = m.lastTurn(msg.Sender)
	}
	if tx.turn != nil {
		tx.TurnID = tx.turn.ID
	}
	m.begin(tx)
}

// context returns the content of the request and the agent's output, taken from the turn that the request names, else
// from the agent's turn that spoke last (RT-129, RT-132, RT-135).
func (m *Machine) context(tx *transaction) object {
	last := []any{}
	if tx.turn != nil {
		last = append(last, tx.turn.Output...)
	}
	if len(last) == 0 {
		last = append(last, m.LastOutput(tx.From)...)
	}
	return with(payloadOf(tx.Request), object{
		"from_agent": tx.From, "target_agent": tx.Agent, "tx_id": tx.ID, "turn_id": orNull(tx.TurnID), "last_output": last,
	})
}

// prompt asks the user (RT-131).
func (m *Machine) prompt(tx *transaction) {
	tx.Asked = true
	m.emit(m.New(proto.Control, proto.HandoverUIPrompt, proto.ToFrontend, "", m.context(tx), tx.ids()))
}

// decided handles HANDOVER_CONFIRM and HANDOVER_REJECT.
func (m *Machine) decided(msg proto.Message) {
	tx := m.answered(msg)
	if tx == nil {
		text := "no handover waits for an answer"
		if len(m.waiting(Subtype(msg))) > 0 {
			text = "no handover waits for this answer: send the tx_id of its prompt"
		}
		m.refuse(msg, &Refusal{proto.BadMessage, text})
		return
	}
	if Subtype(msg) == proto.HandoverConfirm {
		if r := m.o.Policy.Member(m, tx.Agent); r != nil { // the agent has left since
			m.close(tx)
			m.refuse(msg, r)
			return
		}
	}
	m.conclude(tx, msg)
}

// giveContext publishes the HANDOVER_CONTEXT (RT-135).
func (m *Machine) giveContext(tx *transaction) {
	if tx.Kind == proto.HandoverRequest {
		m.emit(m.New(proto.Control, proto.HandoverContext, proto.ToAgent, tx.Agent, m.context(tx), tx.ids()))
	}
}
