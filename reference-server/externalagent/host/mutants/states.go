package mutants

import (
	"sync"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// snapshotFaults send a wrong snapshot.state, or none.
var snapshotFaults = map[string]fault{
	"snapshot-once":              refusingSnapshots(func(p past) bool { return p.snapshots > 0 }),
	"snapshot-not-after-error":   refusingSnapshots(func(p past) bool { return p.refused }),
	"snapshot-not-after-talking": refusingSnapshots(func(p past) bool { return p.talked }),
	"snapshot-not-after-call":    refusingSnapshots(func(p past) bool { return p.called }),

	"snapshot-of-64-kb-at-most": omitting(isLongSnapshot),

	"snapshot-of-relay-session": ofRelaySession(proto.SnapshotState),
	"snapshot-session-renewed":  spoiling(proto.SnapshotState, spoil.Text("sessionId", next)),

	"ui-null-everywhere":      showing(func(_ view, _ part, s *state) { s.UISpec = nil }),
	"snapshot-history-is-map": spoiling(proto.SnapshotState, spoil.Change("messageHistory", byKey("id"))),
	"snapshot-tools-by-name":  spoiling(proto.SnapshotState, spoil.Change("toolSchema", byKey("name"))),

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
	"update-source-is-tool": hosting(sourceIsTool),

	"update-history-is-map": spoiling(proto.StateUpdated, spoil.Change("messageHistory", byKey("id"))),
	"update-history-is-count": spoiling(proto.StateUpdated, spoil.Change("messageHistory", func(v any) any {
		return len(v.([]any))
	})),
	"update-tools-by-name": spoiling(proto.StateUpdated, spoil.Change("toolSchema", byKey("name"))),
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

// drawingFaults accept calls while no form is shown.
var drawingFaults = map[string]fault{
	"takes-calls-while-drawing": inRelay(takesCallsWhileDrawing),
}

// takesCallsWhileDrawing shows no form for a while after each next, but executes the calls that arrive meanwhile.
func takesCallsWhileDrawing(o *relay.Options) {
	const drawing = 120 * time.Millisecond
	var mu sync.Mutex
	went := map[string]bool{}    // relay sessions whose last call was next
	kept := map[string]message{} // the latest state, while a form is drawn
	o.Outbound = func(_ relayView, _, to party, data []byte, send func(int, []byte)) {
		msg, session := message(wire.Read(data)), to.Session
		payload := msg.Payload()
		mu.Lock()
		defer mu.Unlock()
		switch msg.Type() {
		case proto.ToolResult:
			went[session] = went[session] || payload["toolName"] == proto.Next && payload["ok"] == true && kept[session] == nil
		case proto.SessionStarted:
			delete(went, session)
			delete(kept, session)
		case proto.SnapshotState:
			if kept[session] != nil {
				data = wire.Encode(formless(msg))
			}
		case proto.StateUpdated:
			if payload["uiSpec"] == nil {
				break
			}
			if went[session] {
				time.AfterFunc(drawing, func() {
					mu.Lock()
					defer mu.Unlock()
					if latest := kept[session]; latest != nil {
						delete(kept, session)
						send(to.Conn, wire.Encode(latest))
					}
				})
			}
			if went[session] || kept[session] != nil {
				kept[session] = msg
				data = wire.Encode(formless(msg))
			}
			delete(went, session)
		}
		send(to.Conn, data)
	}
}

// formless returns a message with a state that shows no form.
func formless(msg message) message {
	payload := message(msg.Payload()).With("uiSpec", nil).With("toolSchema", []any{})
	return msg.With("payload", object(payload))
}

// returnFaults lose something when an agent joins again.
var returnFaults = map[string]fault{
	"returning-agent-reads-old-state": joinedBy(readsOldState),
	"history-ends-with-connection":    joinedBy(historyOfConnection),
}

// joinedBy is a fault of each host that can count the agents' joins of its relay session.
func joinedBy(put func(h *hostOptions, joins func() int)) fault {
	return func(o *options) {
		var mu sync.Mutex
		joins := map[string]int{}
		o.Relay.Inbound = func(_ relayView, from party, in frame) []frame {
			if msg := message(wire.Read(in.Data)); msg.Type() == proto.RelayJoin && !from.Attached {
				mu.Lock()
				defer mu.Unlock()
				joins[msg.PayloadText("sessionId")]++
			}
			return []frame{in}
		}
		inSession(func(h *hostOptions, session string) {
			put(h, func() int {
				mu.Lock()
				defer mu.Unlock()
				return joins[session]
			})
		})(o)
	}
}

// readsOldState has the state before the last state.updated in the first snapshot after another join.
func readsOldState(h *hostOptions, joins func() int) {
	var before, last state
	seen := 0
	h.Policy.Reset = func(_ view, right keep) keep {
		before, last = state{}, state{}
		return right
	}
	h.Policy.State = func(_ view, in part, s state) state {
		if in == host.InUpdate {
			before, last = last, s
			return s
		}
		back := seen > 0 && joins() > seen
		if seen = joins(); back && before.ToolSchema != nil {
			return before
		}
		return s
	}
}

// historyOfConnection has no entries from before the latest join.
func historyOfConnection(h *hostOptions, joins func() int) {
	seen, gone := 0, 0
	h.Policy.Reset = func(_ view, right keep) keep {
		gone = 0
		return right
	}
	h.Policy.State = func(_ view, _ part, s state) state {
		if n := joins(); n > seen {
			if seen > 0 {
				gone = len(s.MessageHistory)
			}
			seen = n
		}
		s.MessageHistory = s.MessageHistory[min(gone, len(s.MessageHistory)):]
		return s
	}
}
