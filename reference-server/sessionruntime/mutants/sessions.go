package mutants

import (
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// sessionFaults open or close a session too early, incorrectly, or not at all (4H).
var sessionFaults = map[string]fault{
	"open-ignored":       deafTo(proto.SessionOpen),
	"close-ignored":      deafTo(proto.SessionClose),
	"open-not-requested": begins(proto.SessionOpen, orchestrator.TellDone),
	"opened-at-once":     begins(proto.SessionOpen, orchestrator.Request, orchestrator.TellDone),
	"closed-at-once": begins(proto.SessionClose, orchestrator.Interrupt, orchestrator.Await,
		orchestrator.Request, orchestrator.TellDone),
	"close-without-cancel":        begins(proto.SessionClose, orchestrator.Request),
	"close-does-not-wait":         begins(proto.SessionClose, orchestrator.Interrupt, orchestrator.Request),
	"close-cancels-behind":        begins(proto.SessionClose, orchestrator.Request, orchestrator.Interrupt),
	"close-after-time-out":        ruling(rules{CancelTimeout: goesOn(proto.SessionClose)}),
	"close-after-first-ack":       runtime(closesAfterFirst),
	"close-behind-cancel":         ruling(rules{Begin: closesBehindCancel}),
	"close-needs-cancel-ack":      deciding(needsCancelAck(proto.SessionClose)),
	"close-cancels-idle":          beginning(proto.SessionClose, cancelsIdle),
	"open-cancels":                beginning(proto.SessionOpen, cancelsIf(anybody)),
	"open-waits-for-speech":       ruling(rules{Begin: openAsClose}),
	"opened-ignored":              deafTo(proto.SessionOpened),
	"closed-ignored":              deafTo(proto.SessionClosed),
	"session-failed-ignored":      deafTo(proto.SessionFailed),
	"session-receipt-of-any-kind": runtime(receiptOfAnyKind),
	"session-failed-is-done":      upon(proto.SessionFailed, orchestrator.TellDone),
	"opened-told-twice":           upon(proto.SessionOpened, orchestrator.TellDone, orchestrator.TellDone),
	"opened-passed-on":            as(proto.Control, proto.SessionOpened),
	"session-failed-to-system":    elsewhere(proto.SessionFailed, proto.ToSystem),
	"request-open-named-load":     renamed(proto.RequestSessionOpen, "REQUEST_SESSION_LOAD"),
	"request-open-twice":          twice(proto.RequestSessionOpen),
	"request-close-broadcast":     elsewhere(proto.RequestSessionClose, proto.ToBroadcast),
	"close-requests-open":         renamed(proto.RequestSessionClose, proto.RequestSessionOpen),
	"close-removes-before-it-ask": beginning(proto.SessionClose, closeRemoves),
}

// receiptOfAnyKind lets SESSION_OPENED end a request to close: one handler passes all receipts on.
func receiptOfAnyKind(o *options) {
	over := map[string]bool{}
	o.Inbound = func(v view, msg message) []message {
		if kindOf(msg) != proto.SessionOpened || msg.Sender != proto.FromManager || msg.Target != proto.ToSystem {
			return []message{msg}
		}
		for _, tx := range v.Transactions() {
			if tx.Kind == proto.SessionOpen {
				return []message{msg}
			}
			over[tx.ID] = over[tx.ID] || tx.Kind == proto.SessionClose && tx.Asked
		}
		return []message{msg}
	}
	o.Policy = rules{Correlate: func(v view, msg message, open []transaction) string {
		if id := correct.Correlate(v, msg, open); !over[id] {
			return id
		}
		return ""
	}}
}

// closesAfterFirst cancels all speaking turns but waits for only one of them.
func closesAfterFirst(o *options) {
	early := false
	o.Outbound = func(_ view, msg message, send sender) {
		if kindOf(msg) == proto.RequestSessionClose && early {
			early = false
			return
		}
		send(msg)
	}
	o.Policy = rules{Stopped: func(v view, t turn) []step {
		others := slices.DeleteFunc(speakers(v), func(o turn) bool { return o.ID == t.ID })
		for _, tx := range v.Transactions() {
			if tx.Kind == proto.SessionClose && !tx.Asked && len(others) > 0 && !early {
				v.Send(v.New(proto.Control, proto.RequestSessionClose, proto.ToSystem, "", object{"session_id": v.SessionID()},
					ids{Tx: tx.ID}))
				early = true
			}
		}
		return correct.Stopped(v, t)
	}}
}

// closesBehindCancel does not wait for the acks of cancels that were sent before.
func closesBehindCancel(v view, tx transaction) []step {
	untold := func(t turn) bool { return !t.CancelSent }
	if tx.Kind == proto.SessionClose && v.Interruptible() && !slices.ContainsFunc(speakers(v), untold) {
		return []step{orchestrator.Request}
	}
	return correct.Begin(v, tx)
}

// openAsClose opens nothing while an agent is speaking.
func openAsClose(v view, tx transaction) []step {
	if tx.Kind == proto.SessionOpen && len(v.Speaking()) > 0 {
		return nil
	}
	return correct.Begin(v, tx)
}

// closeRemoves removes the agents first.
func closeRemoves(v view, tx transaction) {
	for _, agent := range v.Agents() {
		payload := object{"session_id": v.SessionID(), "agent_id": agent, "reason": "close"}
		v.Send(v.New(proto.Control, proto.RequestRemoveAgent, proto.ToSystem, "", payload, ids{Tx: tx.ID + agent}))
	}
}
