package mutants

import (
	"cmp"
	"reflect"
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// outputFaults do not forward an agent's output, or forward it late, out of order, or to the wrong party (4G).
var outputFaults = map[string]fault{
	"chunks-not-forwarded": skipping(orchestrator.Forward, func(_ turn, msg message) bool {
		return !orchestrator.IsFinal(msg)
	}),
	"finals-not-forwarded": skipping(orchestrator.Forward, func(_ turn, msg message) bool {
		return orchestrator.IsFinal(msg) && streamed(msg)
	}),
	"lone-finals-not-forwarded": skipping(orchestrator.Forward, func(_ turn, msg message) bool { return !streamed(msg) }),
	"lone-finals-are-nothing": deaf(func(_ view, msg message) bool {
		return kindOf(msg) == proto.AgentOutput && !streamed(msg)
	}),
	"chunks-with-final":      telling(chunksWithFinal),
	"output-one-behind":      telling(oneBehind),
	"output-out-of-order":    telling(outOfOrder),
	"output-to-agent":        rewriting(proto.AgentOutput, toActiveAgent),
	"output-invented":        ruling(rules{Acked: invents}),
	"output-of-active-only":  outputs(ofInactive, orchestrator.Report),
	"output-of-one-speaker":  outputs(besideSpeaker, orchestrator.Report),
	"output-by-metadata":     reading(of(proto.AgentOutput), senderByMetadata),
	"output-same-words-once": deciding(sameWordsOnce),
	"output-empty-dropped": skipping(orchestrator.Forward, func(_ turn, msg message) bool {
		return msg.Payload == "" || payloadOf(msg)["text"] == ""
	}),
	"output-waits-for-start": ruling(rules{Output: secondOnward}),
}

// streamed reports whether an output is one of several.
func streamed(msg message) bool {
	stream, _ := msg.Metadata[proto.Stream].(object)
	chunk, _ := stream[proto.IsChunk].(bool)
	return chunk
}

// chunksWithFinal collects output and forwards it when complete.
func chunksWithFinal() outbound {
	held := map[string][]message{}
	return func(_ view, msg message, send sender) {
		if id := text(msg, proto.TurnID); kindOf(msg) == proto.AgentOutput {
			held[id] = append(held[id], msg)
			if !orchestrator.IsFinal(msg) {
				return
			}
			for _, msg := range held[id] {
				send(msg)
			}
			delete(held, id)
			return
		}
		send(msg)
	}
}

// oneBehind flushes its buffer only when more output arrives.
func oneBehind() outbound {
	var held []message
	return func(_ view, msg message, send sender) {
		if kindOf(msg) != proto.AgentOutput {
			send(msg)
			return
		}
		for _, msg := range held {
			send(msg)
		}
		if held = nil; orchestrator.IsFinal(msg) {
			send(msg)
			return
		}
		held = append(held, msg)
	}
}

// outOfOrder reorders the second and third piece of a turn.
func outOfOrder() outbound {
	count := map[string]int{}
	held := map[string][]message{}
	return func(_ view, msg message, send sender) {
		id := text(msg, proto.TurnID)
		if kindOf(msg) == proto.AgentOutput && !orchestrator.IsFinal(msg) {
			if count[id]++; count[id] == 3 {
				held[id] = append(held[id], msg)
				return
			}
		}
		send(msg)
		if kindOf(msg) == proto.AgentOutput {
			for _, msg := range held[id] {
				send(msg)
			}
			delete(held, id)
		}
	}
}

// invents sends output before the agent does.
func invents(v view, t turn) []step {
	v.Send(v.New(proto.AgentOutput, "", proto.ToFrontend, "", object{"text": "I am thinking about it."}, idsOf(t)))
	return correct.Acked(v, t)
}

func ofInactive(v view, _ turn, msg message) bool {
	return v.Active() != "" && msg.Sender != v.Active()
}

func besideSpeaker(v view, _ turn, msg message) bool {
	speaker := v.SpeakingAgent()
	return speaker != "" && speaker != msg.Sender
}

// senderByMetadata takes the sender from a member that agents need not set.
func senderByMetadata(_ view, msg message) message {
	msg.Sender = cmp.Or(text(msg, "agent_id"), "unknown")
	return msg
}

// sameWordsOnce recognizes forwarded output by its payload.
func sameWordsOnce() rules {
	last := map[string]any{}
	return rules{Output: func(v view, t turn, msg message) []step {
		program := correct.Output(v, t, msg)
		if before, ok := last[t.ID]; ok && reflect.DeepEqual(before, msg.Payload) {
			return without(program, orchestrator.Forward)
		}
		last[t.ID] = msg.Payload
		return program
	}}
}

// secondOnward treats the first piece only as a sign that output will follow.
func secondOnward(v view, t turn, msg message) []step {
	program := correct.Output(v, t, msg)
	if t.LastOutput.IsZero() && !t.Speaking && slices.Contains(program, orchestrator.Speak) {
		return without(program, orchestrator.Forward)
	}
	return program
}

// checkFaults forward output of no turn, or of another agent's (RT-141).
var checkFaults = map[string]fault{
	"output-not-checked": outputs(func(_ view, t turn, msg message) bool {
		return !own(t, msg)
	}, orchestrator.Forward),
	"output-of-any-agent": ruling(rules{Output: anyAgent}),
	"output-of-members": outputs(func(v view, t turn, msg message) bool {
		return v.Has(msg.Sender) && foreign(t, msg)
	}, orchestrator.Forward),
	"output-of-unknown-turns": outputs(func(_ view, t turn, _ message) bool { return t.ID == "" }, orchestrator.Forward),
	"output-after-final":      outputs(afterEnd(orchestrator.Completed, nil), orchestrator.Forward),
	"final-after-final":       outputs(afterEnd(orchestrator.Completed, orchestrator.IsFinal), orchestrator.Forward),
	"output-after-time-out":   outputs(afterEnd(orchestrator.Failed, nil), orchestrator.Forward),
	"foreign-final-completes": outputs(func(_ view, t turn, msg message) bool {
		return foreign(t, msg) && orchestrator.IsFinal(msg)
	}, orchestrator.Complete),
	"foreign-chunk-forwarded": outputs(anyChunk, orchestrator.Speak, orchestrator.Forward),
	"unknown-becomes-turn":    deciding(unknownBecomesTurn),
}

func anyAgent(v view, t turn, msg message) []step {
	if t.ID != "" {
		msg.Sender = t.Agent
	}
	return correct.Output(v, t, msg)
}

// own reports whether an output comes from the agent of a turn in flight, and foreign whether it comes from another
// agent.
func own(t turn, msg message) bool     { return t.Status.InFlight() && t.Agent == msg.Sender }
func foreign(t turn, msg message) bool { return t.Status.InFlight() && t.Agent != msg.Sender }

// afterEnd matches output of turns that ended with the status; a nil some matches all of it.
func afterEnd(how orchestrator.Status, some func(msg message) bool) func(v view, t turn, msg message) bool {
	return func(_ view, t turn, msg message) bool {
		return t.Status == how && t.Agent == msg.Sender && (some == nil || some(msg))
	}
}

// anyChunk matches a chunk of a turn in flight from any sender: the agent is checked only when a turn ends.
func anyChunk(_ view, t turn, msg message) bool { return t.Status.InFlight() && isChunk(msg) }

// unknownBecomesTurn treats the sender of output for an unknown turn as speaking.
func unknownBecomesTurn() rules {
	var speaker turn
	return rules{
		Output: func(v view, t turn, msg message) []step {
			if t.ID == "" {
				speaker = turn{ID: text(msg, proto.TurnID), TraceID: text(msg, proto.TraceID), Agent: msg.Sender}
			}
			return correct.Output(v, t, msg)
		},
		Cancels: func(v view, msg message) []string {
			if len(v.Speaking()) == 0 && speaker.ID != "" {
				v.Send(cancelOf(v, speaker))
			}
			return correct.Cancels(v, msg)
		},
	}
}

// speechFaults treat an agent as speaking too late, or too long (RT-142, RT-145).
var speechFaults = map[string]fault{
	"first-chunk-is-no-speech":   skipping(orchestrator.Speak, func(t turn, _ message) bool { return len(t.Output) == 0 }),
	"chunks-are-no-speech":       skipping(orchestrator.Speak, anyOutput),
	"final-does-not-end":         ruling(rules{Output: unended(func(message) bool { return true })}),
	"lone-final-does-not-end":    ruling(rules{Output: unended(func(msg message) bool { return !streamed(msg) })}),
	"chunk-after-final":          outputs(afterEnd(orchestrator.Completed, isChunk), orchestrator.Forward),
	"second-turn-ends-the-first": deciding(secondEndsFirst),
}

// unended treats some finals as another chunk.
func unended(some func(msg message) bool) func(v view, t turn, msg message) []step {
	return func(v view, t turn, msg message) []step {
		program := correct.Output(v, t, msg)
		if i := slices.Index(program, orchestrator.Complete); i >= 0 && some(msg) {
			program = slices.Insert(without(program, orchestrator.Complete), i-1, orchestrator.Speak)
		}
		return program
	}
}

func isChunk(msg message) bool { return !orchestrator.IsFinal(msg) }

func anyOutput(turn, message) bool { return true }

// secondEndsFirst knows only one turn per session.
func secondEndsFirst() rules {
	latest := ""
	return rules{
		Input: func(v view, t turn, mention bool) []step {
			latest = t.ID
			return correct.Input(v, t, mention)
		},
		Output: func(v view, t turn, msg message) []step {
			if t.Status.InFlight() && t.ID != latest {
				return []step{orchestrator.Report}
			}
			return correct.Output(v, t, msg)
		},
	}
}

// errorFaults suppress errors, or report them as something else (RT-011, RT-040).
var errorFaults = map[string]fault{
	"error-kept-back":     ruling(rules{Error: func(view, turn, message) []step { return []step{orchestrator.Fail} }}),
	"error-needs-speech":  ruling(rules{Error: needsSpeech}),
	"error-needs-silence": ruling(rules{Error: needsSilence}),
	"error-needs-ack":     ruling(rules{Error: needsAck}),
	"error-back-to-agent": rewriting("MODEL_ERROR", toActiveAgent),
}

func needsSpeech(v view, t turn, msg message) []step {
	if !t.Speaking {
		return nil
	}
	return correct.Error(v, t, msg)
}

// needsAck knows a turn's agent from its acknowledgement only.
func needsAck(v view, t turn, msg message) []step {
	if t.Status == orchestrator.Routing {
		return nil
	}
	return correct.Error(v, t, msg)
}

func needsSilence(v view, t turn, msg message) []step {
	if t.Speaking {
		return []step{orchestrator.Fail}
	}
	return correct.Error(v, t, msg)
}
