package mutants

import (
	"cmp"
	"maps"
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// removeFaults ask for a removal too early, incorrectly, or not at all (4D).
var removeFaults = map[string]fault{
	"remove-without-cancel": begins(proto.RemoveAgent, orchestrator.TellBegun, orchestrator.Request,
		orchestrator.Unbind, orchestrator.FallBack),
	"remove-does-not-wait": begins(proto.RemoveAgent, orchestrator.Interrupt, orchestrator.TellBegun,
		orchestrator.Request, orchestrator.Unbind, orchestrator.FallBack),
	"remove-cancels-behind": begins(proto.RemoveAgent, orchestrator.TellBegun, orchestrator.Request,
		orchestrator.Unbind, orchestrator.FallBack, orchestrator.Interrupt),
	"remove-after-time-out":   ruling(rules{CancelTimeout: goesOn(proto.RemoveAgent)}),
	"remove-needs-cancel-ack": deciding(needsCancelAck(proto.RemoveAgent)),
	"cancel-moves-nothing":    ruling(rules{Stopped: turned(orchestrator.Cancel, orchestrator.TellCanceled)}),
	"remove-cancels-others": beginning(proto.RemoveAgent,
		cancelsIf(func(t turn, tx transaction) bool { return t.Agent != tx.Agent })),
	"remove-cancels-active": ruling(rules{Begin: cancelsActive}),
	"remove-cancels-idle":   beginning(proto.RemoveAgent, cancelsIdle),
	"remove-not-requested": begins(proto.RemoveAgent, orchestrator.Interrupt, orchestrator.Await,
		orchestrator.TellBegun, orchestrator.Unbind, orchestrator.FallBack),
	"remove-keeps-last":          deaf(removesLast),
	"remove-once-per-agent":      receiving(oncePerAgent),
	"final-ends-waiting":         ruling(rules{Output: endsWaiting(correct.Output)}),
	"error-ends-waiting":         ruling(rules{Error: endsWaiting(correct.Error)}),
	"second-cancel-ends-waiting": ruling(rules{Canceling: secondEndsWaiting}),
	"request-remove-active":      rewriting(proto.RequestRemoveAgent, nameActive),
}

// oncePerAgent takes an agent that was removed for removed, although it has been added again.
func oncePerAgent() inbound {
	gone := map[string]bool{}
	return func(v view, msg message) []message {
		agent := text(msg, "agent_id")
		if fromUser(proto.RemoveAgent)(v, msg) && gone[agent] {
			return nil
		}
		gone[agent] = gone[agent] || kindOf(msg) == proto.RemoveAgentDone
		return []message{msg}
	}
}

// endsWaiting forgets what waits for the ack of a turn when the turn has ended by itself.
func endsWaiting(program func(v view, t turn, msg message) []step) func(v view, t turn, msg message) []step {
	return func(v view, t turn, msg message) []step {
		steps := program(v, t, msg)
		if t.CancelSent && (slices.Contains(steps, orchestrator.Complete) || slices.Contains(steps, orchestrator.Fail)) {
			steps = append(slices.Clone(steps), orchestrator.Abandon)
		}
		return steps
	}
}

// secondEndsWaiting begins the wait for an ack anew, without what waited for it.
func secondEndsWaiting(v view, t turn) []step {
	if t.CancelSent {
		return []step{orchestrator.Interrupt, orchestrator.Abandon}
	}
	return correct.Canceling(v, t)
}

// waits reports whether a transaction of a kind has not asked yet.
func waits(v view, kind string) bool {
	return slices.ContainsFunc(v.Transactions(), func(tx transaction) bool { return tx.Kind == kind && !tx.Asked })
}

// goesOn lets transactions of a kind continue without the missing ack.
func goesOn(kind string) func(v view, t turn) []step {
	return func(v view, t turn) []step {
		if waits(v, kind) {
			return []step{orchestrator.TellCancelTimeout, orchestrator.Cancel, orchestrator.Resume}
		}
		return correct.CancelTimeout(v, t)
	}
}

// needsCancelAck lets STREAM_STOPPED end the turn but not continue transactions of a kind.
func needsCancelAck(kind string) func() rules {
	return func() rules {
		ack := ""
		return rules{
			Stops: func(v view, t turn, msg message) bool {
				ack = kindOf(msg)
				return correct.Stops(v, t, msg)
			},
			Stopped: func(v view, t turn) []step {
				if ack == proto.StreamStopped && waits(v, kind) {
					return []step{orchestrator.Cancel, orchestrator.TellCanceled}
				}
				return correct.Stopped(v, t)
			},
		}
	}
}

// cancelsIf cancels the speaking turns that match a transaction.
func cancelsIf(fits func(t turn, tx transaction) bool) func(v view, tx transaction) {
	return func(v view, tx transaction) {
		for _, t := range speakers(v) {
			if fits(t, tx) {
				v.Send(cancelOf(v, t))
			}
		}
	}
}

func anybody(turn, transaction) bool { return true }

// cancelsActive treats the active agent as the speaking one.
func cancelsActive(v view, tx transaction) []step {
	if tx.Kind != proto.RemoveAgent || tx.Agent == v.Active() {
		return correct.Begin(v, tx)
	}
	return without(correct.Begin(v, tx), orchestrator.Interrupt, orchestrator.Await)
}

// cancelsIdle asks every agent to stop before its removal, whether or not it speaks.
func cancelsIdle(v view, tx transaction) {
	if agent := cmp.Or(tx.Agent, v.Active()); len(v.Speaking()) == 0 && agent != "" {
		v.Send(cancelOf(v, turn{ID: "turn-" + tx.ID, TraceID: "trace-" + tx.ID, Agent: agent}))
	}
}

func removesLast(v view, msg message) bool {
	return fromUser(proto.RemoveAgent)(v, msg) && len(v.Agents()) == 1
}

func nameActive(v view, msg message) message {
	for _, agent := range v.Agents() {
		if agent != text(msg, "agent_id") {
			return named(msg, "agent_id", agent)
		}
	}
	return msg
}

// removedFaults misread the receipts of a removal, or report them incorrectly (RT-115 to RT-117).
var removedFaults = map[string]fault{
	"removed-at-once": begins(proto.RemoveAgent, orchestrator.Interrupt, orchestrator.Await, orchestrator.Request,
		orchestrator.Unbind, orchestrator.FallBack, orchestrator.TellDone),
	"remove-failed-is-done":   upon(proto.RemoveAgentFailed, orchestrator.TellDone),
	"remove-failed-both-told": upon(proto.RemoveAgentFailed, orchestrator.TellFailed, orchestrator.TellDone),
	"removed-stays-member":    runtime(staysMember),
	"removed-speaks-on": outputs(func(v view, t turn, msg message) bool {
		return t.Agent == msg.Sender && !v.Has(msg.Sender)
	}, orchestrator.Forward),
	"removals-first-asked":      ruling(rules{Correlate: firstOpen}),
	"removals-last-asked":       ruling(rules{Correlate: lastOpen}),
	"receipt-for-another-taken": ruling(rules{Correlate: onlyOpen}),
	"removals-done-together":    deciding(doneTogether),
	"one-transaction-at-a-time": deciding(oneAtATime),
	"receipts-of-any-kind":      taking(ofAnyKind),
}

// staysMember does not remove agents from the list.
func staysMember(o *options) {
	o.Policy = rules{Begin: func(v view, tx transaction) []step {
		if tx.Kind == proto.RemoveAgent {
			return without(correct.Begin(v, tx), orchestrator.Unbind)
		}
		return correct.Begin(v, tx)
	}, Fallback: func(v view, removed string) string {
		for _, agent := range v.Agents() {
			if agent != removed {
				return agent
			}
		}
		return ""
	}}
}

func firstOpen(_ view, _ message, open []transaction) string { return open[0].ID }

// onlyOpen takes a receipt for that of the only open request, whichever agent it names.
func onlyOpen(v view, msg message, open []transaction) string {
	if msg.Sender == proto.FromManager && len(open) == 1 {
		return open[0].ID
	}
	return correct.Correlate(v, msg, open)
}

func lastOpen(_ view, _ message, open []transaction) string { return open[len(open)-1].ID }

// doneTogether lets one receipt answer all removals.
func doneTogether() rules {
	told := map[string]bool{}
	return rules{Answered: func(v view, tx transaction, msg message) []step {
		if kindOf(msg) != proto.RemoveAgentDone {
			return correct.Answered(v, tx, msg)
		}
		if told[tx.ID] {
			return nil
		}
		for _, other := range v.Transactions() {
			if other.Kind == proto.RemoveAgent && other.ID != tx.ID {
				told[other.ID] = true
				v.Send(v.New(proto.Event, proto.AgentRemoved, proto.ToFrontend, "", object{"agent_id": other.Agent},
					ids{Tx: other.ID}))
			}
		}
		return correct.Answered(v, tx, msg)
	}}
}

// oneAtATime keeps only the last transaction.
func oneAtATime() rules {
	last := ""
	return rules{
		Begin: func(v view, tx transaction) []step {
			last = tx.ID
			return correct.Begin(v, tx)
		},
		Correlate: func(v view, msg message, open []transaction) string {
			if id := correct.Correlate(v, msg, open); id == last {
				return id
			}
			return ""
		},
	}
}

// ofAnyKind attributes a receipt to the oldest request, whatever its kind.
func ofAnyKind(v view, msg message) []message {
	done := map[string]string{proto.RemoveAgent: proto.RemoveAgentDone, proto.InviteAgent: proto.AddAgentDone}
	if kind := kindOf(msg); msg.Sender != proto.FromManager || kind != proto.RemoveAgentDone &&
		kind != proto.AddAgentDone {
		return []message{msg}
	}
	for _, tx := range v.Transactions() {
		if tx.Asked && done[tx.Kind] != "" {
			msg.Subtype = done[tx.Kind]
			msg.Metadata = maps.Clone(msg.Metadata)
			delete(msg.Metadata, "subtype")
			msg.Metadata[proto.TxID] = tx.ID
			return []message{named(msg, "agent_id", tx.Agent)}
		}
	}
	return []message{msg}
}

// fallbackFaults replace a removed active agent by the wrong one, or by none (RT-112).
var fallbackFaults = map[string]fault{
	"fallback-missing": begins(proto.RemoveAgent, orchestrator.Interrupt, orchestrator.Await, orchestrator.TellBegun,
		orchestrator.Request, orchestrator.Unbind),
	"fallback-not-told":      telling(func() outbound { return fallbackNotTold }),
	"fallback-only-told":     deciding(fallbackOnlyTold),
	"fallback-of-the-set-up": deciding(fallbackOfSetUp),
	"fallback-is-initial":    deciding(fallbackIsInitial),
	"fallback-to-nobody":     ruling(rules{Fallback: func(view, string) string { return "" }}),
	"fallback-to-removed":    telling(func() outbound { return fallbackToRemoved }),
	"fallback-told-of-other": telling(func() outbound { return fallbackToOther }),
	"fallback-for-any":       beginning(proto.RemoveAgent, fallbackForAny),
}

// fallsBack reports whether a message is the SWITCH_AGENT of a removal.
func fallsBack(msg message) bool {
	return kindOf(msg) == proto.SwitchAgent && payloadOf(msg)["trigger"] == proto.RemoveAgent
}

func fallbackNotTold(_ view, msg message, send sender) {
	if !fallsBack(msg) {
		send(msg)
	}
}

// fallbackOnlyTold publishes the new active agent but keeps using the old one.
func fallbackOnlyTold() rules {
	active := ""
	return rules{
		Fallback: func(v view, removed string) string {
			active = removed
			return correct.Fallback(v, removed)
		},
		Target: func(v view, msg message, mentioned string) string {
			if mentioned != "" {
				active = ""
			}
			return cmp.Or(mentioned, active, correct.Target(v, msg, ""))
		},
	}
}

func fallbackToRemoved(_ view, msg message, send sender) {
	if fallsBack(msg) {
		payload := maps.Clone(payloadOf(msg))
		payload["to"] = payload["from"]
		msg.Payload = payload
	}
	send(msg)
}

func fallbackToOther(v view, msg message, send sender) {
	if all := v.Agents(); fallsBack(msg) && len(all) > 1 {
		payload := maps.Clone(payloadOf(msg))
		payload["to"] = all[1]
		msg.Payload = payload
	}
	send(msg)
}

// fallbackForAny switches whichever agent is removed.
func fallbackForAny(v view, tx transaction) {
	if all := v.Agents(); tx.Agent != v.Active() && len(all) > 0 {
		v.Send(switchOf(v, tx.Agent, all[0]))
	}
}

// fallbackIsInitial falls back to the agent that was active first, without asking whether it is still there.
func fallbackIsInitial() rules {
	initial := ""
	return rules{
		Begin: func(v view, tx transaction) []step {
			initial = cmp.Or(initial, v.Active())
			return correct.Begin(v, tx)
		},
		Switch: func(v view, agent string, msg message) []step {
			initial = cmp.Or(initial, v.Active())
			return correct.Switch(v, agent, msg)
		},
		Fallback: func(v view, removed string) string {
			if initial != removed && len(v.Agents()) > 0 {
				return initial
			}
			return correct.Fallback(v, removed)
		},
	}
}

// fallbackOfSetUp chooses among all agents that the session has had.
func fallbackOfSetUp() rules {
	var all []string
	return rules{
		Begin: func(v view, tx transaction) []step {
			for _, agent := range v.Agents() {
				if !slices.Contains(all, agent) {
					all = append(all, agent)
				}
			}
			return correct.Begin(v, tx)
		},
		Fallback: func(v view, removed string) string {
			if len(v.Agents()) == 0 {
				return ""
			}
			return all[slices.IndexFunc(all, func(agent string) bool { return agent != removed })]
		},
	}
}
