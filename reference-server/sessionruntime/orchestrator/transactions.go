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

func (tx *transaction) ids() IDs { return IDs{Trace: tx.TraceID, Turn: tx.TurnID, Tx: tx.ID} }

// begin opens a transaction. It uses the id of the request if that is present and unique.
func (m *Machine) begin(tx *transaction) {
	if len(m.txs) >= m.o.Limits.Transactions {
		m.refuse(tx.Request, &Refusal{proto.Overloaded, "too many transactions are open: try again when one is over"})
		return
	}
	tx.ID, tx.TraceID = cmp.Or(m.txID(tx.Request), m.o.NewID()), m.id(tx.Request, proto.TraceID)
	m.txs = append(m.txs, tx)
	m.run(m.jobOf(tx), m.o.Policy.Begin(m, tx.Transaction))
}

func (m *Machine) jobOf(tx *transaction) *job {
	return &job{tx: tx, msg: tx.Request, agent: tx.Agent, trigger: tx.Kind, reason: reasonOf(tx.Request)}
}

// txID returns the tx_id of a request; "" if it has no usable one.
func (m *Machine) txID(msg proto.Message) string {
	id := m.id(msg, proto.TxID)
	if slices.ContainsFunc(m.txs, func(tx *transaction) bool { return tx.ID == id }) {
		return ""
	}
	return id
}

// id returns an id of a message; "" if it is absent or too long.
func (m *Machine) id(msg proto.Message, name string) string {
	if id := text(msg, name); len(id) <= m.o.Limits.ID {
		return id
	}
	return ""
}

func (m *Machine) close(tx *transaction) {
	m.txs = slices.DeleteFunc(m.txs, func(other *transaction) bool { return other == tx })
	tx.waits, tx.rest, tx.paused = nil, nil, false
}

// silences returns the speaking turns that must be silenced before a transaction continues.
func (m *Machine) silences(tx *transaction) (all []*turn) {
	for _, t := range m.speaking {
		if tx.Kind == proto.SessionClose || tx.Kind == proto.RemoveAgent && t.Agent == tx.Agent {
			all = append(all, t)
		}
	}
	return all
}

// silence cancels them. A single CANCEL serves all transactions that wait for its ack.
func (m *Machine) silence(tx *transaction) {
	for _, t := range m.silences(tx) {
		m.interrupt(t, tx.ID, tx.Kind)
		if !slices.Contains(tx.waits, t) {
			tx.waits = append(tx.waits, t)
		}
	}
}

// proceed continues after an Await, unless another turn has begun to speak meanwhile.
func (m *Machine) proceed(tx *transaction) {
	if !tx.paused || len(tx.waits) > 0 {
		return
	}
	if m.silence(tx); len(tx.waits) > 0 {
		return
	}
	program := tx.rest
	tx.rest, tx.paused = nil, false
	m.run(m.jobOf(tx), program)
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
	if id := text(msg, proto.TxID); id != "" {
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
	if turn := text(msg, proto.TurnID); turn != "" {
		return only(func(tx Transaction) bool { return tx.TurnID == turn })
	}
	return only(func(Transaction) bool { return true })
}

// waiting returns the transactions that an answer of that subtype can belong to.
func (m *Machine) waiting(subtype string) (open []Transaction) {
	for _, tx := range m.txs {
		if tx.Asked && slices.Contains(answers[tx.Kind], subtype) {
			open = append(open, tx.Transaction)
		}
	}
	return open
}

// answered returns the transaction of an answer; nil if there is none.
func (m *Machine) answered(msg proto.Message) *transaction {
	open := m.waiting(Subtype(msg))
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

// conclude executes the program of an answer. It closes the transaction first, so that a second answer finds none.
func (m *Machine) conclude(tx *transaction, msg proto.Message) {
	program := m.o.Policy.Answered(m, tx.Transaction, msg)
	m.close(tx)
	j := m.jobOf(tx)
	j.msg, j.trigger = msg, Subtype(msg)
	m.run(j, program)
}
