package passive

import (
	"fmt"

	"parley/transport/transcript"
)

// isNew judges that a session that was created is not that of another open connection. A server may number its
// sessions, and begin anew when it restarts; so the other connection must show that it has outlived the beginning of
// this one.
func (m *model) isNew(c *conn, r transcript.Record, id string) {
	s := m.sessions[id]
	if id == "" || s == nil || s.owner == nil || s.owner == c {
		if len(m.conns) > 1 && id != "" && s == nil {
			m.kept(r, "AS-094")
		}
		return
	}
	o := s.owner
	judge := func() {
		m.broken(r, fmt.Sprintf("a new session: %s is that of connection %s, which is still open", id, m.nameOf(o)), "AS-094")
	}
	if o.heard > c.opened {
		judge()
	} else if o.waiting == nil {
		o.waiting = judge
	}
}

func (m *model) nameOf(c *conn) string {
	for name, other := range m.conns {
		if other == c {
			return name
		}
	}
	return c.id
}

// crosses judges an agent_switched for which its connection has not asked. It may be for a client that was not
// observed, unless the connection has no session, or one with another agent than the switch begins from, and the switch
// is that of another connection.
func (m *model) crosses(c *conn, r transcript.Record, current, previous string) {
	unbound := c.bound == nil && !c.sought && !c.other
	elsewhere := c.bound != nil && c.bound.agent != "" && c.bound.agent != previous && c.asked == 0
	if m.strange || c.unsure || !unbound && !elsewhere {
		return
	}
	for name, o := range m.conns {
		if o == c || o.bound == nil {
			continue
		}
		asks := len(o.open) > 0 && o.open[0].id == any(current)
		if asks || m.latest == o.bound && o.bound.agent == current {
			m.broken(r, fmt.Sprintf("the switch of connection %s announced on that connection only", name), "AS-095")
			return
		}
	}
}
