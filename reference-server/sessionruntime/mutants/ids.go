package mutants

import (
	"cmp"
	"strings"

	"golang.org/x/text/unicode/norm"

	proto "parley/protocol/sessionruntime"
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
