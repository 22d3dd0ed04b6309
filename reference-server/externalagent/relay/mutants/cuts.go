package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// cutFaults show only if the connection of an agent ends at a certain point, and the agent then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-message-loses-snapshots": returning(snapshotsLostAfter(proto.AgentMessage)),
	"end-after-the-start-loses-snapshots": returning(snapshotsLostAfter(proto.SessionStart)),
	"end-after-a-call-loses-snapshots":    returning(snapshotsLostAfter(proto.ToolCall)),
}

// endings records how the connections of agents ended.
type endings struct {
	trails map[string]*trail // by relay session
	before map[int]*trail    // connection → the agent's earlier connection
}

type trail struct {
	session string
	conn    int
	last    string // type of the last message
}

// returning sets up a fault that depends on how an agent's earlier connection ended.
func returning(put func(o *options, h *endings)) fault {
	return func(o *options) {
		h := &endings{trails: map[string]*trail{}, before: map[int]*trail{}}
		o.Policy.Join = h.join
		put(o, h)
	}
}

// join notes that an agent joins, and which connection the session had before.
func (h *endings) join(_ view, from party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
	if why != nil || j.Role != proto.AgentRole {
		return j, why
	}
	old := h.trails[j.SessionID]
	if old != nil && old.conn != from.Conn {
		h.before[from.Conn] = old
	}
	h.trails[j.SessionID] = &trail{session: j.SessionID, conn: from.Conn, last: proto.RelayJoin}
	return j, nil
}

// route passes on all messages of agents except some, depending on how their earlier connection ended. It checks that
// end only when a message comes, because a reset may be noticed after the agent has joined again.
func (h *endings) route(
	lost func(v view, before *trail, kind string) bool) func(view, party, *envelope, []party) []party {
	return func(v view, from party, e *envelope, to []party) []party {
		if !isAgent(from) {
			return to
		}
		if t := h.trails[from.Session]; t != nil && t.conn == from.Conn {
			t.last = e.Type()
		}
		if before := h.before[from.Conn]; before != nil && lost(v, before, e.Type()) {
			return nil
		}
		return to
	}
}

// snapshotsLostAfter loses the requests of an agent whose earlier connection ended after a message of the type last.
func snapshotsLostAfter(last string) func(o *options, h *endings) {
	return func(o *options, h *endings) {
		o.Policy.Recipients = h.route(func(v view, before *trail, kind string) bool {
			return before.last == last && kind == proto.SnapshotGet &&
				// a second agent of a session that has just started is not a reconnected first agent
				(last != proto.SessionStart || !there(v, before))
		})
	}
}

// there reports whether the connection of a trail is still open.
func there(v view, t *trail) bool {
	return slices.ContainsFunc(v.Agents(t.session), func(p party) bool { return p.Conn == t.conn })
}
