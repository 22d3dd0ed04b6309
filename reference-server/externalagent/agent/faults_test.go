package agent

import (
	"errors"
	"slices"

	proto "parley/protocol/externalagent"
)

// of lists the sent messages of a type.
func (w *world) of(kind string) (found []Message) {
	for _, msg := range w.sent {
		if msg["type"] == kind {
			found = append(found, msg)
		}
	}
	return found
}

// some reports whether any sent message of a type satisfies the predicate.
func some(kind string, such func(msg Message) bool) func(w *world) bool {
	return func(w *world) bool { return slices.ContainsFunc(w.of(kind), such) }
}

func calls(tool string) func(msg Message) bool {
	return func(msg Message) bool { return msg.Payload()["toolName"] == tool }
}

func died(w *world) bool { return w.finish != nil && w.finish.Err != nil }

func unfinished(w *world) bool { return w.finish == nil }

// afterTheCut lists the types of the messages sent on the second connection.
func (w *world) afterTheCut() []string {
	types := w.types()
	for i := len(types) - 1; i >= 0; i-- {
		if types[i] == proto.RelayJoin {
			return types[i:]
		}
	}
	return types
}

func callsBeforeSnapshot(w *world) bool {
	types := w.afterTheCut()
	call := slices.Index(types, proto.ToolCall)
	snapshot := slices.Index(types, proto.SnapshotGet)
	return call >= 0 && (snapshot < 0 || call < snapshot)
}

var decisionFaults = []fault{
	{"talks before joined", deciding(Policy{MayTalk: func(View) bool { return true }}),
		talksFirst},
	{"does not reconnect", deciding(Policy{Reconnect: func(View) bool { return false }}), died},
	{"ids are numbers", deciding(Policy{ID: func(_ View, _ string, n int, _ string) any { return n }}),
		some(proto.RelayJoin, func(msg Message) bool { _, isNumber := msg["id"].(float64); return isNumber })},
	{"ids are repeated", deciding(Policy{ID: func(_ View, kind string, _ int, _ string) any { return kind }}),
		func(w *world) bool { return len(w.rules.ids) < len(w.sent) }},
	{"takes another version", deciding(Policy{Accept: func(_ View, msg Message, _ string) string {
		return problemOf(msg.With("v", proto.Version))
	}}), some(proto.ToolCall, calls("junk"))},
	{"dies on junk", deciding(Policy{Strange: func(_ View, o Oddity, _ Reaction) Reaction {
		if o.Kind == NoObject {
			return Die
		}
		return Ignore
	}}), died},
	{"leaves because of unknown types", deciding(Policy{Strange: func(_ View, o Oddity, _ Reaction) Reaction {
		if o.Kind == UnknownType {
			return Redial
		}
		return Ignore
	}}), func(w *world) bool { return w.dials > 2 }},
	{"no resync after a new connection", deciding(Policy{Resync: func(v View, why Occasion, _ bool) bool {
		return why != Reconnected && why != CallConfirmed
	}}), callsBeforeSnapshot},
	{"resync after the first call on it", deciding(Policy{Resync: func(v View, why Occasion, _ bool) bool {
		return why != Reconnected && (why != CallConfirmed || v.Connection > 1)
	}}), func(w *world) bool {
		return callsBeforeSnapshot(w) && slices.Contains(w.afterTheCut(), proto.SnapshotGet)
	}},
	{"waits forever for an update", deciding(Policy{Resync: func(_ View, why Occasion, _ bool) bool {
		return why != NoUpdate && why != CallConfirmed
	}}), unfinished},
	{"chooses from a result's uiSpec", deciding(Policy{State: func(v View, s State) State {
		if spec, isObject := v.Result["uiSpec"].(map[string]any); isObject {
			s.UISpec = spec
		}
		return s
	}}), some(proto.ToolCall, func(msg Message) bool {
		params, _ := msg.Payload()["params"].(object)
		return params["itemId"] == "quick-1"
	})},
	{"keeps the first toolSchema", func() Options {
		var first *State
		return Options{Policy: Policy{State: func(_ View, s State) State {
			if first == nil {
				first = &s
			}
			s.Tools = first.Tools
			return s
		}}}
	}, func(w *world) bool {
		return slices.Contains(w.host.calls, `select {"itemId":"child"}`) || unfinished(w)
	}},
	{"does not wait for the update", deciding(Policy{Settled: func(View, bool) bool { return true }}),
		func(w *world) bool {
			return !slices.Equal(straight, book(w.t, &host{}, Options{Policy: w.m.o.Policy}).host.calls)
		}},
	{"calls an unannounced tool", deciding(Policy{Choose: func(View, State, Call) Call {
		return Call{"win", object{}, "I want to."}
	}}), some(proto.ToolCall, calls("win"))},
	{"params are not an object", deciding(Policy{Choose: func(_ View, _ State, c Call) Call {
		return Call{c.Tool, []any{}, c.Reason}
	}}), some(proto.ToolCall, func(msg Message) bool { _, isArray := msg.Payload()["params"].([]any); return isArray })},
	{"dies on an error", deciding(Policy{Failed: func(View, Failure, Remedy) Remedy { return Despair }}), died},
	{"repeats a failing call", deciding(Policy{Failed: func(View, Failure, Remedy) Remedy { return TryAgain }}),
		func(w *world) bool {
			all := w.of(proto.ToolCall)
			return canonicalText(all[1].Payload()) == canonicalText(all[2].Payload())
		}},
	{"takes an error for a success", deciding(Policy{Failed: func(View, Failure, Remedy) Remedy { return TakeAsDone }}),
		func(w *world) bool { return w.m.Outcome().Failed == 0 }},
}

// talksFirst reports whether the agent sends more than one message before it receives any.
func talksFirst(w *world) bool {
	v := newWorld(w.t, &host{before: func(*host, Message) ([]Message, bool) {
		return nil, true
	}}, Options{Policy: w.m.o.Policy})
	v.lenient = true
	v.run(1e9)
	return len(v.sent) > 1
}

var messageFaults = []fault{
	{"does not join", func() Options {
		return Options{
			Policy: Policy{MayTalk: func(View) bool { return true }},
			Outbound: func(_ View, msg Message, send func(Message)) {
				if msg.Type() != proto.RelayJoin {
					send(msg)
				}
			},
		}
	}, func(w *world) bool { return len(w.of(proto.RelayJoin)) == 0 }},
	{"joins with another role", rewriting(proto.RelayJoin, func(msg Message) Message {
		return msg.With("payload", object{"role": "bot", "sessionId": "default"})
	}), some(proto.RelayJoin, func(msg Message) bool { return msg.Payload()["role"] != "agent" })},
	{"joins without an id", rewriting(proto.RelayJoin, func(msg Message) Message { return msg.Without("id") }),
		some(proto.RelayJoin, func(msg Message) bool { return msg["id"] == nil })},
	{"no v", rewriting(proto.ToolCall, func(msg Message) Message { return msg.Without("v") }),
		some(proto.ToolCall, func(msg Message) bool { return msg["v"] == nil })},
	{"snapshot.get without payload", rewriting(proto.SnapshotGet, func(msg Message) Message {
		return msg.Without("payload")
	}),
		some(proto.SnapshotGet, func(msg Message) bool { return msg["payload"] == nil })},
	{"no reason", rewriting(proto.ToolCall, func(msg Message) Message {
		return msg.With("payload", object{"toolName": msg.Payload()["toolName"], "params": msg.Payload()["params"]})
	}), some(proto.ToolCall, func(msg Message) bool { return msg.Payload()["reason"] == nil })},
	{"repeats the lost call", func() Options {
		var last Message
		return Options{Outbound: func(v View, msg Message, send func(Message)) {
			if msg.Type() == proto.SnapshotGet && v.Connection > 1 && last != nil {
				send(last.With("id", "again"))
				last = nil
			}
			if msg.Type() == proto.ToolCall {
				last = msg
			}
			send(msg)
		}}
	}, some(proto.ToolCall, func(msg Message) bool { return msg["id"] == "again" })},
	{"ignores state.updated", func() Options {
		return Options{Inbound: func(_ View, msg Message) []Message {
			if msg.Type() == proto.StateUpdated {
				return nil
			}
			return []Message{msg}
		}}
	}, func(w *world) bool { return len(w.of(proto.SnapshotGet)) > 5 }},
	{"gives up at once", func() Options { return Options{GiveUp: 1, Backoff: Backoff{First: 2}} },
		func(w *world) bool { return died(w) && errors.Is(w.finish.Err, ErrNoConnection) }},
}
