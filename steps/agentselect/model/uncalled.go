package model

import (
	"fmt"
	"slices"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// What a client of the harness receives that it has not asked for.

// Fenced is the remark on a connection that all has come which the target has sent on it.
const Fenced = "all that was sent to it has come"

// ofOthers are the clauses that forbid a session's client to be told of the switches of others.
var ofOthers = []string{"AS-007", "AS-015", "AS-057", "AS-058", "AS-059", "AS-095"}

// fenced judges what has not come on a connection.
func (m *Model) fenced(c *conn, r transcript.Record) {
	if s := c.bound; s != nil && s.astray.N > 0 {
		m.broken(s.astray, "the switch announced on the connection of the session, too", "AS-095")
		s.astray = transcript.Record{}
	}
	if c.uncalled < m.acted && c.extraList < m.acted {
		m.kept(r, "AS-023", "AS-024", "AS-026", "AS-054", "AS-125")
		m.kept(r, ofOthers...)
		if m.contested {
			m.kept(r, "AS-094")
		}
		if m.withOthers(c) {
			m.kept(r, "AS-096")
		}
	}
}

// uncalledFor judges an agent_switched to a client of the harness that has no open switch. One that names a session is
// announced wherever that lives.
func (m *Model) uncalledFor(c *conn, r transcript.Record, current string) {
	late := slices.ContainsFunc(c.vain, func(a *ask) bool { return a.fits(r) })
	s := c.bound
	for _, o := range m.conns {
		late = late || slices.ContainsFunc(o.vain, func(a *ask) bool { return a.fits(r) && a.named && a.of == s })
	}
	if m.strange || c.unsure || late {
		return
	}
	for _, o := range m.conns {
		for _, a := range o.open {
			if o == c || a.id != any(current) || a.of == nil || !a.named {
				continue
			}
			if a.of == s { // another client has named this session
				m.announcedHere(a, r, current)
				return
			}
		}
	}
	if a := m.announced; a != nil && a.of == s && a.named && a.c != c && a.id == any(current) && s != nil {
		s.astray = transcript.Record{}
		return
	}
	if m.named[current] && (s == nil || s.past.refusals == 0) && !m.ofItsOwner(c, current) {
		return // it may be of a session that is not known
	}
	c.uncalled = r.N
	var clauses []string
	if s != nil && s.past.refusals > 0 {
		clauses = append(clauses, "AS-054")
	}
	if s != nil && s.past.busy {
		clauses = append(clauses, "AS-125")
	}
	if m.withOthers(c) {
		clauses = append(clauses, ofOthers...)
	}
	if m.contested {
		clauses = append([]string{"AS-094"}, clauses...)
	}
	if m.contested && c.lost != nil && c.lost.past.reloaded {
		clauses = append(clauses, "AS-101")
	}
	m.broken(r, "no agent_switched on the connection of client "+c.name+", which has asked for none", clauses...)
}

// ofItsOwner reports whether an announcement to a client is for the switch of another one that has named its own
// session.
func (m *Model) ofItsOwner(c *conn, current string) bool {
	for _, o := range m.conns {
		own := func(a *ask) bool {
			return a.named && a.id == any(current) && a.of != nil && a.of == o.bound && !a.of.past.reloaded
		}
		if o != c && slices.ContainsFunc(o.open, own) && !m.wanted[c.name][current] {
			return true
		}
	}
	return false
}

// hearing is the announcement of a switch that named a session.
type hearing struct {
	c       *conn
	r       transcript.Record
	current string
}

// heardOnce judges that a switch which names a session is announced to one of the clients that contend for that. If the
// target cannot tell connections apart, nothing else shows which of them has the session.
func (m *Model) heardOnce(c *conn, r transcript.Record, current string) {
	if !m.contends() || !m.named[current] {
		return
	}
	if h := m.hearing; h.c != nil && h.c != c && h.current == current && h.r.N > m.namedAt {
		m.broken(r, "the switch announced on one connection only", "AS-094")
	}
	m.hearing = hearing{c, r, current}
}

// contends reports whether which client has a session is unknown: one has loaded that of another, and the target cannot
// tell connections apart.
func (m *Model) contends() bool { return m.Single && m.contested }

// announcedHere takes the announcement of a switch that another client has asked for by naming the session.
func (m *Model) announcedHere(a *ask, r transcript.Record, current string) {
	s := a.of
	if s.holds || s.waiting {
		m.broken(r, "agent_busy, as a turn of the session goes on", "AS-064", "AS-125")
	} else {
		m.kept(r, "AS-095")
	}
	s.agent, s.virgin, s.refused, m.announced = current, false, "", a
	a.c.drop(a)
}

// ofAnother reports whether an event that is no answer to what its client has asked for is one to another client.
func (m *Model) ofAnother(c *conn, r transcript.Record) bool {
	fits := func(a *ask) bool { return a.fits(r) }
	if !m.ours() || slices.ContainsFunc(c.open, fits) {
		return false
	}
	here := func(a *ask) bool { return a.fits(r) && (!a.named || a.of != nil && a.of == c.bound) }
	for _, o := range m.conns {
		id, last := text(r, vocab.CurrentAgentID), m.refused.a
		same := last != nil && last.c == o && !last.named && wjson.Equal(m.refused.r.Event.Data, r.Event.Data)
		if o != c && (same && (len(c.open) == 0 || last.fits(r)) || slices.ContainsFunc(o.open, here) ||
			m.wanted[o.name][id] && !m.wanted[c.name][id]) {
			return true
		}
	}
	return false
}

// errorsUncalled judges an error to a client of the harness that is for the switch of another one.
func (m *Model) errorsUncalled(c *conn, r transcript.Record) {
	late := slices.ContainsFunc(c.vain, func(a *ask) bool { return a.fits(r) })
	own := c.bound != nil && c.bound.doubled && text(r, vocab.ErrorCode) == vocab.AgentBusy // that of a second chat
	if m.strange || c.unsure || c.odd || c.asked > 0 || late || own || !m.ofAnother(c, r) {
		return
	}
	if m.refusedHere(c, r) {
		return
	}
	c.uncalled = r.N
	clauses := []string{"AS-095", "AS-096", "AS-058", "AS-059"}
	if m.contested {
		clauses = append([]string{"AS-094"}, clauses...)
	}
	m.broken(r, "no error for the switch of another client on the connection of client "+c.name, clauses...)
}

// refusedHere takes the refusal of a switch that names another connection's session: one of the two clients is told, or
// both, in any order.
func (m *Model) refusedHere(c *conn, r transcript.Record) bool {
	if a := m.refusedTo; a != nil && a.c == c && a.fits(r) {
		m.refusedTo = nil
		return true
	}
	for _, o := range m.conns {
		for _, a := range o.open {
			if o != c && a.named && a.of != nil && a.of == c.bound && a.fits(r) {
				m.kept(r, "AS-095")
				m.refusedTo = a
				o.drop(a)
				return true
			}
		}
	}
	return false
}

// announcedTwice judges a repeated agent_switched: the session is at the new agent then, and the copy names another one
// as the agent before it. One that comes with a refusal is no repeat.
func (m *Model) announcedTwice(c *conn, r transcript.Record) {
	switch s := c.bound; {
	case len(c.open) > 0:
		c.twice = r
	case s != nil && s.past.refusals > 0:
		m.broken(r, "no agent_switched, as the switch was refused", "AS-054")
	case text(r, vocab.PreviousAgentID) != text(r, vocab.CurrentAgentID):
		m.broken(r, "one agent_switched for one switch: a second one has the new agent as previousAgentId", "AS-043")
	}
}

// toldTwice judges a repeated agent_switched once the switch is answered before whose answer it came.
func (m *Model) toldTwice(c *conn) {
	if r := c.twice; r.N > 0 && len(c.open) == 0 {
		c.twice = transcript.Record{}
		m.announcedTwice(c, r)
	}
}

// listsAgain judges an agent_list to a client of the harness that has one. One that comes late may belong to the
// session that the client was given before its latest act: then another act shows whether each brings one.
func (m *Model) listsAgain(c *conn, r transcript.Record) {
	if c.given > 0 && c.act > c.given && m.change.n < c.act && c.listAt < c.given {
		c.excused = r.N
		return
	}
	c.extraList = r.N
	m.broken(r, "no agent_list on the connection of client "+c.name, "AS-023", "AS-024", "AS-026")
}

// Excused returns the record of an agent_list that may belong to the session of a client; 0 for none.
func (m *Model) Excused(client string) int {
	if c := m.conns[client]; c != nil {
		return c.excused
	}
	return 0
}

// switchesElsewhere takes the announcement, to the client that asked for it, of a switch of a session that is not that
// of its connection: an earlier one, or that of another connection.
func (m *Model) switchesElsewhere(a *ask, r transcript.Record, current, previous string) {
	s := a.of
	switch own := m.from(s); {
	case own != "" && previous == own:
		m.kept(r, "AS-093")
	case a.c.bound != nil && previous == a.c.bound.agent:
		m.broken(r, fmt.Sprintf("the session with its own agent, not %q of that of the connection", previous), "AS-093")
	}
	if s.owner != nil && !m.contends() {
		s.astray = r
	}
	s.agent, s.virgin, s.refused, m.announced = current, false, "", a
}

// The turns of clients of the harness.

// ReplyTo and EndOf name the answer to the chat in a record, and the end of its turn.
func ReplyTo(record int) string { return fmt.Sprint("the answer to the chat in record ", record) }
func EndOf(record int) string   { return fmt.Sprint("the end of the turn of record ", record) }

// comes returns the clause by which what the target says of a session comes to the connection that has it.
func (s *session) comes() string {
	if s.past.reloaded {
		return "AS-101"
	}
	return "AS-100"
}

// silent judges a chat whose answer, or the end of whose turn, was waited for in vain.
func (m *Model) silent(s *session, why string, ends bool) {
	clauses, what := []string{"AS-019", s.comes()}, "the model's answer in a message event"
	if ends {
		clauses, what = append(clauses, "AS-062"), "complete at the end of the turn, for session "+s.id
		if s.elsewhere {
			clauses = append(clauses, "AS-060", "AS-093")
		}
	}
	m.vain(s.chat, what, why, clauses...)
}

// ends judges a complete.
func (m *Model) ends(s *session, r transcript.Record) {
	answers := func(o *session) bool { return o != s && o.running && o.responded }
	waits := func(o *session) bool { return o != s && o.waiting }
	switch {
	case s.holds:
		m.broken(r, "the turn in progress still running", "AS-062", "AS-125")
	case s.waiting && m.any(answers):
		m.broken(r, "the turn to end whose user has answered, and not this one", "AS-110", "AS-112")
	case s.running:
		m.kept(r, "AS-062")
		if s.responded && m.any(waits) {
			m.kept(r, "AS-110", "AS-112")
		}
		if s.told {
			m.kept(r, "AS-019", s.comes())
		}
	}
}

func (m *Model) any(is func(*session) bool) bool {
	for _, s := range m.sessions {
		if is(s) {
			return true
		}
	}
	return false
}

// goesOnStill judges a switch in mid-turn that was carried out, now that the turn goes on.
func (m *Model) goesOnStill(s *session) {
	if s.during != nil {
		m.broken(*s.during, "agent_busy, as the turn goes on", "AS-064", "AS-090", "AS-109", "AS-110")
		s.during = nil
	}
}
