package relays

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// hostFaults lose the host of a relay session, or its place.
var hostFaults = map[string]fault{
	"host-role-unknown":         deciding(hostUnknown),
	"joined-once-a-host-is":     deciding(joinedOnceHostIs),
	"early-agent-never-paired":  deciding(earlyAgentUnpaired),
	"host-place-never-given":    deciding(hostPlaceKept),
	"next-host-not-heard":       deciding(nextHostUnheard),
	"next-host-hears-nothing":   deciding(nextHostDeaf),
	"returning-agent-refused":   deciding(returnRefused),
	"returning-agent-not-heard": deciding(returnUnheard),
	"late-host-is-an-agent":     deciding(lateHostIsAgent),
}

// hostUnknown knows hosts by their other name alone.
func hostUnknown() rules {
	return rules{join: func(v view, from party, e *envelope) (proto.Join, *refusal) {
		if role, _ := e.Payload().Text("role"); role == proto.HostRole {
			return proto.Join{}, &refusal{Code: proto.InvalidMessage, Text: `role must be "agent" or "frontend"`}
		}
		return correct.Join(v, from, e)
	}}
}

// joinedOnceHostIs answers an agent's join when it can speak to somebody.
func joinedOnceHostIs() rules {
	type waiting struct {
		conn    int
		session string
		msg     []byte
	}
	var all []waiting
	return rules{joined: func(v view, to party, _ *envelope, msg message, _ proto.Join) message {
		if _, ok := v.Host(to.Session); isAgent(to) && !ok {
			all = append(all, waiting{to.Conn, to.Session, msg.Encode()})
			return nil
		}
		if isHost(to) {
			all = slices.DeleteFunc(all, func(w waiting) bool {
				if w.session == to.Session {
					v.Send(w.conn, w.msg)
				}
				return w.session == to.Session
			})
		}
		return msg
	}}
}

// earlyAgentUnpaired looks for the host when an agent joins, and only then.
func earlyAgentUnpaired() rules {
	early := map[int]bool{}
	return rules{
		joined: func(v view, to party, _ *envelope, msg message, _ proto.Join) message {
			if _, ok := v.Host(to.Session); isAgent(to) && !ok {
				early[to.Conn] = true
			}
			return msg
		},
		recipients: func(v view, from party, e *envelope) []party {
			if early[from.Conn] {
				return nil
			}
			return slices.DeleteFunc(slices.Clone(correct.Recipients(v, from, e)), func(p party) bool { return early[p.Conn] })
		},
	}
}

// hostPlaceKept never forgets that a session has a host.
func hostPlaceKept() rules {
	taken := map[string]bool{}
	return rules{join: func(v view, from party, e *envelope) (proto.Join, *refusal) {
		j, why := correct.Join(v, from, e)
		if why != nil || j.Role == proto.AgentRole {
			return j, why
		}
		if taken[j.SessionID] {
			return j, &refusal{Code: proto.InvalidMessage, Text: "the session has a host"}
		}
		taken[j.SessionID] = true
		return j, nil
	}}
}

// firstHosts keeps the first host of each session.
type firstHosts map[string]int

func (f firstHosts) note(to party) {
	if isHost(to) && f[to.Session] == 0 {
		f[to.Session] = to.Conn
	}
}

// nextHostUnheard passes on what the first host of a session says.
func nextHostUnheard() rules {
	first := firstHosts{}
	return rules{
		joined: func(_ view, to party, _ *envelope, msg message, _ proto.Join) message {
			first.note(to)
			return msg
		},
		recipients: func(v view, from party, e *envelope) []party {
			if isHost(from) && first[from.Session] != from.Conn {
				return nil
			}
			return correct.Recipients(v, from, e)
		},
	}
}

// nextHostDeaf sends to the first host of a session, for ever.
func nextHostDeaf() rules {
	first := firstHosts{}
	return rules{
		joined: func(_ view, to party, _ *envelope, msg message, _ proto.Join) message {
			first.note(to)
			return msg
		},
		recipients: func(v view, from party, e *envelope) []party {
			to := correct.Recipients(v, from, e)
			if isAgent(from) && len(to) > 0 {
				return []party{{Conn: first[from.Session]}}
			}
			return to
		},
	}
}

// returnRefused takes an agent that comes back for a second one.
func returnRefused() rules {
	there := map[string]bool{}
	return rules{join: func(v view, from party, e *envelope) (proto.Join, *refusal) {
		j, why := correct.Join(v, from, e)
		if why != nil || j.Role != proto.AgentRole {
			return j, why
		}
		if there[j.SessionID] {
			return j, &refusal{Code: proto.InvalidMessage, Text: "the session has its agent"}
		}
		there[j.SessionID] = true
		return j, nil
	}}
}

// returnUnheard sends what is for an agent to where the session's agent was first.
func returnUnheard() rules {
	first := map[string]int{}
	return rules{
		joined: func(_ view, to party, _ *envelope, msg message, _ proto.Join) message {
			if isAgent(to) && first[to.Session] == 0 {
				first[to.Session] = to.Conn
			}
			return msg
		},
		recipients: func(v view, from party, e *envelope) []party {
			if isHost(from) {
				return []party{{Conn: first[from.Session]}}
			}
			return correct.Recipients(v, from, e)
		},
	}
}

// lateHostIsAgent takes whoever joins a session in which somebody is for an agent.
func lateHostIsAgent() rules {
	return rules{join: func(v view, from party, e *envelope) (proto.Join, *refusal) {
		j, why := correct.Join(v, from, e)
		if _, there := v.Host(j.SessionID); why == nil && j.Role != proto.AgentRole && (there || len(v.Agents(j.SessionID)) > 0) {
			return proto.Join{Role: proto.AgentRole, SessionID: j.SessionID}, nil
		}
		return j, why
	}}
}
