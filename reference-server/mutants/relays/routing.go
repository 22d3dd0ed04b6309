package relays

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// routingFaults send what hosts say to others than to whom it is for.
var routingFaults = map[string]fault{
	"states-to-the-first-agent":   hostTo(first, proto.StateUpdated),
	"states-to-the-last-agent":    hostTo(last, proto.StateUpdated),
	"words-to-the-first-agent":    hostTo(first, proto.UserMessage),
	"words-to-the-last-agent":     hostTo(last, proto.UserMessage),
	"hosts-heard-by-first-agent":  hostTo(first),
	"hosts-heard-by-last-agent":   hostTo(last),
	"answers-to-the-first-agent":  hostTo(first, proto.SnapshotState),
	"answers-to-the-last-agent":   hostTo(last, proto.SnapshotState),
	"answers-to-the-latest-asker": deciding(toLatestAsker),
	"states-to-the-latest-asker":  deciding(statesToLatestAsker),
	"echoes-to-the-sender":        deciding(echoes),
	"confirms-by-itself":          deciding(confirmsItself),
	"ends-sessions-by-itself":     deciding(endsItself),
	"snapshots-from-a-cache":      deciding(snapshotsCached),
}

func first(agents []party) []party { return agents[:min(1, len(agents))] }

func last(agents []party) []party { return agents[max(0, len(agents)-1):] }

// hostTo picks one of the agents for what a host says.
func hostTo(pick func(agents []party) []party, types ...string) fault {
	return deciding(func() rules {
		return rules{recipients: func(v view, from party, e *envelope) []party {
			if isHost(from) && ofType(e, types...) {
				return pick(v.Agents(from.Session))
			}
			return correct.Recipients(v, from, e)
		}}
	})
}

// toLatestAsker answers whoever has asked last.
func toLatestAsker() rules {
	return askers(func(_ view, e *envelope, latest party) ([]party, bool) {
		_, isAnswer := e.ReplyTo()
		return []party{latest}, isAnswer
	})
}

// statesToLatestAsker tells a new state to whom it takes for its author.
func statesToLatestAsker() rules {
	return askers(func(_ view, e *envelope, latest party) ([]party, bool) {
		return []party{latest}, e.Type() == proto.StateUpdated
	})
}

// askers has a host's message go to others, as the agent that has asked last in the session tells.
func askers(to func(v view, e *envelope, latest party) ([]party, bool)) rules {
	latest := map[string]party{}
	return rules{recipients: func(v view, from party, e *envelope) []party {
		if isAgent(from) {
			latest[from.Session] = from
		} else if other, ok := to(v, e, latest[from.Session]); ok && latest[from.Session].Conn > 0 {
			return other
		}
		return correct.Recipients(v, from, e)
	}}
}

// echoes sends everything to all of the session.
func echoes() rules {
	return rules{recipients: func(v view, from party, e *envelope) []party {
		return append([]party{from}, correct.Recipients(v, from, e)...)
	}}
}

// confirmsItself confirms a call that it has passed on, and lets nobody wait.
func confirmsItself() rules {
	return answersItself(proto.ToolCall, func(e *envelope) message {
		tool, _ := e.Payload().Text("toolName")
		return message{"type": proto.ToolResult, "payload": object{"ok": true, "toolName": tool}}
	}, true)
}

// endsItself answers session.end, and has the host not know of it.
func endsItself() rules {
	return answersItself(proto.SessionEnd, func(*envelope) message {
		return message{"type": proto.SessionEnded, "payload": object{"sessionId": "", "logFile": "", "stateReset": true}}
	}, false)
}

func answersItself(kind string, with func(e *envelope) message, pass bool) rules {
	return rules{recipients: func(v view, from party, e *envelope) []party {
		to := correct.Recipients(v, from, e)
		id, ok := e.ID()
		if !isAgent(from) || e.Type() != kind || len(to) == 0 || !ok {
			return to
		}
		v.Send(from.Conn, with(e).With("v", proto.Version).With("replyTo", id).Encode())
		if pass {
			return to
		}
		return nil
	}}
}

// snapshotsCached answers snapshot.get by what it has seen of the session before.
func snapshotsCached() rules {
	cache := map[string][]byte{} // session → snapshot.state
	return rules{recipients: func(v view, from party, e *envelope) []party {
		to := correct.Recipients(v, from, e)
		id, ok := e.ID()
		switch {
		case isHost(from) && e.Type() == proto.SnapshotState:
			cache[from.Session] = slices.Clone(e.Raw)
		case isHost(from) && e.Type() == proto.SessionEnded:
			delete(cache, from.Session)
		case isAgent(from) && e.Type() == proto.SnapshotGet && cache[from.Session] != nil && ok:
			v.Send(from.Conn, edited(cache[from.Session], func(m members) { m["replyTo"] = encoded(id) }))
			return nil
		}
		return to
	}}
}
