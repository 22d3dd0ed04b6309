package mutants

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// cutFaults show only if the connection of an agent ends at one point, and the agent then comes back.
var cutFaults = map[string]fault{
	"end-after-a-message-loses-snapshots": returning(snapshotsLostAfter(proto.AgentMessage)),
	"end-after-the-start-loses-snapshots": returning(snapshotsLostAfter(proto.SessionStart)),
	"end-after-a-call-loses-snapshots":    returning(snapshotsLostAfter(proto.ToolCall)),
}

// haunts remembers how the connections of agents ended.
type haunts struct {
	trails map[string]*trail // by relay session
	before map[int]string    // connection → the last message of the agent's earlier connection
}

type trail struct {
	conn int
	last string // type of the last message
}

// returning sets up a fault that depends on how an agent's earlier connection ended.
func returning(put func(o *options, h *haunts)) fault {
	return func(o *options) {
		h := &haunts{trails: map[string]*trail{}, before: map[int]string{}}
		o.Policy.Join = h.join
		put(o, h)
	}
}

// join notes that an agent joins, and how its earlier connection ended.
func (h *haunts) join(v view, from party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
	if why != nil || j.Role != proto.AgentRole {
		return j, why
	}
	old := h.trails[j.SessionID]
	there := func(p party) bool { return p.Conn == old.conn }
	if old != nil && old.conn != from.Conn && !slices.ContainsFunc(v.Agents(j.SessionID), there) {
		h.before[from.Conn] = old.last
	}
	h.trails[j.SessionID] = &trail{conn: from.Conn, last: proto.RelayJoin}
	return j, nil
}

// route passes on all messages of agents but some, depending on how their earlier connection ended.
func (h *haunts) route(lost func(last, kind string) bool) func(view, party, *envelope, []party) []party {
	return func(_ view, from party, e *envelope, to []party) []party {
		if !isAgent(from) {
			return to
		}
		if t := h.trails[from.Session]; t != nil && t.conn == from.Conn {
			t.last = e.Type()
		}
		if lost(h.before[from.Conn], e.Type()) {
			return nil
		}
		return to
	}
}

func snapshotsLostAfter(last string) func(o *options, h *haunts) {
	return func(o *options, h *haunts) {
		o.Policy.Recipients = h.route(func(before, kind string) bool {
			return before == last && kind == proto.SnapshotGet
		})
	}
}
