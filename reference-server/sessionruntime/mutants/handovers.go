package mutants

import (
	"maps"
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// handoverFaults hand over too early, too late, or unasked (4F).
var handoverFaults = map[string]fault{
	"handover-reads-to-agent": reading(of(proto.HandoverRequest), otherTarget),
	"handover-unasked": begins(proto.HandoverRequest, orchestrator.Activate, orchestrator.TellSwitch,
		orchestrator.GiveContext),
	"handover-before-answer": begins(proto.HandoverRequest, orchestrator.Prompt, orchestrator.Activate,
		orchestrator.TellSwitch),
	"context-before-answer": begins(proto.HandoverRequest, orchestrator.Prompt, orchestrator.GiveContext),
	"handover-in-silence":   begins(proto.HandoverRequest, orchestrator.Prompt, orchestrator.Activate),
	"handover-cancels": beginning(proto.HandoverRequest,
		cancelsIf(func(t turn, tx transaction) bool { return t.Agent == tx.From })),
	"confirm-not-told":         upon(proto.HandoverConfirm, orchestrator.Activate, orchestrator.GiveContext),
	"confirm-only-told":        upon(proto.HandoverConfirm, orchestrator.TellSwitch, orchestrator.GiveContext),
	"confirm-switches-nothing": upon(proto.HandoverConfirm, orchestrator.GiveContext),
	"confirm-without-context":  upon(proto.HandoverConfirm, orchestrator.Activate, orchestrator.TellSwitch),
	"confirm-context-first": upon(proto.HandoverConfirm, orchestrator.GiveContext, orchestrator.Activate,
		orchestrator.TellSwitch),
	"confirm-told-twice": upon(proto.HandoverConfirm, orchestrator.Activate, orchestrator.TellSwitch,
		orchestrator.TellSwitch, orchestrator.GiveContext),
	"confirm-twice-hands-twice": runtime(confirmsTwice(proto.HandoverConfirm)),
	"reject-switches":           upon(proto.HandoverReject, orchestrator.Activate, orchestrator.TellSwitch),
	"reject-is-confirm": upon(proto.HandoverReject, orchestrator.Activate, orchestrator.TellSwitch,
		orchestrator.GiveContext),
	"reject-gives-context":     upon(proto.HandoverReject, orchestrator.GiveContext),
	"confirm-trusted":          taking(confirmTrusted),
	"confirm-of-any-handover":  taking(confirmOfAny),
	"reject-switches-silently": upon(proto.HandoverReject, orchestrator.Activate),
	"confirm-of-the-latest":    ruling(rules{Correlate: confirmOfLatest}),
	"handover-one-at-a-time":   deaf(secondHandover),
	"reject-ends-all":          deciding(rejectEndsAll),
}

// secondHandover matches a request that comes while the user has not answered another one.
func secondHandover(v view, msg message) bool {
	return kindOf(msg) == proto.HandoverRequest && slices.ContainsFunc(v.Transactions(), func(tx transaction) bool {
		return tx.Kind == proto.HandoverRequest && tx.TurnID != text(msg, proto.TurnID)
	})
}

// rejectEndsAll forgets all open handovers when one is rejected.
func rejectEndsAll() rules {
	over := map[string]bool{}
	return rules{
		Answered: func(v view, tx transaction, msg message) []step {
			if kindOf(msg) == proto.HandoverReject {
				for _, other := range v.Transactions() {
					over[other.ID] = over[other.ID] || other.Kind == proto.HandoverRequest
				}
			}
			return correct.Answered(v, tx, msg)
		},
		Correlate: func(v view, msg message, open []transaction) string {
			if id := correct.Correlate(v, msg, open); !over[id] {
				return id
			}
			return ""
		},
	}
}

// confirmOfLatest keeps one prompt: the confirmation of an earlier one is taken for that of the latest.
func confirmOfLatest(v view, msg message, open []transaction) string {
	id := correct.Correlate(v, msg, open)
	if id != "" && kindOf(msg) == proto.HandoverConfirm {
		return open[len(open)-1].ID
	}
	return id
}

// confirmTrusted executes any confirmation, whether or not it is expected.
func confirmTrusted(v view, msg message) []message {
	to := text(msg, "target_agent")
	if kindOf(msg) != proto.HandoverConfirm || to == "" ||
		slices.ContainsFunc(v.Transactions(), func(tx transaction) bool { return tx.ID == text(msg, proto.TxID) }) {
		return []message{msg}
	}
	v.Send(switchOf(v, v.Active(), to))
	v.Send(v.New(proto.Control, proto.HandoverContext, proto.ToAgent, to, object{"last_output": v.LastOutput(v.Active())},
		ids{Tx: text(msg, proto.TxID)}))
	return nil
}

// confirmOfAny accepts the confirmation of another handover for the pending one.
func confirmOfAny(v view, msg message) []message {
	for _, tx := range v.Transactions() {
		if tx.Kind == proto.HandoverRequest && kindOf(msg) == proto.HandoverConfirm {
			msg = named(msg, proto.TxID, tx.ID)
		}
	}
	return []message{msg}
}

// otherTarget reads the target from a member of another name.
func otherTarget(_ view, msg message) message {
	payload, metadata := maps.Clone(payloadOf(msg)), maps.Clone(msg.Metadata)
	for _, name := range []string{"target_agent", "target_agent_id"} {
		delete(payload, name)
		delete(metadata, name)
	}
	msg.Payload, msg.Metadata = payload, metadata
	return msg
}

// confirmsTwice executes a confirmation even if the same answer has already ended its transaction.
func confirmsTwice(answer string) func(o *options) {
	return func(o *options) {
		over := map[string]transaction{}
		o.Policy = rules{Answered: func(v view, tx transaction, msg message) []step {
			if kindOf(msg) == answer {
				over[tx.ID] = tx
			}
			return correct.Answered(v, tx, msg)
		}}
		o.Inbound = func(v view, msg message) []message {
			if tx, was := over[text(msg, proto.TxID)]; kindOf(msg) == proto.HandoverConfirm && was {
				v.Send(switchOf(v, tx.From, tx.Agent))
				v.Send(v.New(proto.Control, proto.HandoverContext, proto.ToAgent, tx.Agent,
					object{"last_output": v.LastOutput(tx.From)}, ids{Tx: tx.ID}))
				return nil
			}
			return []message{msg}
		}
	}
}

// promptFaults send a wrong prompt, or none (RT-131, RT-132).
var promptFaults = map[string]fault{
	"prompt-without-target":    rewriting(proto.HandoverUIPrompt, promptWithoutTarget),
	"prompt-without-reference": rewriting(proto.HandoverUIPrompt, promptWithoutReference),
	"prompt-after-final":       delayedPrompt(),
}

func promptWithoutTarget(_ view, msg message) message {
	for _, name := range []string{"target_agent", "target_agent_id"} {
		msg = unnamed(msg, name)
	}
	return msg
}

func promptWithoutReference(_ view, msg message) message {
	for _, name := range []string{"summary", "last_output", proto.TurnID} {
		msg = unnamed(msg, name)
	}
	return msg
}

// delayedPrompt prompts only when the requesting agent has ended its turn.
func delayedPrompt() fault {
	return telling(func() outbound {
		var held []message
		return func(v view, msg message, send sender) {
			if kindOf(msg) == proto.HandoverUIPrompt && len(v.Speaking()) > 0 {
				held = append(held, msg)
				return
			}
			send(msg)
			if kindOf(msg) == proto.AgentOutput && orchestrator.IsFinal(msg) {
				for _, msg := range held {
					send(msg)
				}
				held = nil
			}
		}
	})
}

// contextFaults give the new agent no context, or give it to another agent (RT-129, RT-135).
var contextFaults = map[string]fault{
	"context-of-new-agent":     rewriting(proto.HandoverContext, ofNewAgent),
	"context-of-latest-output": telling(ofLatestOutput),
	"context-of-first-turn":    telling(ofFirstTurn),
	"context-first-piece-only": spoiling(proto.HandoverContext, firstPiece),
	"context-of-reason-alone":  rewriting(proto.HandoverContext, reasonAlone),
}

func ofNewAgent(v view, msg message) message {
	payload := maps.Clone(payloadOf(msg))
	payload["last_output"] = v.LastOutput(msg.TargetID)
	msg.Payload = payload
	return msg
}

// ofLatestOutput hands over what the session has said last, whichever agent it was.
func ofLatestOutput() outbound {
	var last any
	return func(_ view, msg message, send sender) {
		switch kindOf(msg) {
		case proto.AgentOutput:
			last = msg.Payload
		case proto.HandoverContext:
			msg = with(msg, "last_output", []any{last})
		}
		send(msg)
	}
}

// ofFirstTurn hands over what an agent has said in its first turn.
func ofFirstTurn() outbound {
	first := map[string]any{}
	return func(v view, msg message, send sender) {
		t, _ := v.Turn(text(msg, proto.TurnID))
		switch kindOf(msg) {
		case proto.AgentOutput:
			if first[t.Agent] == nil {
				first[t.Agent] = msg.Payload
			}
		case proto.HandoverContext:
			msg = with(msg, "last_output", []any{first[text(msg, "from_agent")]})
		}
		send(msg)
	}
}

// with sets a member of the payload.
func with(msg message, name string, value any) message {
	payload := maps.Clone(payloadOf(msg))
	payload[name] = value
	msg.Payload = payload
	return msg
}

func firstPiece(payload object) {
	if all, _ := payload["last_output"].([]any); len(all) > 1 {
		payload["last_output"] = all[:1]
	}
}

func reasonAlone(_ view, msg message) message {
	msg.Payload = object{"reason": text(msg, "reason"), "turn_id": text(msg, proto.TurnID)}
	return msg
}
