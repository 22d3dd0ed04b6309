package mutants

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// idFaults lose, replace or reuse the ids of turns (RT-072).
var idFaults = map[string]fault{
	"turn-id-not-kept": ruling(rules{IDs: func(_ view, msg message) (string, string) {
		return text(msg, proto.TraceID), ""
	}}),
	"trace-id-not-kept": ruling(rules{IDs: func(_ view, msg message) (string, string) {
		return "", text(msg, proto.TurnID)
	}}),
	"trace-id-is-turn-id":    ruling(rules{IDs: traceIsTurn}),
	"ids-read-from-payload":  ruling(rules{IDs: fromPayload}),
	"turn-id-not-completed":  notCompleted(proto.TurnID),
	"trace-id-not-completed": notCompleted(proto.TraceID),
	"turn-id-is-session":     runtime(turnIsSession),
	"trace-id-is-session":    ruling(rules{IDs: traceIsSession}),
	"input-without-turn-id": rewriting(proto.UserInput, func(_ view, msg message) message {
		return unnamed(msg, proto.TurnID)
	}),
	"ids-in-message-envelope": rewriting(proto.UserInput, inEnvelope),
	"ids-composed":            reading(anything, composed),
}

func traceIsTurn(_ view, msg message) (trace, turn string) {
	turn = text(msg, proto.TurnID)
	return turn, turn
}

func fromPayload(_ view, msg message) (trace, turn string) {
	trace, _ = payloadOf(msg)[proto.TraceID].(string)
	turn, _ = payloadOf(msg)[proto.TurnID].(string)
	return trace, turn
}

func traceIsSession(v view, msg message) (trace, turn string) {
	return cmp.Or(text(msg, proto.TraceID), "trace-"+v.SessionID()), text(msg, proto.TurnID)
}

// notCompleted passes on an id that was given, but publishes none of its own.
func notCompleted(name string) fault {
	return runtime(func(o *options) {
		given := false
		o.Policy = rules{IDs: func(v view, msg message) (string, string) {
			given = text(msg, name) != ""
			return correct.IDs(v, msg)
		}}
		o.Outbound = func(_ view, msg message, send sender) {
			if kindOf(msg) == proto.UserInput && !given {
				msg = unnamed(msg, name)
			}
			send(msg)
		}
	})
}

// turnIsSession names every turn without an id after the session; agents' messages about that name are attributed to
// the latest such turn.
func turnIsSession(o *options) {
	name, made, latest := "turn-"+o.SessionID, map[string]bool{}, ""
	o.Policy = rules{IDs: func(v view, msg message) (trace, turn string) {
		trace, turn = correct.IDs(v, msg)
		if turn == "" {
			turn = "made-" + msg.ID
			made[turn], latest = true, turn
		}
		return trace, turn
	}}
	o.Outbound = func(_ view, msg message, send sender) {
		if made[text(msg, proto.TurnID)] {
			msg = named(msg, proto.TurnID, name)
		}
		send(msg)
	}
	o.Inbound = func(_ view, msg message) []message {
		if text(msg, proto.TurnID) == name {
			msg = named(msg, proto.TurnID, latest)
		}
		return []message{msg}
	}
}

func anything(view, message) bool { return true }

// composed brings all ids of a message into one normal form of Unicode.
func composed(_ view, msg message) message {
	msg.Payload, msg.Metadata = composedIDs(msg.Payload), composedIDs(msg.Metadata).(object)
	msg.Sender, msg.TargetID = norm.NFC.String(msg.Sender), norm.NFC.String(msg.TargetID)
	return msg
}

func composedIDs(v any) any {
	o, is := v.(object)
	if !is {
		return v
	}
	out := object{}
	for name, v := range o {
		if id, isText := v.(string); isText && strings.HasSuffix(name, "id") {
			v = norm.NFC.String(id)
		}
		out[name] = composedIDs(v)
	}
	return out
}

// inEnvelope puts the ids where another bus's envelope has them.
func inEnvelope(_ view, msg message) message {
	msg.ID = text(msg, proto.TurnID)
	return unnamed(unnamed(msg, proto.TurnID), proto.TraceID)
}

// sessionFaults open or close a session too early, incorrectly, or not at all (4H).
var sessionFaults = map[string]fault{
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
	"session-receipt-of-any-kind": runtime(receiptOfAnyKind),
	"session-failed-is-done":      upon(proto.SessionFailed, orchestrator.TellDone),
	"opened-told-twice":           upon(proto.SessionOpened, orchestrator.TellDone, orchestrator.TellDone),
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

// cutFaults show only in a session whose earlier bus ended at a certain point, and that is set up again on another bus.
// Each call makes the state of one server.
var cutFaults = map[string]func() fault{
	"end-after-an-ack-keeps-turns": endedAfter(of(proto.InputAck), func(o *options) {
		o.Policy = rules{Output: func(v view, t turn, msg message) []step {
			if t.ID == "" {
				return []step{orchestrator.Forward}
			}
			return correct.Output(v, t, msg)
		}}
	}),
	"end-after-a-mention-keeps-agent": endedAfter(mentions, func(o *options) { o.Active = o.Agents[len(o.Agents)-1] }),
	"end-after-a-final-refuses-the-next": endedAfter(final, func(o *options) {
		o.Policy = rules{Output: func(v view, t turn, msg message) []step {
			if t.ID != "" && orchestrator.IsFinal(msg) {
				return []step{orchestrator.Report}
			}
			return correct.Output(v, t, msg)
		}}
	}),
}

// mentions matches an input that mentions an agent; final matches the end of an agent's output.
func mentions(v view, msg message) bool {
	_, is := correct.Mention(v, msg)
	return is && msg.Event == proto.UserInput
}

func final(_ view, msg message) bool {
	return kindOf(msg) == proto.AgentOutput && orchestrator.IsFinal(msg)
}

// last is the latest bus of a session, and whether the last message to the session there matched.
type last struct {
	bus  *int
	fits bool
}

// endedAfter puts a fault into a session whose previous bus ended right after a matching message to the session.
func endedAfter(fits func(v view, msg message) bool, put func(o *options)) func() fault {
	return func() fault {
		var mu sync.Mutex
		sessions := map[string]last{}
		return func() seams {
			bus := new(int)
			return seams{Runtime: func(o *options) {
				mu.Lock()
				was, known := sessions[o.SessionID]
				mu.Unlock()
				if known && was.bus != bus && was.fits {
					put(o)
				}
				session := o.SessionID
				o.Inbound = func(v view, msg message) []message {
					mu.Lock()
					defer mu.Unlock()
					sessions[session] = last{bus, fits(v, msg)}
					return []message{msg}
				}
			}}
		}
	}
}

// switchFaults do not change the active agent, or change it at the wrong time (3).
var switchFaults = map[string]fault{
	"switch-refused-if-busy":  deaf(switchWhileBusy),
	"switch-not-told":         switching(orchestrator.Activate),
	"switch-only-told":        switching(orchestrator.TellSwitch),
	"switch-told-twice":       switching(orchestrator.Activate, orchestrator.TellSwitch, orchestrator.TellSwitch),
	"switch-after-next-input": deciding(afterNextInput),
	"switch-after-speech":     ruling(rules{Target: plainTo(view.SpeakingAgent)}),
	"active-told-with-inputs": telling(activeWithInputs),
}

func switchWhileBusy(v view, msg message) bool {
	return kindOf(msg) == proto.SwitchAgent && msg.Sender == proto.FromFrontend && len(v.Speaking()) > 0
}

// switching gives a frontend's switch another program.
func switching(program ...step) fault {
	return ruling(rules{Switch: func(view, string, message) []step { return program }})
}

// afterNextInput still sends the first input after a switch to the previous agent.
func afterNextInput() rules {
	before := ""
	return rules{
		Switch: func(v view, agent string, msg message) []step {
			before = v.Active()
			return correct.Switch(v, agent, msg)
		},
		Target: func(v view, msg message, mentioned string) string {
			was := before
			if before = ""; mentioned == "" && v.Has(was) {
				return was
			}
			return correct.Target(v, msg, mentioned)
		},
	}
}

// activeWithInputs announces the active agent with every input.
func activeWithInputs() outbound {
	return func(v view, msg message, send sender) {
		if kindOf(msg) == proto.UserInput {
			send(switchOf(v, v.Active(), msg.TargetID))
		}
		send(msg)
	}
}

// announceFaults announce a change other than by SWITCH_AGENT with from, to, reason and trigger on SYSTEM or
// BROADCAST (RT-066).
var announceFaults = map[string]fault{
	"switch-hidden":      marking(proto.SwitchAgent, set(proto.Visibility, "internal")),
	"switch-from-first":  telling(fromFirst),
	"switch-in-metadata": rewriting(proto.SwitchAgent, inMetadata),
}

// fromFirst gives the session's initial agent as from.
func fromFirst() outbound {
	first := ""
	return func(_ view, msg message, send sender) {
		if kindOf(msg) == proto.SwitchAgent {
			payload := maps.Clone(payloadOf(msg))
			if from, _ := payload["from"].(string); first == "" {
				first = from
			}
			payload["from"] = first
			msg.Payload = payload
		}
		send(msg)
	}
}

func inMetadata(_ view, msg message) message {
	maps.Copy(msg.Metadata, payloadOf(msg))
	msg.Payload = object{}
	return msg
}
