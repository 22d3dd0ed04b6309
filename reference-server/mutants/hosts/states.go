package hosts

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

// snapshotFaults get snapshot.state wrong, or do not send it.
var snapshotFaults = map[string]fault{
	"snapshot-unanswered":        silent(proto.SnapshotState),
	"snapshot-answer-unnamed":    unnamed(proto.SnapshotState),
	"snapshot-is-an-update":      rewriting(proto.SnapshotState, func(_ view, msg message) message { return msg.With("type", proto.StateUpdated) }),
	"snapshot-once":              refusingSnapshots(func(p past) bool { return p.snapshots > 0 }),
	"snapshot-not-after-error":   refusingSnapshots(func(p past) bool { return p.refused }),
	"snapshot-not-after-talking": refusingSnapshots(func(p past) bool { return p.talked }),
	"snapshot-not-after-call":    refusingSnapshots(func(p past) bool { return p.called }),

	"snapshot-without-session":   spoiling(proto.SnapshotState, lose("sessionId")),
	"snapshot-of-relay-session":  ofRelaySession(proto.SnapshotState),
	"snapshot-session-renewed":   spoiling(proto.SnapshotState, change("sessionId", next)),
	"snapshot-session-is-object": spoiling(proto.SnapshotState, change("sessionId", func(v any) any { return object{"id": v} })),

	"snapshot-without-ui":           spoiling(proto.SnapshotState, lose("uiSpec")),
	"snapshot-ui-in-snake-case":     spoiling(proto.SnapshotState, rename("uiSpec", "ui_spec")),
	"snapshot-ui-is-text":           spoiling(proto.SnapshotState, change("uiSpec", jsonText)),
	"snapshot-ui-is-list":           spoiling(proto.SnapshotState, change("uiSpec", func(v any) any { return []any{v} })),
	"snapshot-ui-null":              spoiling(proto.SnapshotState, set("uiSpec", nil)),
	"ui-null-everywhere":            ruling(rules{state: func(v view, _ host.Part) state { s := v.State(); s.UISpec = nil; return s }}),
	"snapshot-ui-false-when-none":   spoiling(proto.SnapshotState, change("uiSpec", falseIfNone)),
	"snapshot-without-history":      spoiling(proto.SnapshotState, lose("messageHistory")),
	"snapshot-history-null-at-none": spoiling(proto.SnapshotState, change("messageHistory", nullIfEmpty)),
	"snapshot-history-lost-at-none": spoiling(proto.SnapshotState, loseIfEmpty("messageHistory")),
	"snapshot-history-is-map":       spoiling(proto.SnapshotState, change("messageHistory", byKey("id"))),
	"snapshot-history-is-text":      spoiling(proto.SnapshotState, change("messageHistory", jsonText)),
	"snapshot-without-tools":        spoiling(proto.SnapshotState, lose("toolSchema")),
	"snapshot-tools-null-at-none":   spoiling(proto.SnapshotState, change("toolSchema", nullIfEmpty)),
	"snapshot-tools-lost-at-none":   spoiling(proto.SnapshotState, loseIfEmpty("toolSchema")),
	"snapshot-tools-by-name":        spoiling(proto.SnapshotState, change("toolSchema", byKey("name"))),
	"snapshot-tools-is-text":        spoiling(proto.SnapshotState, change("toolSchema", jsonText)),

	"snapshot-cached":          deciding(cached(host.InSnapshot, func(s, first state) state { return first })),
	"snapshot-ui-cached":       deciding(cached(host.InSnapshot, func(s, first state) state { s.UISpec = first.UISpec; return s })),
	"snapshot-history-cached":  deciding(cached(host.InSnapshot, func(s, first state) state { s.MessageHistory = first.MessageHistory; return s })),
	"snapshot-tools-cached":    deciding(cached(host.InSnapshot, func(s, first state) state { s.ToolSchema = first.ToolSchema; return s })),
	"snapshot-one-call-behind": deciding(oneBehind(host.InSnapshot)),
}

// updateFaults get the payload of state.updated wrong.
var updateFaults = map[string]fault{
	"update-source-agent":   spoiling(proto.StateUpdated, set("source", "agent")),
	"update-source-server":  spoiling(proto.StateUpdated, set("source", "server")),
	"update-source-shouted": spoiling(proto.StateUpdated, set("source", "HOST")),
	"update-without-source": spoiling(proto.StateUpdated, lose("source")),
	"update-source-is-tool": hosting(sourceIsTool),

	"update-without-ui":           spoiling(proto.StateUpdated, lose("uiSpec")),
	"update-ui-is-text":           spoiling(proto.StateUpdated, change("uiSpec", jsonText)),
	"update-ui-is-list":           spoiling(proto.StateUpdated, change("uiSpec", func(v any) any { return []any{v} })),
	"update-ui-null":              spoiling(proto.StateUpdated, set("uiSpec", nil)),
	"update-ui-lost-at-none":      spoiling(proto.StateUpdated, loseIfNull("uiSpec")),
	"update-without-history":      spoiling(proto.StateUpdated, lose("messageHistory")),
	"update-history-is-map":       spoiling(proto.StateUpdated, change("messageHistory", byKey("id"))),
	"update-history-null-at-none": spoiling(proto.StateUpdated, change("messageHistory", nullIfEmpty)),
	"update-history-is-count":     spoiling(proto.StateUpdated, change("messageHistory", func(v any) any { return len(v.([]any)) })),
	"update-without-tools":        spoiling(proto.StateUpdated, lose("toolSchema")),
	"update-tools-by-name":        spoiling(proto.StateUpdated, change("toolSchema", byKey("name"))),
	"update-tools-null-at-none":   spoiling(proto.StateUpdated, change("toolSchema", nullIfEmpty)),
	"update-tools-is-text":        spoiling(proto.StateUpdated, change("toolSchema", jsonText)),
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

// byKey makes a map of a list of objects.
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

// past is what a session has seen.
type past struct {
	snapshots               int
	refused, talked, called bool
}

// refusingSnapshots refuses some snapshot.get.
func refusingSnapshots(which func(p past) bool) fault {
	return deciding(func() rules {
		var seen past
		return rules{
			ready: func(v view, msg message) *refusal {
				why := correct.Ready(v, msg)
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
			},
			result: func(v view, c call) object {
				seen.called = true
				return correct.Result(v, c)
			},
			refused: func(v view, request message, why refusal) message {
				seen.refused = true
				return correct.Refused(v, request, why)
			},
		}
	})
}

// cached tells something of the first state of a session in one kind of message.
func cached(where host.Part, f func(s, first state) state) func() rules {
	return func() rules {
		id, first := "", state{}
		return rules{state: func(v view, in host.Part) state {
			if v.SessionID() != id {
				id, first = v.SessionID(), v.State()
			}
			if in != where {
				return v.State()
			}
			return f(v.State(), copied(first))
		}}
	}
}

// copied is a state that may be changed in place.
func copied(s state) state {
	o := read(encode(stateOf(s)))
	history, _ := o["messageHistory"].([]any)
	tools, _ := o["toolSchema"].([]any)
	return state{UISpec: o["uiSpec"], MessageHistory: history, ToolSchema: tools}
}

// oneBehind tells the state before the latest request that changed it.
func oneBehind(where host.Part) func() rules {
	return func() rules {
		id, before, now := "", state{}, state{}
		return rules{
			updates: func(v view, msg message) bool {
				before, now = now, v.State()
				return true
			},
			state: func(v view, in host.Part) state {
				if v.SessionID() != id {
					id, before, now = v.SessionID(), v.State(), v.State()
				}
				if in != where {
					return v.State()
				}
				return copied(before)
			},
		}
	}
}

// sourceIsTool names the tool by which the state has changed.
func sourceIsTool(h *hostOptions) {
	source := any(proto.SourceHost)
	h.Inbound = func(_ view, msg message) []message {
		if source = proto.SourceHost; toolOf(msg) != "" {
			source = toolOf(msg)
		}
		return []message{msg}
	}
	h.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.StateUpdated {
			msg.Payload()["source"] = source
		}
		send(msg)
	}
}
