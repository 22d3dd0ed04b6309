package agent

import (
	"errors"
	"slices"

	proto "parley/protocol/externalagent"
)

// of lists what was sent of a type.
func (w *world) of(kind string) (found []Message) {
	for _, msg := range w.sent {
		if msg["type"] == kind {
			found = append(found, msg)
		}
	}
	return found
}

// some tells whether a message of a type is such.
func some(kind string, such func(msg Message) bool) func(w *world) bool {
	return func(w *world) bool { return slices.ContainsFunc(w.of(kind), such) }
}

func calls(tool string) func(msg Message) bool {
	return func(msg Message) bool { return msg.Payload()["toolName"] == tool }
}

func died(w *world) bool { return w.finish != nil && w.finish.Err != nil }

func unfinished(w *world) bool { return w.finish == nil }

// afterTheCut lists the types of what was sent on the second connection.
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
	{"talks before joined", deciding(func() rules { return rules{mayTalk: func(View) bool { return true }} }),
		talksFirst},
	{"does not come back", deciding(func() rules { return rules{reconnect: func(View, error) bool { return false }} }), died},
	{"ids are numbers", deciding(func() rules { return rules{id: func(_ View, _ string, n int) any { return n }} }),
		some(proto.RelayJoin, func(msg Message) bool { _, isNumber := msg["id"].(float64); return isNumber })},
	{"ids come twice", deciding(func() rules { return rules{id: func(_ View, kind string, _ int) any { return kind }} }),
		func(w *world) bool { return len(w.rules.ids) < len(w.sent) }},
	{"takes another version", deciding(func() rules {
		return rules{accept: func(v View, msg Message) string { return problemOf(msg.With("v", proto.Version)) }}
	}), some(proto.ToolCall, calls("junk"))},
	{"takes any answer for its own", deciding(func() rules {
		return rules{answers: func(v View, msg Message) string {
			if v.Awaited != nil && v.Joined {
				return v.Awaited.ID
			}
			return msg.ReplyTo()
		}}
	}), func(w *world) bool { return w.m.Outcome().Failed > 1 }},
	{"dies of junk", deciding(func() rules {
		return rules{strange: func(_ View, o Oddity) Reaction {
			if o.Kind == NoObject {
				return Die
			}
			return Ignore
		}}
	}), died},
	{"leaves because of unknown types", deciding(func() rules {
		return rules{strange: func(_ View, o Oddity) Reaction {
			if o.Kind == UnknownType {
				return Redial
			}
			return Ignore
		}}
	}), func(w *world) bool { return w.dials > 2 }},
	{"no resync after a new connection", deciding(func() rules {
		return rules{resync: func(v View, why Occasion) bool { return why != Reconnected && why != CallConfirmed }}
	}), callsBeforeSnapshot},
	{"resync after the first call on it", deciding(func() rules {
		return rules{resync: func(v View, why Occasion) bool {
			return why != Reconnected && (why != CallConfirmed || v.Connection > 1)
		}}
	}), func(w *world) bool {
		return callsBeforeSnapshot(w) && slices.Contains(w.afterTheCut(), proto.SnapshotGet)
	}},
	{"waits for an update for ever", deciding(func() rules {
		return rules{resync: func(_ View, why Occasion) bool { return why != NoUpdate && why != CallConfirmed }}
	}), unfinished},
	{"chooses from a result's uiSpec", deciding(func() rules {
		return rules{state: func(v View) State {
			s := v.Last
			if spec, isObject := v.Result["uiSpec"].(map[string]any); isObject {
				s.UISpec = spec
			}
			return s
		}}
	}), some(proto.ToolCall, func(msg Message) bool {
		params, _ := msg.Payload()["params"].(object)
		return params["itemId"] == "quick-1"
	})},
	{"keeps the first toolSchema", deciding(func() rules {
		var first *State
		return rules{state: func(v View) State {
			s := v.Last
			if first == nil {
				first = &s
			}
			s.Tools = first.Tools
			return s
		}}
	}), func(w *world) bool {
		return slices.Contains(w.host.calls, `select {"itemId":"child"}`) || unfinished(w)
	}},
	{"does not wait for the update", deciding(func() rules { return rules{settled: func(View) bool { return true }} }),
		func(w *world) bool {
			return !slices.Equal(straight, book(w.t, &host{}, Options{Policy: w.m.o.Policy}).host.calls)
		}},
	{"calls what nobody announced", deciding(func() rules {
		return rules{choose: func(_ View, _ State, _ []Call) (Call, bool) { return Call{"win", object{}, "I want to."}, true }}
	}), some(proto.ToolCall, calls("win"))},
	{"params are no object", deciding(func() rules {
		return rules{choose: func(_ View, _ State, c []Call) (Call, bool) { return Call{c[0].Tool, []any{}, c[0].Reason}, true }}
	}), some(proto.ToolCall, func(msg Message) bool { _, isArray := msg.Payload()["params"].([]any); return isArray })},
	{"dies of an error", deciding(func() rules { return rules{failed: func(View, Failure) Remedy { return Despair }} }), died},
	{"makes a failing call again", deciding(func() rules { return rules{failed: func(View, Failure) Remedy { return TryAgain }} }),
		func(w *world) bool {
			all := w.of(proto.ToolCall)
			return canonical(all[1].Payload()) == canonical(all[2].Payload())
		}},
	{"takes an error for a success", deciding(func() rules { return rules{failed: func(View, Failure) Remedy { return TakeAsDone }} }),
		func(w *world) bool { return w.m.Outcome().Failed == 0 }},
	{"says nothing about stages", deciding(func() rules { return rules{comment: func(View, State) string { return "" }} }),
		func(w *world) bool { return len(w.host.said) < 2 }},
	{"does not answer the user", deciding(func() rules { return rules{reply: func(View, string, string) []string { return nil }} }),
		func(w *world) bool { return len(w.host.said) < 8 }},
	{"never finishes", deciding(func() rules {
		return rules{finished: func(View, State) (string, bool) { return "", false }}
	}), unfinished},
	{"leaves without session.end", deciding(func() rules { return rules{leave: func(View) Goodbye { return JustLeave }} }),
		func(w *world) bool { return w.finish != nil && len(w.host.ended) == 0 }},
	{"does not wait for session.ended", deciding(func() rules { return rules{leave: func(View) Goodbye { return EndAndLeave }} }),
		func(w *world) bool { return w.finish != nil && !w.finish.Outcome.Ended }},
	{"stays", deciding(func() rules { return rules{leave: func(View) Goodbye { return Stay }} }), unfinished},
}

// talksFirst tells whether more than one message is sent before anything comes.
func talksFirst(w *world) bool {
	v := newWorld(w.t, &host{before: func(*host, Message) ([]Message, bool) { return nil, true }}, Options{Policy: w.m.o.Policy})
	v.lenient = true
	v.run(1e9)
	return len(v.sent) > 1
}

var messageFaults = []fault{
	{"does not join", func() Options {
		return Options{
			Policy: rules{mayTalk: func(View) bool { return true }},
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
	{"snapshot.get without payload", rewriting(proto.SnapshotGet, func(msg Message) Message { return msg.Without("payload") }),
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
	{"hears no state.updated", func() Options {
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
