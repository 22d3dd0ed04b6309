package mutants

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// snapshotFaults send a wrong snapshot.state, or none.
var snapshotFaults = map[string]fault{
	"snapshot-unanswered":        silent(proto.SnapshotState),
	"snapshot-answer-unnamed":    unnamed(proto.SnapshotState),
	"snapshot-is-an-update":      rewriting(proto.SnapshotState, spoil.With("type", proto.StateUpdated)),
	"snapshot-once":              refusingSnapshots(func(p past) bool { return p.snapshots > 0 }),
	"snapshot-not-after-error":   refusingSnapshots(func(p past) bool { return p.refused }),
	"snapshot-not-after-talking": refusingSnapshots(func(p past) bool { return p.talked }),
	"snapshot-not-after-call":    refusingSnapshots(func(p past) bool { return p.called }),

	"snapshot-of-64-kb-at-most": omitting(isLongSnapshot),

	"snapshot-without-session":   spoiling(proto.SnapshotState, spoil.Lose("sessionId")),
	"snapshot-of-relay-session":  ofRelaySession(proto.SnapshotState),
	"snapshot-session-renewed":   spoiling(proto.SnapshotState, spoil.Text("sessionId", next)),
	"snapshot-session-is-object": spoiling(proto.SnapshotState, spoil.Change("sessionId", spoil.Within("id"))),

	"snapshot-without-ui":           spoiling(proto.SnapshotState, spoil.Lose("uiSpec")),
	"snapshot-ui-in-snake-case":     spoiling(proto.SnapshotState, spoil.Rename("uiSpec", "ui_spec")),
	"snapshot-ui-is-text":           spoiling(proto.SnapshotState, spoil.Change("uiSpec", spoil.JSON)),
	"snapshot-ui-is-list":           spoiling(proto.SnapshotState, spoil.Change("uiSpec", spoil.InList)),
	"snapshot-ui-null":              spoiling(proto.SnapshotState, spoil.Set("uiSpec", nil)),
	"ui-null-everywhere":            showing(func(_ view, _ part, s *state) { s.UISpec = nil }),
	"snapshot-ui-false-when-none":   spoiling(proto.SnapshotState, spoil.Change("uiSpec", falseIfNone)),
	"snapshot-without-history":      spoiling(proto.SnapshotState, spoil.Lose("messageHistory")),
	"snapshot-history-null-at-none": spoiling(proto.SnapshotState, spoil.Change("messageHistory", nullIfEmpty)),
	"snapshot-history-lost-at-none": spoiling(proto.SnapshotState, loseIfEmpty("messageHistory")),
	"snapshot-history-is-map":       spoiling(proto.SnapshotState, spoil.Change("messageHistory", byKey("id"))),
	"snapshot-history-is-text":      spoiling(proto.SnapshotState, spoil.Change("messageHistory", spoil.JSON)),
	"snapshot-without-tools":        spoiling(proto.SnapshotState, spoil.Lose("toolSchema")),
	"snapshot-tools-null-at-none":   spoiling(proto.SnapshotState, spoil.Change("toolSchema", nullIfEmpty)),
	"snapshot-tools-lost-at-none":   spoiling(proto.SnapshotState, loseIfEmpty("toolSchema")),
	"snapshot-tools-by-name":        spoiling(proto.SnapshotState, spoil.Change("toolSchema", byKey("name"))),
	"snapshot-tools-is-text":        spoiling(proto.SnapshotState, spoil.Change("toolSchema", spoil.JSON)),

	"snapshot-cached":    cached(host.InSnapshot, func(s *state, first state) { *s = first }),
	"snapshot-ui-cached": cached(host.InSnapshot, func(s *state, first state) { s.UISpec = first.UISpec }),
	"snapshot-history-cached": cached(host.InSnapshot, func(s *state, first state) {
		s.MessageHistory = first.MessageHistory
	}),
	"snapshot-tools-cached":    cached(host.InSnapshot, func(s *state, first state) { s.ToolSchema = first.ToolSchema }),
	"snapshot-one-call-behind": oneBehind(host.InSnapshot),
}

// isLongSnapshot reports whether a message is a snapshot of more than 64 KB.
func isLongSnapshot(msg message) bool {
	return msg.Type() == proto.SnapshotState && len(wire.Encode(msg)) > 64<<10
}

// updateFaults send a wrong state.updated payload.
var updateFaults = map[string]fault{
	"update-source-agent":   spoiling(proto.StateUpdated, spoil.Set("source", "agent")),
	"update-source-server":  spoiling(proto.StateUpdated, spoil.Set("source", "server")),
	"update-source-shouted": spoiling(proto.StateUpdated, spoil.Set("source", "HOST")),
	"update-without-source": spoiling(proto.StateUpdated, spoil.Lose("source")),
	"update-source-is-tool": hosting(sourceIsTool),

	"update-without-ui":           spoiling(proto.StateUpdated, spoil.Lose("uiSpec")),
	"update-ui-is-text":           spoiling(proto.StateUpdated, spoil.Change("uiSpec", spoil.JSON)),
	"update-ui-is-list":           spoiling(proto.StateUpdated, spoil.Change("uiSpec", spoil.InList)),
	"update-ui-null":              spoiling(proto.StateUpdated, spoil.Set("uiSpec", nil)),
	"update-ui-lost-at-none":      spoiling(proto.StateUpdated, loseIfNull("uiSpec")),
	"update-without-history":      spoiling(proto.StateUpdated, spoil.Lose("messageHistory")),
	"update-history-is-map":       spoiling(proto.StateUpdated, spoil.Change("messageHistory", byKey("id"))),
	"update-history-null-at-none": spoiling(proto.StateUpdated, spoil.Change("messageHistory", nullIfEmpty)),
	"update-history-is-count": spoiling(proto.StateUpdated, spoil.Change("messageHistory", func(v any) any {
		return len(v.([]any))
	})),
	"update-without-tools":      spoiling(proto.StateUpdated, spoil.Lose("toolSchema")),
	"update-tools-by-name":      spoiling(proto.StateUpdated, spoil.Change("toolSchema", byKey("name"))),
	"update-tools-null-at-none": spoiling(proto.StateUpdated, spoil.Change("toolSchema", nullIfEmpty)),
	"update-tools-is-text":      spoiling(proto.StateUpdated, spoil.Change("toolSchema", spoil.JSON)),
}

func falseIfNone(v any) any {
	if v == nil {
		return false
	}
	return v
}

func nullIfEmpty(v any) any {
	if all, _ := v.([]any); len(all) == 0 {
		return nil
	}
	return v
}

func loseIfEmpty(name string) func(payload object) {
	return func(payload object) {
		if nullIfEmpty(payload[name]) == nil {
			delete(payload, name)
		}
	}
}

func loseIfNull(name string) func(payload object) {
	return func(payload object) {
		if payload[name] == nil {
			delete(payload, name)
		}
	}
}

// byKey turns a list of objects into a map.
func byKey(name string) func(v any) any {
	return func(v any) any {
		all := object{}
		list, _ := v.([]any)
		for _, item := range list {
			o, _ := item.(object)
			key, _ := o[name].(string)
			all[key] = o
		}
		return all
	}
}

// past is the history of a session.
type past struct {
	snapshots               int
	refused, talked, called bool
}

// refusingSnapshots refuses some snapshot.get requests.
func refusingSnapshots(which func(p past) bool) fault {
	return hosting(func(h *hostOptions) {
		var seen past
		h.Policy.Ready = func(_ view, msg message, why *refusal) *refusal {
			if why != nil {
				return why
			}
			switch msg.Type() {
			case proto.SessionStart:
				seen = past{}
			case proto.AgentMessage:
				seen.talked = true
			case proto.SnapshotGet:
				if which(seen) {
					return &refusal{Code: proto.InvalidMessage, Text: "follow state.updated instead"}
				}
				seen.snapshots++
			}
			return nil
		}
		h.Policy.Result = func(_ view, _ call, payload object) object {
			seen.called = true
			return payload
		}
		h.Policy.Refused = func(_ view, _, msg message) message {
			seen.refused = true
			return msg
		}
	})
}

// cached shows part of a session's first state in one kind of message.
func cached(where part, f func(s *state, first state)) fault {
	return hosting(func(h *hostOptions) {
		id, first := "", state{}
		h.Policy.State = func(v view, in part, s state) state {
			if v.SessionID() != id {
				id, first = v.SessionID(), v.State()
			}
			if in == where {
				f(&s, copied(first))
			}
			return s
		}
	})
}

// copied returns a copy of a state that may be changed in place.
func copied(s state) state {
	o := wire.Plain(stateOf(s)).(object)
	history, _ := o["messageHistory"].([]any)
	tools, _ := o["toolSchema"].([]any)
	return state{UISpec: o["uiSpec"], MessageHistory: history, ToolSchema: tools}
}

// oneBehind shows the state from before the latest request that changed it.
func oneBehind(where part) fault {
	return hosting(func(h *hostOptions) {
		id, before, now := "", state{}, state{}
		h.Policy.Updates = func(v view, _ message, follows bool) bool {
			before, now = now, v.State()
			return follows
		}
		h.Policy.State = func(v view, in part, s state) state {
			if v.SessionID() != id {
				id, before, now = v.SessionID(), v.State(), v.State()
			}
			if in == where {
				return copied(before)
			}
			return s
		}
	})
}

// sourceIsTool gives as source the tool that changed the state.
func sourceIsTool(h *hostOptions) {
	source := any(proto.SourceHost)
	h.Inbound = func(_ view, msg message) []message {
		if source = proto.SourceHost; toolOf(msg) != "" {
			source = toolOf(msg)
		}
		return []message{msg}
	}
	h.Outbound = rewriter(proto.StateUpdated, func(_ view, msg message) message {
		msg.Payload()["source"] = source
		return msg
	})
}
