package mutants

import (
	"cmp"
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// cancelFaults stop the wrong agent or none, or stop the right one with the wrong message (4C).
var cancelFaults = map[string]fault{
	"interrupt-passed-on":       deciding(interruptPassedOn),
	"interrupt-cancels-at-once": deciding(interruptAtOnce),
	"cancel-for-active":         ruling(rules{Cancels: forActive}),
	"cancel-if-active":          ruling(rules{Cancels: ifActive}),
	"cancel-for-latest-turn":    ruling(rules{Cancels: forLatest}),
	"cancel-for-first-turn":     telling(firstTurn),
	"cancel-to-active":          rewriting(proto.Cancel, toActiveAgent),
	"cancel-to-bystanders":      telling(alsoToOthers(proto.Cancel)),
	"cancel-without-speaker":    taking(cancelAnyway),
	"cancel-after-ack":          deciding(cancelAfterAck),
	"cancel-after-final":        deciding(cancelAfterFinal),
	"cancel-after-time-out":     deciding(pendingForever),
}

// pendingForever takes a cancel that was never acknowledged for one that is still under way, whichever turn is next.
func pendingForever() rules {
	pending := false
	return rules{
		CancelTimeout: func(v view, t turn) []step {
			pending = true
			return correct.CancelTimeout(v, t)
		},
		Canceling: func(v view, t turn) []step {
			if pending {
				return nil
			}
			return correct.Canceling(v, t)
		},
	}
}

// secondCancelTimesOut begins a transaction per request of the user, but an ack ends only the first: the second times
// out and publishes CANCELED again.
func secondCancelTimesOut() rules {
	twice, confirmed := map[string]bool{}, map[string]bool{}
	return rules{
		Cancels: func(v view, msg message) []string {
			all := correct.Cancels(v, msg)
			for _, id := range all {
				t, _ := v.Turn(id)
				twice[id] = t.CancelSent
			}
			return all
		},
		Stopped: func(v view, t turn) []step {
			if !twice[t.ID] || confirmed[t.ID] {
				return correct.Stopped(v, t)
			}
			confirmed[t.ID] = true
			return []step{orchestrator.TellCanceled, orchestrator.Resume}
		},
		CancelTimeout: func(v view, t turn) []step {
			if confirmed[t.ID] {
				return []step{orchestrator.TellCancelTimeout, orchestrator.Cancel, orchestrator.TellCanceled}
			}
			return correct.CancelTimeout(v, t)
		},
	}
}

// fromUser matches a CONTROL message from the frontend.
func fromUser(kind string) func(v view, msg message) bool {
	return func(_ view, msg message) bool {
		return msg.Sender == proto.FromFrontend && msg.Event == proto.Control && kindOf(msg) == kind
	}
}

// asked passes Canceling the subtype of the request, which it would not receive otherwise.
func asked(canceling func(kind string, v view, t turn) []step) rules {
	kind := ""
	return rules{
		Cancels: func(v view, msg message) []string {
			kind = kindOf(msg)
			return correct.Cancels(v, msg)
		},
		Canceling: func(v view, t turn) []step { return canceling(kind, v, t) },
	}
}

// interruptPassedOn passes the user's subtype on to the agent.
func interruptPassedOn() rules {
	return asked(func(kind string, v view, t turn) []step {
		if kind == proto.Interrupt {
			msg := cancelOf(v, t)
			msg.Subtype = proto.Interrupt
			v.Send(msg)
			return nil
		}
		return correct.Canceling(v, t)
	})
}

func interruptAtOnce() rules {
	return asked(func(kind string, v view, t turn) []step {
		if kind == proto.Interrupt {
			return []step{orchestrator.Interrupt, orchestrator.Cancel, orchestrator.TellCanceled, orchestrator.Resume}
		}
		return correct.Canceling(v, t)
	})
}

func forActive(v view, _ message) (all []string) {
	for _, t := range v.Turns() {
		if t.Agent == v.Active() {
			all = append(all, t.ID)
		}
	}
	return all
}

// ifActive cancels a speaking agent only while it is active.
func ifActive(v view, msg message) (some []string) {
	for _, id := range correct.Cancels(v, msg) {
		if t, _ := v.Turn(id); t.Agent == v.Active() {
			some = append(some, id)
		}
	}
	return some
}

func forLatest(v view, msg message) []string {
	if all := v.Turns(); len(all) > 0 && len(v.Speaking()) > 0 {
		return []string{all[len(all)-1].ID}
	}
	return correct.Cancels(v, msg)
}

// firstTurn always names the agent's first turn, from a stale cache.
func firstTurn() outbound {
	first := map[string]string{}
	return func(_ view, msg message, send sender) {
		switch kindOf(msg) {
		case proto.UserInput:
			first[msg.TargetID] = cmp.Or(first[msg.TargetID], text(msg, proto.TurnID))
		case proto.Cancel:
			msg = named(msg, proto.TurnID, first[msg.TargetID])
		}
		send(msg)
	}
}

// cancelAnyway asks the active agent to stop even though it does not speak.
func cancelAnyway(v view, msg message) []message {
	user := fromUser(proto.Cancel)(v, msg) || fromUser(proto.Interrupt)(v, msg)
	if user && msg.Target == proto.ToSystem && len(v.Turns()) == 0 && v.Active() != "" {
		v.Send(cancelOf(v, turn{ID: "turn-" + msg.ID, TraceID: "trace-" + msg.ID, Agent: v.Active()}))
	}
	return []message{msg}
}

// cancelAfterAck treats an agent as speaking after its ack.
func cancelAfterAck() rules {
	last := ""
	return rules{
		Stopped: func(v view, t turn) []step {
			last = t.ID
			return correct.Stopped(v, t)
		},
		Cancels: func(v view, msg message) []string {
			if len(v.Speaking()) == 0 && last != "" {
				return []string{last}
			}
			return correct.Cancels(v, msg)
		},
	}
}

// cancelAfterFinal treats an agent as speaking after its final.
func cancelAfterFinal() rules {
	last := ""
	return rules{
		Output: func(v view, t turn, msg message) []step {
			program := correct.Output(v, t, msg)
			if slices.Contains(program, orchestrator.Complete) && !t.CancelSent {
				last = t.ID
			}
			return program
		},
		Cancels: func(v view, msg message) []string {
			if len(v.Speaking()) == 0 && last != "" {
				return []string{last}
			}
			return correct.Cancels(v, msg)
		},
	}
}

// canceledFaults accept an invalid ack, ignore a valid one, or do not do what follows it (RT-102 to RT-105).
var canceledFaults = map[string]fault{
	"canceled-at-once": ruling(rules{Canceling: turned(orchestrator.Interrupt, orchestrator.Cancel,
		orchestrator.TellCanceled, orchestrator.Resume)}),
	"canceled-at-second-time-out": deciding(secondTimeoutStops),
	"canceled-at-time-out": ruling(rules{CancelTimeout: turned(orchestrator.Cancel, orchestrator.TellCanceled,
		orchestrator.Abandon)}),
	"canceled-by-second":     ruling(rules{Canceling: canceledBySecond}),
	"canceled-by-final":      ruling(rules{Output: canceledByFinal}),
	"canceled-by-next-chunk": outputs(askedToStop, orchestrator.Cancel, orchestrator.TellCanceled, orchestrator.Resume),
	"canceled-not-told":      ruling(rules{Stopped: turned(orchestrator.Cancel, orchestrator.Resume)}),
	"canceled-told-twice": ruling(rules{Stopped: turned(orchestrator.Cancel, orchestrator.TellCanceled,
		orchestrator.TellCanceled, orchestrator.Resume)}),
	"canceled-under-both":     telling(underBoth),
	"canceled-per-request":    deciding(canceledPerRequest),
	"second-cancel-times-out": deciding(secondCancelTimesOut),
	"stopped-by-anybody":      ruling(rules{Stops: func(_ view, t turn, _ message) bool { return t.CancelSent }}),
	"stopped-by-any-turn":     reading(of(proto.CancelAck, proto.StreamStopped), speakingTurn),
	"stopped-by-input-ack":    taking(inputAckStops),
	"output-after-ack":        outputs(afterEnd(orchestrator.Canceled, nil), orchestrator.Forward),
	"final-after-ack":         outputs(afterEnd(orchestrator.Canceled, orchestrator.IsFinal), orchestrator.Forward),
	"stopped-turn-goes-on":    ruling(rules{Stopped: turned(orchestrator.TellCanceled, orchestrator.Resume)}),
}

// canceledBySecond takes a second request as an order to stop waiting.
func canceledBySecond(v view, t turn) []step {
	if t.CancelSent {
		return []step{orchestrator.Cancel, orchestrator.TellCanceled, orchestrator.Resume}
	}
	return correct.Canceling(v, t)
}

// canceledByFinal treats the end of the stream as the ack.
func canceledByFinal(v view, t turn, msg message) []step {
	program := correct.Output(v, t, msg)
	if t.CancelSent && slices.Contains(program, orchestrator.Complete) {
		program = append(program, orchestrator.Cancel, orchestrator.TellCanceled, orchestrator.Resume)
	}
	return program
}

// askedToStop reports whether an output comes from an agent that was asked to stop.
func askedToStop(_ view, t turn, msg message) bool {
	return t.CancelSent && t.Status.InFlight() && t.Agent == msg.Sender
}

// underBoth publishes the event under its former name, too.
func underBoth() outbound {
	return func(_ view, msg message, send sender) {
		send(msg)
		if kindOf(msg) == proto.Canceled {
			msg.ID, msg.Subtype = msg.ID+"-old", proto.TurnCanceled
			send(msg)
		}
	}
}

// canceledPerRequest answers each CANCEL from the user.
func canceledPerRequest() rules {
	requests := map[string]int{}
	return rules{
		Canceling: func(v view, t turn) []step {
			requests[t.ID]++
			return correct.Canceling(v, t)
		},
		Stopped: func(v view, t turn) []step {
			program := correct.Stopped(v, t)
			for range requests[t.ID] - 1 {
				program = append(program, orchestrator.TellCanceled)
			}
			return program
		},
	}
}

// speakingTurn attributes an ack to the agent's turn that is being canceled.
func speakingTurn(v view, msg message) message {
	for _, t := range v.Turns() {
		if t.Agent == msg.Sender && t.CancelSent {
			return named(msg, proto.TurnID, t.ID)
		}
	}
	return msg
}

// inputAckStops accepts any ack of a turn for the awaited one.
func inputAckStops(v view, msg message) []message {
	if t, ok := v.Turn(text(msg, proto.TurnID)); kindOf(msg) == proto.InputAck && ok && t.Waiting == proto.CancelAck {
		msg.Subtype = proto.CancelAck
	}
	return []message{msg}
}

// secondTimeoutStops takes a turn for stopped whose CANCEL goes unacknowledged for the second time.
func secondTimeoutStops() rules {
	before := map[string]bool{}
	return rules{CancelTimeout: func(v view, t turn) []step {
		if before[t.ID] {
			return correct.Stopped(v, t)
		}
		before[t.ID] = true
		return correct.CancelTimeout(v, t)
	}}
}
