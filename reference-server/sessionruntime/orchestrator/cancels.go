package orchestrator

import (
	"cmp"
	"slices"

	proto "parley/protocol/sessionruntime"
)

// correctCancels returns the named turn, else the one that spoke last, provided that it is speaking.
func correctCancels(v View, msg proto.Message) []string {
	speaking := v.Speaking()
	if len(speaking) == 0 {
		return nil
	}
	if id := text(msg, proto.TurnID); id != "" {
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

// cancel handles CANCEL and INTERRUPT from the frontend (4C).
func (m *Machine) cancel(msg proto.Message) {
	found := false
	for _, id := range m.o.Policy.Cancels(m, msg) {
		if t := m.turns[id]; t != nil {
			found = true
			m.run(&job{t: t, msg: msg}, m.o.Policy.Canceling(m, t.view()))
		}
	}
	if !found {
		m.tell(proto.NobodySpeaks, object{"message_id": msg.ID}, idsOf(msg))
	}
}

// interrupt sends a CANCEL, unless one is in flight.
func (m *Machine) interrupt(t *turn, txID, reason string) {
	if t.Waiting == proto.CancelAck {
		return
	}
	t.cancelTx = cmp.Or(txID, m.o.NewID())
	t.CancelSent = true
	if t.open {
		m.wait(t, proto.CancelAck, m.o.CancelAck)
	}
	ids := t.ids()
	ids.Tx = t.cancelTx
	payload := object{"turn_id": t.ID, "agent_id": t.Agent, "reason": reason}
	m.emit(m.New(proto.Control, proto.Cancel, proto.ToAgent, t.Agent, payload, ids))
	m.tell(proto.CancelSent, object{"turn_id": t.ID, "agent_id": t.Agent}, ids)
}

// stopped handles CANCEL_ACK and STREAM_STOPPED.
func (m *Machine) stopped(msg proto.Message) {
	t := m.turnOf(msg, func(t *turn) bool {
		tx := text(msg, proto.TxID)
		return t.CancelSent && (tx == "" || tx == t.cancelTx)
	})
	if t != nil && m.o.Policy.Stops(m, t.view(), msg) {
		m.run(&job{t: t, msg: msg}, m.o.Policy.Stopped(m, t.view()))
	}
}

// canceled ends a turn; one that ended by itself before the ack keeps its status.
func (m *Machine) canceled(t *turn) {
	m.end(t, Canceled)
	t.CancelSent = false
	if t.Waiting == proto.CancelAck {
		m.unwait(t)
	}
}

func (m *Machine) tellCanceled(t *turn) {
	ids := t.ids()
	ids.Tx = t.cancelTx
	m.tell(proto.Canceled, object{"turn_id": t.ID, "agent_id": t.Agent, "status": string(t.Status)}, ids)
}

// resume continues the transactions that waited for a turn's ack.
func (m *Machine) resume(t *turn) {
	for _, tx := range slices.Clone(m.txs) {
		if i := slices.Index(tx.waits, t); i >= 0 {
			tx.waits = slices.Delete(tx.waits, i, i+1)
			m.proceed(tx)
		}
	}
}

// abandon ends the transactions that wait for a turn's ack.
func (m *Machine) abandon(t *turn) {
	for _, tx := range slices.Clone(m.txs) {
		if tx.paused && slices.Contains(tx.waits, t) {
			m.close(tx)
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
	ids := t.ids()
	ids.Tx = t.cancelTx
	m.fail(proto.CancelTimeout, "the agent did not acknowledge CANCEL in time: nothing was canceled, try again",
		object{"turn_id": t.ID, "agent_id": t.Agent, "given_up": over}, ids)
}
