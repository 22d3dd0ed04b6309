package orchestrator

import (
	"cmp"
	"slices"

	proto "parley/protocol/sessionruntime"
)

// transaction is an open chain of actions (2.3).
type transaction struct {
	Transaction
	waits  []*turn // turns whose CANCEL_ACK it awaits
	paused bool    // at an Await
	rest   []Step  // remaining steps of its program
	turn   *turn   // turn whose output a handover passes on; nil if there is none
}

func (tx *transaction) requestIDs() IDs { return IDs{Trace: tx.TraceID, Turn: tx.TurnID, Tx: tx.ID} }

// openTransaction opens a transaction. It uses the id of the request if that is present and unique.
func (m *Machine) openTransaction(tx *transaction) {
	if len(m.txs) >= m.o.Limits.Transactions {
		m.publishRefusal(tx.Request,
			&Refusal{proto.Overloaded, "too many transactions are open: try again when one is over"})
		return
	}
	tx.ID, tx.TraceID = cmp.Or(m.txID(tx.Request), m.o.NewID()), m.messageID(tx.Request, proto.TraceID)
	m.txs = append(m.txs, tx)
	m.runProgram(m.jobOf(tx), m.o.Policy.Begin(m, tx.Transaction))
}

func (m *Machine) jobOf(tx *transaction) *job {
	return &job{tx: tx, msg: tx.Request, agent: tx.Agent, trigger: tx.Kind, reason: reasonOf(tx.Request)}
}

// txID returns the tx_id of a request; "" if it has no usable one.
func (m *Machine) txID(msg proto.Message) string {
	id := m.messageID(msg, proto.TxID)
	if slices.ContainsFunc(m.txs, func(tx *transaction) bool { return tx.ID == id }) {
		return ""
	}
	return id
}

// messageID returns an id of a message; "" if it is absent or too long.
func (m *Machine) messageID(msg proto.Message, name string) string {
	if id := memberText(msg, name); len(id) <= m.o.Limits.ID {
		return id
	}
	return ""
}

func (m *Machine) closeTransaction(tx *transaction) {
	m.txs = slices.DeleteFunc(m.txs, func(other *transaction) bool { return other == tx })
	tx.waits, tx.rest, tx.paused = nil, nil, false
}

// turnsToSilence returns the speaking turns that must be silenced before a transaction continues.
func (m *Machine) turnsToSilence(tx *transaction) (all []*turn) {
	for _, t := range m.speaking {
		if tx.Kind == proto.SessionClose || tx.Kind == proto.RemoveAgent && t.Agent == tx.Agent {
			all = append(all, t)
		}
	}
	return all
}

// silenceTurns cancels them. A single CANCEL serves all transactions that wait for its ack.
func (m *Machine) silenceTurns(tx *transaction) {
	for _, t := range m.turnsToSilence(tx) {
		m.cancelTurn(t, tx.ID, tx.Kind)
		if !slices.Contains(tx.waits, t) {
			tx.waits = append(tx.waits, t)
		}
	}
}

// proceedAfterAwait continues after an Await, unless another turn has begun to speak meanwhile.
func (m *Machine) proceedAfterAwait(tx *transaction) {
	if !tx.paused || len(tx.waits) > 0 {
		return
	}
	if m.silenceTurns(tx); len(tx.waits) > 0 {
		return
	}
	program := tx.rest
	tx.rest, tx.paused = nil, false
	m.runProgram(m.jobOf(tx), program)
}

// answers lists the answers that transactions await, by kind.
var answers = map[string][]string{
	proto.InviteAgent:     {proto.AddAgentDone, proto.AddAgentFailed},
	proto.RemoveAgent:     {proto.RemoveAgentDone, proto.RemoveAgentFailed},
	proto.SessionOpen:     {proto.SessionOpened, proto.SessionFailed},
	proto.SessionClose:    {proto.SessionClosed, proto.SessionFailed},
	proto.HandoverRequest: {proto.HandoverConfirm, proto.HandoverReject},
}

// correctCorrelate matches an answer by tx_id, else by the agent that it names, else by the turn that it names. An
// answer without any of these belongs to the only open transaction.
func correctCorrelate(_ View, msg proto.Message, open []Transaction) string {
	if id := memberText(msg, proto.TxID); id != "" {
		if slices.ContainsFunc(open, func(tx Transaction) bool { return tx.ID == id }) {
			return id
		}
		return ""
	}
	only := func(meant func(tx Transaction) bool) string {
		some := slices.DeleteFunc(slices.Clone(open), func(tx Transaction) bool { return !meant(tx) })
		if len(some) == 1 {
			return some[0].ID
		}
		return ""
	}
	if agent := agentOf(msg); agent != "" {
		return cmp.Or(
			only(func(tx Transaction) bool { return tx.Agent == agent || tx.From == agent }),
			only(func(tx Transaction) bool { return tx.Agent == "" }),
		)
	}
	if turn := memberText(msg, proto.TurnID); turn != "" {
		return only(func(tx Transaction) bool { return tx.TurnID == turn })
	}
	return only(func(Transaction) bool { return true })
}

// waitingTransactions returns the transactions that an answer of that subtype can belong to.
func (m *Machine) waitingTransactions(subtype string) (open []Transaction) {
	for _, tx := range m.txs {
		if tx.Asked && slices.Contains(answers[tx.Kind], subtype) {
			open = append(open, tx.Transaction)
		}
	}
	return open
}

// answeredTransaction returns the transaction of an answer; nil if there is none.
func (m *Machine) answeredTransaction(msg proto.Message) *transaction {
	open := m.waitingTransactions(Subtype(msg))
	if len(open) == 0 {
		return nil
	}
	id := m.o.Policy.Correlate(m, msg, open)
	i := slices.IndexFunc(m.txs, func(tx *transaction) bool { return tx.ID == id })
	if i < 0 {
		return nil
	}
	return m.txs[i]
}

// concludeTransaction executes the program of an answer. It closes the transaction first, so that a second answer finds
// none.
func (m *Machine) concludeTransaction(tx *transaction, msg proto.Message) {
	program := m.o.Policy.Answered(m, tx.Transaction, msg)
	m.closeTransaction(tx)
	j := m.jobOf(tx)
	j.msg, j.trigger = msg, Subtype(msg)
	m.runProgram(j, program)
}

// handoverTarget returns the target of a HANDOVER_REQUEST; "" if it has none. The source does not name the member.
func handoverTarget(msg proto.Message) string {
	for _, name := range []string{"target_agent_id", "target_agent", "to_agent_id", "to_agent", "to", "target",
		"agent_id"} {
		if id, _ := payloadOf(msg)[name].(string); id != "" {
			return id
		}
	}
	return cmp.Or(memberText(msg, "target_agent_id"), memberText(msg, "target_agent"))
}

// handleHandover handles a HANDOVER_REQUEST (4F). A refusal goes to the frontend: the source has no message for telling
// an agent.
func (m *Machine) handleHandover(msg proto.Message) {
	to := handoverTarget(msg)
	if to == "" {
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "HANDOVER_REQUEST requires payload.target_agent_id"})
		return
	}
	if r := m.o.Policy.Handover(m, msg.Sender, to); r != nil {
		m.publishRefusal(msg, r)
		return
	}
	if slices.ContainsFunc(m.txs, func(tx *transaction) bool {
		return tx.Kind == proto.HandoverRequest && tx.From == msg.Sender && tx.Agent == to
	}) {
		m.publishRefusal(msg, &Refusal{proto.InProgress, "the user has been asked already"})
		return
	}
	tx := &transaction{Transaction: Transaction{Kind: proto.HandoverRequest, From: msg.Sender, Agent: to, Request: msg}}
	if tx.turn = m.turns[memberText(msg, proto.TurnID)]; tx.turn == nil || tx.turn.Agent != msg.Sender {
		tx.turn = m.lastTurn(msg.Sender)
	}
	if tx.turn != nil {
		tx.TurnID = tx.turn.ID
	}
	m.openTransaction(tx)
}

// handoverContext returns the content of the request and the agent's output, taken from the turn that the request
// names, else from the agent's turn that spoke last (RT-129, RT-132, RT-135).
func (m *Machine) handoverContext(tx *transaction) object {
	last := []any{}
	if tx.turn != nil {
		last = append(last, tx.turn.Output...)
	}
	if len(last) == 0 {
		last = append(last, m.LastOutput(tx.From)...)
	}
	return withMembers(payloadOf(tx.Request), object{
		"from_agent": tx.From, "target_agent": tx.Agent, "tx_id": tx.ID, "turn_id": orNull(tx.TurnID), "last_output": last,
	})
}

// promptUser asks the user (RT-131).
func (m *Machine) promptUser(tx *transaction) {
	tx.Asked = true
	m.emitMessage(m.New(proto.Control, proto.HandoverUIPrompt, proto.ToFrontend, "", m.handoverContext(tx),
		tx.requestIDs()))
}

// handleDecision handles HANDOVER_CONFIRM and HANDOVER_REJECT.
func (m *Machine) handleDecision(msg proto.Message) {
	tx := m.answeredTransaction(msg)
	if tx == nil {
		text := "no handover waits for an answer"
		if len(m.waitingTransactions(Subtype(msg))) > 0 {
			text = "no handover waits for this answer: send the tx_id of its prompt"
		}
		m.publishRefusal(msg, &Refusal{proto.BadMessage, text})
		return
	}
	if Subtype(msg) == proto.HandoverConfirm {
		if r := m.o.Policy.Member(m, tx.Agent); r != nil { // the agent has left since
			m.closeTransaction(tx)
			m.publishRefusal(msg, r)
			return
		}
	}
	m.concludeTransaction(tx, msg)
}

// giveContext publishes the HANDOVER_CONTEXT (RT-135).
func (m *Machine) giveContext(tx *transaction) {
	if tx.Kind == proto.HandoverRequest {
		m.emitMessage(m.New(proto.Control, proto.HandoverContext, proto.ToAgent, tx.Agent, m.handoverContext(tx),
			tx.requestIDs()))
	}
}

// correctCancels returns the named turn, else the one that spoke last, provided that it is speaking.
func correctCancels(v View, msg proto.Message) []string {
	speaking := v.Speaking()
	if len(speaking) == 0 {
		return nil
	}
	if id := memberText(msg, proto.TurnID); id != "" {
		if !slices.Contains(speaking, id) {
			return nil
		}
		return []string{id}
	}
	return speaking[len(speaking)-1:]
}

// correctCanceling sends the CANCEL.
func correctCanceling(View, Turn) []Step { return []Step{Interrupt} }

// correctStops accepts an acknowledgement from the turn's agent; CANCEL_ACK and STREAM_STOPPED are equivalent.
func correctStops(_ View, t Turn, msg proto.Message) bool {
	return t.CancelSent && t.Agent == msg.Sender
}

// correctStopped cancels the turn.
func correctStopped(View, Turn) []Step { return []Step{Cancel, TellCanceled, Resume} }

// correctCancelTimeout gives up: without an ack nothing is canceled.
func correctCancelTimeout(View, Turn) []Step { return []Step{TellCancelTimeout, Abandon} }

// handleCancel handles CANCEL and INTERRUPT from the frontend (4C).
func (m *Machine) handleCancel(msg proto.Message) {
	found := false
	for _, id := range m.o.Policy.Cancels(m, msg) {
		if t := m.turns[id]; t != nil {
			found = true
			m.runProgram(&job{t: t, msg: msg}, m.o.Policy.Canceling(m, t.publicTurn()))
		}
	}
	if !found {
		m.publishEvent(proto.NobodySpeaks, object{"message_id": msg.ID}, idsOf(msg))
	}
}

// cancelTurn sends a CANCEL, unless one is in flight.
func (m *Machine) cancelTurn(t *turn, txID, reason string) {
	if t.Waiting == proto.CancelAck {
		return
	}
	t.cancelTx = cmp.Or(txID, m.o.NewID())
	t.CancelSent = true
	if t.open {
		m.addTimeout(t, proto.CancelAck, m.o.CancelAck)
	}
	ids := t.turnIDs()
	ids.Tx = t.cancelTx
	payload := object{"turn_id": t.ID, "agent_id": t.Agent, "reason": reason}
	m.emitMessage(m.New(proto.Control, proto.Cancel, proto.ToAgent, t.Agent, payload, ids))
	m.publishEvent(proto.CancelSent, object{"turn_id": t.ID, "agent_id": t.Agent}, ids)
}

// handleCancelAck handles CANCEL_ACK and STREAM_STOPPED.
func (m *Machine) handleCancelAck(msg proto.Message) {
	t := m.turnOf(msg, func(t *turn) bool {
		tx := memberText(msg, proto.TxID)
		return t.CancelSent && (tx == "" || tx == t.cancelTx)
	})
	if t != nil && m.o.Policy.Stops(m, t.publicTurn(), msg) {
		m.runProgram(&job{t: t, msg: msg}, m.o.Policy.Stopped(m, t.publicTurn()))
	}
}

// endCanceled ends a turn; one that ended by itself before the ack keeps its status.
func (m *Machine) endCanceled(t *turn) {
	m.endTurn(t, Canceled)
	t.CancelSent = false
	if t.Waiting == proto.CancelAck {
		m.removeTimeout(t)
	}
}

func (m *Machine) tellCanceled(t *turn) {
	ids := t.turnIDs()
	ids.Tx = t.cancelTx
	m.publishEvent(proto.Canceled, object{"turn_id": t.ID, "agent_id": t.Agent, "status": string(t.Status)}, ids)
}

// resumeTransactions continues the transactions that waited for a turn's ack.
func (m *Machine) resumeTransactions(t *turn) {
	for _, tx := range slices.Clone(m.txs) {
		if i := slices.Index(tx.waits, t); i >= 0 {
			tx.waits = slices.Delete(tx.waits, i, i+1)
			m.proceedAfterAwait(tx)
		}
	}
}

// abandonTransactions ends the transactions that wait for a turn's ack.
func (m *Machine) abandonTransactions(t *turn) {
	for _, tx := range slices.Clone(m.txs) {
		if tx.paused && slices.Contains(tx.waits, t) {
			m.closeTransaction(tx)
		}
	}
}

// tellCancelTimeout lists the transactions that this ends.
func (m *Machine) tellCancelTimeout(t *turn) {
	over := []any{}
	for _, tx := range m.txs {
		if tx.paused && slices.Contains(tx.waits, t) {
			over = append(over, object{"subtype": tx.Kind, "tx_id": tx.ID, "agent_id": orNull(tx.Agent)})
		}
	}
	ids := t.turnIDs()
	ids.Tx = t.cancelTx
	m.publishError(proto.CancelTimeout, "the agent did not acknowledge CANCEL in time: nothing was canceled, try again",
		object{"turn_id": t.ID, "agent_id": t.Agent, "given_up": over}, ids)
}
