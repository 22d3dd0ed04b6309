package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// hostFaults lose the host of a relay session, or its place.
var hostFaults = map[string]fault{
	"host-role-unknown":        joining(hostUnknown),
	"joined-once-a-host-is":    joinedOnceHostIs,
	"early-agent-never-paired": earlyAgentUnpaired,
	"host-place-never-given": placeKept(func(j proto.Join) bool {
		return j.Role != proto.AgentRole
	}, "the session has a host"),
	"next-host-not-heard":     nextHostUnheard,
	"next-host-hears-nothing": nextHostDeaf,
	"returning-agent-refused": placeKept(func(j proto.Join) bool {
		return j.Role == proto.AgentRole
	}, "the session has its agent"),
	"returning-agent-not-heard": returnUnheard,
	"late-host-is-an-agent":     joining(lateHostIsAgent),
}

// hostUnknown recognizes hosts only by the role "frontend".
func hostUnknown(_ view, _ party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
	if j.Role == proto.HostRole {
		return j, &refusal{Code: proto.InvalidMessage, Text: `role must be "agent" or "frontend"`}
	}
	return j, why
}

// joinedOnceHostIs answers an agent's join only once the host is present.
func joinedOnceHostIs(o *options) {
	type waiting struct {
		conn    int
		session string
		msg     []byte
	}
	var all []waiting
	o.Policy.Joined = func(v view, to party, _ proto.Join, msg message) message {
		if _, ok := v.Host(to.Session); isAgent(to) && !ok {
			all = append(all, waiting{to.Conn, to.Session, wire.Encode(msg)})
			return nil
		}
		all = slices.DeleteFunc(all, func(w waiting) bool {
			served := isHost(to) && w.session == to.Session
			if served {
				v.Send(w.conn, w.msg)
			}
			return served
		})
		return msg
	}
}

// earlyAgentUnpaired looks for the host only when an agent joins.
func earlyAgentUnpaired(o *options) {
	early := map[int]bool{}
	o.Policy.Joined = func(v view, to party, _ proto.Join, msg message) message {
		_, ok := v.Host(to.Session)
		early[to.Conn] = isAgent(to) && !ok
		return msg
	}
	o.Policy.Recipients = func(_ view, from party, _ *envelope, to []party) []party {
		if early[from.Conn] {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(to), func(p party) bool { return early[p.Conn] })
	}
}

// placeKept accepts one party of a kind per session and does not free its place when it leaves.
func placeKept(which func(j proto.Join) bool, refused string) fault {
	return func(o *options) {
		taken := map[string]bool{}
		o.Policy.Join = func(_ view, _ party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
			switch {
			case why != nil || !which(j):
				return j, why
			case taken[j.SessionID]:
				return j, &refusal{Code: proto.InvalidMessage, Text: refused}
			}
			taken[j.SessionID] = true
			return j, nil
		}
	}
}

// firstOf records the first party of a role in each session.
func firstOf(o *options, is func(p party) bool) map[string]int {
	first := map[string]int{}
	o.Policy.Joined = func(_ view, to party, _ proto.Join, msg message) message {
		if is(to) && first[to.Session] == 0 {
			first[to.Session] = to.Conn
		}
		return msg
	}
	return first
}

// nextHostUnheard passes on only what the first host of a session sends.
func nextHostUnheard(o *options) {
	first := firstOf(o, isHost)
	o.Policy.Recipients = func(_ view, from party, _ *envelope, to []party) []party {
		if isHost(from) && first[from.Session] != from.Conn {
			return nil
		}
		return to
	}
}

// nextHostDeaf keeps sending to the first host of a session.
func nextHostDeaf(o *options) {
	first := firstOf(o, isHost)
	o.Policy.Recipients = func(_ view, from party, _ *envelope, to []party) []party {
		if isAgent(from) && len(to) > 0 {
			return []party{{Conn: first[from.Session]}}
		}
		return to
	}
}

// returnUnheard keeps sending to the first agent of a session.
func returnUnheard(o *options) {
	first := firstOf(o, isAgent)
	o.Policy.Recipients = func(_ view, from party, _ *envelope, to []party) []party {
		if isHost(from) {
			return []party{{Conn: first[from.Session]}}
		}
		return to
	}
}

// lateHostIsAgent makes every party after the first in a session an agent.
func lateHostIsAgent(v view, _ party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
	if _, there := v.Host(j.SessionID); why == nil && (there || len(v.Agents(j.SessionID)) > 0) {
		j.Role = proto.AgentRole
	}
	return j, why
}
