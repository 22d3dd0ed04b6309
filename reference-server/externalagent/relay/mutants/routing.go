package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// routingFaults send hosts' messages to the wrong parties, or answer for the host.
var routingFaults = map[string]fault{
	"states-to-the-first-agent":   hostTo(first, proto.StateUpdated),
	"states-to-the-last-agent":    hostTo(last, proto.StateUpdated),
	"words-to-the-first-agent":    hostTo(first, proto.UserMessage),
	"words-to-the-last-agent":     hostTo(last, proto.UserMessage),
	"hosts-heard-by-first-agent":  hostTo(first),
	"hosts-heard-by-last-agent":   hostTo(last),
	"answers-to-the-first-agent":  hostTo(first, proto.SnapshotState),
	"answers-to-the-last-agent":   hostTo(last, proto.SnapshotState),
	"answers-to-the-latest-asker": toLatestAsker(isAnswer),
	"states-to-the-latest-asker":  toLatestAsker(is(proto.StateUpdated)),
	"echoes-to-the-sender": routing(func(_ view, from party, _ *envelope, to []party) []party {
		return append([]party{from}, to...)
	}),
	"confirms-by-itself":      answersItself(proto.ToolCall, confirmation, true),
	"ends-sessions-by-itself": answersItself(proto.SessionEnd, ended, false), // without telling the host
	"snapshots-from-a-cache":  snapshotsCached,
}

func first(agents []party) []party { return agents[:min(1, len(agents))] }
func last(agents []party) []party  { return agents[max(0, len(agents)-1):] }

// hostTo sends host messages to only one of the agents.
func hostTo(pick func(agents []party) []party, types ...string) fault {
	return routing(func(v view, from party, e *envelope, to []party) []party {
		if isHost(from) && ofType(e, types...) {
			return pick(v.Agents(from.Session))
		}
		return to
	})
}

// toLatestAsker sends some host messages to the agent of the session that sent last.
func toLatestAsker(which func(from party, e *envelope) bool) fault {
	return func(o *options) {
		latest := map[string]party{}
		o.Policy.Recipients = func(_ view, from party, e *envelope, to []party) []party {
			if isAgent(from) {
				latest[from.Session] = from
			} else if p := latest[from.Session]; p.Conn > 0 && which(from, e) {
				return []party{p}
			}
			return to
		}
	}
}

// confirmation returns the reply to a successful call.
func confirmation(e *envelope) message {
	id, _ := e.ID()
	tool, _ := e.Payload().Text("toolName")
	return wire.New(proto.ToolResult, object{"ok": true, "toolName": tool}).With("replyTo", id)
}

func ended(e *envelope) message {
	id, _ := e.ID()
	return wire.New(proto.SessionEnded, object{"sessionId": "", "logFile": "", "stateReset": true}).With("replyTo", id)
}

// answersItself answers the requests of a type, and optionally also passes them on.
func answersItself(kind string, with func(e *envelope) message, pass bool) fault {
	return routing(func(v view, from party, e *envelope, to []party) []party {
		if _, ok := e.ID(); !isAgent(from) || e.Type() != kind || len(to) == 0 || !ok {
			return to
		}
		v.Send(from.Conn, wire.Encode(with(e)))
		if pass {
			return to
		}
		return nil
	})
}

// snapshotsCached answers snapshot.get with the last snapshot.state of the session.
func snapshotsCached(o *options) {
	cache := map[string][]byte{} // session → snapshot.state
	o.Policy.Recipients = func(v view, from party, e *envelope, to []party) []party {
		id, ok := e.ID()
		switch {
		case isHost(from) && e.Type() == proto.SnapshotState:
			cache[from.Session] = slices.Clone(e.Raw)
		case isHost(from) && e.Type() == proto.SessionEnded:
			delete(cache, from.Session)
		case isAgent(from) && e.Type() == proto.SnapshotGet && cache[from.Session] != nil && ok:
			v.Send(from.Conn, edited(cache[from.Session], func(m members) { m["replyTo"] = wire.Encode(id) }))
			return nil
		}
		return to
	}
}
