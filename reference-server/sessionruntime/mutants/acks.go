package mutants

import (
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// ackFaults accept an invalid INPUT_ACK, or do not accept a valid one (4A).
var ackFaults = map[string]fault{
	"ack-does-not-run": ruling(rules{Acked: turned(orchestrator.TellStarted)}),
	"ack-of-anybody": ruling(rules{Acks: func(_ view, t turn, _ message) bool {
		return t.Status == orchestrator.Routing
	}}),
	"ack-by-foreign-output": outputs(foreignOutput, orchestrator.Start),
	"ack-of-active-only":    ruling(rules{Acks: ackOfActive}),
	"ack-for-oldest":        reading(of(proto.InputAck), forOldest),
	"ack-for-newest":        reading(of(proto.InputAck), forNewest),
	"ack-only-of-mentioned": deciding(ackOfMentioned),
	"cancel-ack-is-ack":     taking(cancelAckIsAck),
	"started-before-ack":    ruling(rules{Input: startedAtOnce, Acked: turned(orchestrator.Start)}),
}

func ackOfActive(v view, t turn, msg message) bool {
	return correct.Acks(v, t, msg) && msg.Sender == v.Active()
}

// foreignOutput matches another agent's output for a turn that awaits its ack.
func foreignOutput(_ view, t turn, msg message) bool {
	return t.Status == orchestrator.Routing && t.Agent != msg.Sender
}

// forOldest attributes an ack to the input that has waited longest.
func forOldest(v view, msg message) message {
	for _, t := range v.Turns() {
		if t.Waiting == proto.InputAck {
			msg.Sender = t.Agent
			return named(msg, proto.TurnID, t.ID)
		}
	}
	return msg
}

// forNewest attributes an ack to the latest input of its agent that has none.
func forNewest(v view, msg message) message {
	for _, t := range slices.Backward(v.Turns()) {
		if t.Waiting == proto.InputAck && t.Agent == msg.Sender {
			return named(msg, proto.TurnID, t.ID)
		}
	}
	return msg
}

// ackOfMentioned times out only plain inputs: the handler of mentions has its own timer, which never starts.
func ackOfMentioned() rules {
	mentioned := map[string]bool{}
	return rules{
		Input: func(v view, t turn, mention bool) []step {
			mentioned[t.ID] = mention
			return correct.Input(v, t, mention)
		},
		RouteTimeout: func(v view, t turn) []step {
			if mentioned[t.ID] {
				return nil
			}
			return correct.RouteTimeout(v, t)
		},
	}
}

// cancelAckIsAck accepts any ack of a turn for the awaited one.
func cancelAckIsAck(v view, msg message) []message {
	if t, ok := v.Turn(text(msg, proto.TurnID)); kindOf(msg) == proto.CancelAck && ok && t.Waiting == proto.InputAck {
		msg.Subtype = proto.InputAck
	}
	return []message{msg}
}

func startedAtOnce(v view, t turn, mention bool) []step {
	return append(slices.Clone(correct.Input(v, t, mention)), orchestrator.TellStarted)
}

// timeoutFaults wait for an INPUT_ACK too briefly, too long or without effect (RT-078).
var timeoutFaults = map[string]fault{
	"timeout-never":    ruling(rules{RouteTimeout: turned()}),
	"timeout-not-told": ruling(rules{RouteTimeout: turned(orchestrator.Fail)}),
	"timeout-told-twice": ruling(rules{RouteTimeout: turned(orchestrator.Fail, orchestrator.TellRouteTimeout,
		orchestrator.TellRouteTimeout)}),
	"timeout-fails-nothing": ruling(rules{RouteTimeout: turned(orchestrator.TellRouteTimeout)}),
	"timeout-too-early":     runtime(func(o *options) { o.InputAck /= 10 }),
	"timeout-in-other-unit": runtime(func(o *options) { o.InputAck /= 1000 }),
	"timeout-names-trace": rewriting(proto.RouteTimeout, func(_ view, msg message) message {
		return named(msg, proto.TurnID, text(msg, proto.TraceID))
	}),
	"timeout-routes-again":      runtime(routesAgain),
	"timeout-although-speaking": skipping(orchestrator.Start, anyOutput),
	"late-ack-revives":          deciding(lateAckRevives),
	"late-ack-starts":           ruling(rules{Acks: lateAck}),
	"unacked-chunk-swallowed":   outputs(firstChunk, orchestrator.Start, orchestrator.TellStarted, orchestrator.Speak),
	"timed-out-agent-shunned":   deciding(shunned),
	"one-timer-per-agent":       ruling(rules{RouteTimeout: oneTimer}),
}

// oneTimer has a timer for each agent, which the next input starts anew for its own turn.
func oneTimer(v view, t turn) []step {
	later := false
	for _, other := range v.Turns() {
		if later && other.Agent == t.Agent {
			return nil
		}
		later = later || other.ID == t.ID
	}
	return correct.RouteTimeout(v, t)
}

// routesAgain tries once more before it gives up.
func routesAgain(o *options) {
	sent := map[string]message{}
	o.Outbound = func(_ view, msg message, send sender) {
		if kindOf(msg) == proto.UserInput {
			sent[text(msg, proto.TurnID)] = msg
		}
		send(msg)
	}
	o.Policy = rules{RouteTimeout: func(v view, t turn) []step {
		if msg, ok := sent[t.ID]; ok {
			msg.ID += "-again"
			v.Send(msg)
		}
		return correct.RouteTimeout(v, t)
	}}
}

// lateAckRevives lets an ack start a failed turn.
func lateAckRevives() rules {
	revived := map[string]bool{}
	return rules{
		Acks: func(v view, t turn, msg message) bool {
			revived[t.ID] = revived[t.ID] || t.Status == orchestrator.Failed && t.Agent == msg.Sender
			return correct.Acks(v, t, msg)
		},
		Output: func(v view, t turn, msg message) []step {
			if revived[t.ID] && t.Agent == msg.Sender {
				return []step{orchestrator.Forward}
			}
			return correct.Output(v, t, msg)
		},
	}
}

func lateAck(v view, t turn, msg message) bool {
	return correct.Acks(v, t, msg) || t.Status == orchestrator.Failed && t.Agent == msg.Sender
}

// firstChunk matches a chunk that arrives instead of the ack.
func firstChunk(_ view, t turn, msg message) bool {
	return t.Status == orchestrator.Routing && t.Agent == msg.Sender && !orchestrator.IsFinal(msg)
}

// shunned sends nothing more to an agent that has once failed to answer.
func shunned() rules {
	silent := map[string]bool{}
	return rules{
		RouteTimeout: func(v view, t turn) []step {
			silent[t.Agent] = true
			return correct.RouteTimeout(v, t)
		},
		Target: func(v view, msg message, mentioned string) string {
			agent := correct.Target(v, msg, mentioned)
			if silent[agent] {
				return ""
			}
			return agent
		},
	}
}
