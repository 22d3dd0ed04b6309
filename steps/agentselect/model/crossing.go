package model

import (
	"fmt"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// isNew judges that a session that was created is not that of another open connection. A server may number its
// sessions, and begin anew when it restarts; so the other connection must show that it has outlived the beginning of
// this one.
func (m *Model) isNew(c *conn, r transcript.Record, id string) {
	s := m.sessions[id]
	if id == "" || s == nil || s.owner == nil || s.owner == c {
		if len(m.conns) > 1 && id != "" && s == nil {
			m.kept(r, "AS-094")
		}
		return
	}
	o := s.owner
	if m.Apart != nil && m.Apart(c.name, o.name) {
		return
	}
	judge := func() {
		m.broken(r, fmt.Sprintf("a new session: %s is that of connection %s, which is still open", id, o.name), "AS-094")
	}
	if m.ours() || o.heard > c.opened {
		judge()
	} else if o.waiting == nil {
		o.waiting = judge
	}
}

// crosses judges an agent_switched for which its connection has not asked. It may be for a client that was not
// observed, unless the connection has no session, or one with another agent than the switch begins from, and the switch
// is that of another connection.
func (m *Model) crosses(c *conn, r transcript.Record, current, previous string) {
	unbound := c.bound == nil && (c.lost != nil || !c.sought && !c.other)
	elsewhere := c.bound != nil && c.bound.agent != "" && c.bound.agent != previous && c.asked == 0
	if m.ours() {
		m.uncalledFor(c, r, current)
		return
	}
	if m.strange || c.unsure || c.moving > 0 {
		return
	}
	if s := c.bound; s != nil && s.refused != "" && s.refused == current && s.agent == previous && !s.chats {
		m.broken(r, "no agent_switched, as the switch to "+current+" was refused", "AS-054")
		return
	}
	for _, o := range m.conns {
		if len(o.open) == 1 && !o.open[0].named && o.open[0].id == any(current) && c.bound != nil && o.lost == c.bound {
			m.broken(r, fmt.Sprintf("no switch of the session that connection %s has lost to this one", o.name), "AS-094")
			return
		}
		if o == c || o.bound == nil || !unbound && !elsewhere {
			continue
		}
		asks := len(o.open) > 0 && o.open[0].id == any(current)
		if asks || m.latest == o.bound && o.bound.agent == current {
			clauses := []string{"AS-095"}
			if c.lost != nil && c.lost == o.bound {
				clauses = append(clauses, "AS-094")
			}
			m.broken(r, fmt.Sprintf("the switch of connection %s announced on that connection only", o.name), clauses...)
			return
		}
	}
}

// strays judges an error that answers a switch of another connection: one for an agent that only that one has asked
// for, or on a connection that has never asked for a switch.
func (m *Model) strays(c *conn, r transcript.Record) {
	if m.strange || c.unsure || c.moving > 0 || c.asked > 0 || len(c.open) > 0 {
		return
	}
	for _, o := range m.conns {
		var a *ask
		switch same := m.refused.a != nil && m.refused.a.c == o && wjson.Equal(m.refused.r.Event.Data, r.Event.Data); {
		case o == c || o.unsure:
			continue
		case same:
			a = m.refused.a
		case len(o.open) == 1:
			a = o.open[0]
		}
		if a == nil || a.named || !a.fits(r) {
			continue
		}
		id, _ := a.id.(string)
		names := id != "" && strings.Contains(text(r, vocab.Message), id) && !c.wants[id] && len(c.wants) < maxOpen
		if names || c.asks == 0 && !c.other {
			m.broken(r, fmt.Sprintf("the error for the switch of connection %s on that connection only", o.name), "AS-095")
			return
		}
	}
}

// leads judges the previous agent of a switch.
func (m *Model) leads(s *session, r transcript.Record, previous string) {
	apart := []string{"AS-007", "AS-015", "AS-093"}
	others := m.latest != nil && m.latest != s && m.latest.agent != "" && m.latest.agent != s.agent
	switch {
	case s.agent == "" && s.virgin:
		m.begins(s, r, previous)
	case s.agent == "":
	case previous == s.agent:
		m.kept(r, "AS-043")
		if others {
			m.kept(r, apart...)
		}
		if s.refused != "" && s.refused != s.agent {
			m.kept(r, "AS-053", "AS-054")
		}
	case s.owner.elsewhere:
		m.broken(r, "the agent before the switch of an unknown session was refused: "+s.agent, "AS-053", "AS-091")
	case s.refused != "" && previous == s.refused:
		m.broken(r, "the agent before the switch that failed: "+s.agent, "AS-053")
	case others && previous == m.latest.agent:
		m.broken(r, "the session's own agent, regardless of other sessions: "+s.agent, apart...)
	case s.refused != "":
		m.broken(r, "the agent before the switch that failed: "+s.agent, "AS-053")
	default:
		m.broken(r, "previousAgentId as set by the previous switch: "+s.agent, "AS-043")
	}
}

// begins judges the first switch of a session that was created without naming an agent: it begins from the agent that
// others began from, and not from that of another session.
func (m *Model) begins(s *session, r transcript.Record, previous string) {
	if m.fresh == "" {
		m.fresh = previous
	}
	if previous == m.fresh {
		if m.latest != nil && m.latest != s && m.latest.agent != previous {
			m.kept(r, "AS-058")
		}
		return
	}
	if f := s.before; f != nil && f.agent == previous {
		m.broken(r, "the agent that new sessions begin with: "+m.fresh, "AS-096", "AS-103")
		return
	}
	for _, o := range m.sessions {
		if o != s && o.agent == previous {
			m.broken(r, "the agent that new sessions begin with, regardless of other sessions: "+m.fresh, "AS-007", "AS-015",
				"AS-058", "AS-093")
			return
		}
	}
}

// wants keeps what each client of the harness asks for.
func (m *Model) wants(r transcript.Record) {
	id, _ := member(r, vocab.AgentID)
	if m.wanted[r.Conn] == nil {
		m.wanted[r.Conn] = map[any]bool{}
	}
	if !isString(id) {
		return
	}
	m.wanted[r.Conn][id] = true
	if _, named := member(r, vocab.SessionID); named {
		m.named[id], m.namedAt = true, r.N
	}
}

// ownConnection judges agent_switched events while several clients of the harness ask for switches: one that was
// requested only on another connection was misdirected. A switch that names a session may be announced wherever that
// session lives, so those are left to the scenarios.
func (m *Model) ownConnection(r transcript.Record) {
	id, _ := member(r, vocab.CurrentAgentID)
	if len(m.wanted) < 2 || !isString(id) || m.named[id] {
		return
	}
	own, elsewhere := m.wanted[r.Conn][id], false
	for conn, ids := range m.wanted {
		elsewhere = elsewhere || conn != r.Conn && ids[id]
	}
	f := finding(r, own || !elsewhere, "agent_switched on the connection that asked for it", "AS-059", "AS-095")
	f.Model = switchesOn(r)
	m.out = append(m.out, f)
}

// switchesOn names the part of the model that ownConnection judges by: the switches announced on a connection. After a
// misdirected one, the owners of later ones are unknown.
func switchesOn(r transcript.Record) string {
	if r.Dir != transcript.Received || r.Event == nil || r.Event.Type != vocab.AgentSwitchedEvent {
		return ""
	}
	return "switches on " + r.Conn
}

// resembles reports whether two ids differ in case and white space only.
func resembles(a, b string) bool {
	return a != b && a != "" && strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}
