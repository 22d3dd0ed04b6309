package model

import (
	"cmp"
	"fmt"
	"slices"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
)

// What is judged of a switch of a client of the harness that should succeed: it starts from the agent that the session
// has, whatever the session, its connection and other clients have been through. The clauses that it tests depend on
// that.

// past is what a session has been through since its client got it, or since the switch that succeeded last.
type past struct {
	initial  string // the agent that was named when it was created
	reloaded bool   // the client has loaded it
	switches int    // that succeeded
	refusals int
	busy     bool // one of them said that the session is busy
	aborted  bool
	doubt    *doubt
}

// situation returns the clauses that a switch tests.
func (m *Model) situation(a *ask) (ids []string) {
	c, s := a.c, a.of
	if s == nil || a.elsewhere() || m.Default == "" { // nothing is known of the target
		return nil
	}
	add := func(when bool, more ...string) {
		if when {
			ids = append(ids, without(more, ids...)...)
		}
	}
	p := s.past
	add(!a.named, "AS-041", "AS-081", "AS-096", "AS-102", "AS-103")
	add(a.named, "AS-078")
	add(p.reloaded, "AS-101")
	add(!p.reloaded, "AS-100")
	add(p.switches > 0, "AS-006")
	add(p.initial != "", "AC-117")
	add(p.switches == 0 && !p.reloaded && p.initial == "", "AS-055", "AS-056", "AS-128")
	add(c.chooses() != "" || p.switches == 0, "AS-022")
	add(c.chooses() != "", "AS-021")
	add(p.refusals > 0, "AS-053")
	add(p.busy, "AS-125", "AS-061")
	add(p.busy || c.other, "AS-111")
	add(c.other, "AS-061", "AS-069")
	add(p.aborted, "AS-068", "AC-079", "AS-069")
	add(m.withOthers(c), "AS-005", "AS-007", "AS-015", "AS-057", "AS-058", "AS-059", "AS-060", "AS-093", "AS-095")
	add(c.former != nil, "AS-093")
	add(m.othersRun(s), "AS-112")
	add(m.isCustom(a.id) || m.isCustom(s.agent), "AS-046")
	_, since := m.agents[fmt.Sprint(a.id)]
	add(since || c.offers(a.id), "AS-012")
	add(true, "AS-025")
	return ids
}

// admitting are the clauses by which a switch is not refused as busy: one that is confirmed keeps them, whatever it
// says.
var admitting = []string{"AS-111", "AS-112"}

// sharing are the clauses that sessions with one agent break.
var sharing = []string{"AS-007", "AS-005", "AS-015", "AS-057", "AS-058"}

// elsewhere reports whether a switch names the session of another connection.
func (a *ask) elsewhere() bool { return a.of != nil && a.of.owner != a.c }

// offers reports whether the latest list of a connection has an agent, whatever else is wrong with it.
func (c *conn) offers(id any) bool {
	return c.latestList.N > 0 && lists(c.latestList, vocab.AgentInfo{ID: fmt.Sprint(id)})
}

// withOthers reports whether other clients have sessions, or have asked for a switch without one.
func (m *Model) withOthers(c *conn) bool {
	return len(m.seated) > 1 || len(m.seated) == 1 && !m.seated[c.name]
}

// othersRun reports whether a turn runs in another session.
func (m *Model) othersRun(s *session) bool {
	for _, o := range m.sessions {
		if o != s && o.running {
			return true
		}
	}
	return false
}

func (m *Model) isCustom(id any) bool {
	return slices.ContainsFunc(m.Custom, func(a vocab.AgentInfo) bool { return any(a.ID) == id })
}

// from returns the agent that a session has; "" if that is unknown.
func (m *Model) from(s *session) string {
	if s.agent == "" && s.virgin {
		return cmp.Or(s.past.initial, m.Default)
	}
	return s.agent
}

// starts judges the agent from which a client of the harness was switched.
func (m *Model) starts(a *ask, r transcript.Record, current string) {
	s, from := a.of, m.from(a.of)
	value, _ := member(r, vocab.PreviousAgentID)
	previous, is := value.(string)
	told := m.said[pair{r.Conn, current, previous}]
	m.said[pair{r.Conn, current, previous}] = true
	if d := s.past.doubt; d != nil {
		d.trials = append(d.trials, trial{refused: s.past.refusals > 0, right: previous == from})
		return
	}
	tests := without(a.tests, admitting...)
	m.kept(r, only(a.tests, admitting...)...)
	switch first := s.past.switches == 0 && !s.past.reloaded; {
	case first && m.uninvolved(a): // what sessions begin with is no matter of this one
		tests = only(tests, "AS-055", "AS-056", "AS-128", "AS-022", "AS-021", "AC-117")
	case m.uninvolved(a):
		tests = []string{"AS-043", "AS-006"}
	case !first:
		tests = append(tests, "AS-043")
	}
	expected := "previousAgentId " + fmt.Sprintf("%q", from)
	former := from == "" && m.ofFormer(a.c, previous)
	switch {
	case former && m.shared():
		m.broken(r, "the agent of the session that was loaded, regardless of others", sharing...)
	case former:
		m.broken(r, fmt.Sprintf("the agent of the session that was loaded, and not that of the one before it, %q", previous),
			"AS-101")
	case from == "" && is && previous != "":
		m.kept(r, without(tests, "AS-043")...)
	case from == "" || previous == from:
		m.kept(r, append(without(a.tests, tests...), tests...)...)
	case !is || previous == "":
		m.broken(r, expected, only(tests, "AS-043")...)
	case m.alone(previousKinds(previous, current, m.Default, told)...):
		m.broken(r, expected, "AS-043", "AS-006")
	case a.c.elsewhere:
		m.broken(r, "the agent before the switch of an unknown session was refused: "+from, "AS-053", "AS-091")
	case s.past.refusals > 0:
		s.past.doubt = &doubt{r: r, a: a, from: from, previous: previous, tests: tests}
	default:
		m.startsElsewhere(a, r, from, previous, tests)
	}
	if m.uninvolved(a) && s.past.switches > 0 && from != "" && previous != from {
		m.deviations = append(m.deviations, previousKinds(previous, current, m.Default, told)[:1]...)
	}
}

// ofFormer reports whether an agent is that of the session that a connection had before it loaded the one that it has,
// and none that the latter can have: which one a session has after it was loaded is open.
func (m *Model) ofFormer(c *conn, agent string) bool {
	s, f := c.bound, c.former
	return f != nil && f.agent == agent && s.first != "" && !slices.Contains([]string{s.left, s.first, m.Default}, agent)
}

// startsElsewhere judges a switch from another agent than that of the session, which no refusal explains: that of
// another client's session, if sessions share one.
func (m *Model) startsElsewhere(a *ask, r transcript.Record, from, previous string, tests []string) {
	for _, o := range m.sessions {
		if o == a.of || o.by == a.c.name || cmp.Or(o.agent, o.left) != previous {
			continue
		}
		m.Mixed = append(m.Mixed, Mixture{By: o.by, Agent: previous, On: r})
		m.broken(r, fmt.Sprintf("%q, regardless of the switches of client %s", from, o.by), append(slices.Clone(sharing),
			"AS-060", "AS-093")...)
		return
	}
	if m.shared() {
		tests = slices.Clone(sharing)
		if !m.withOthers(a.c) { // nothing in its scenario shows whose agent it is
			tests = append(tests, "AS-043")
		}
	}
	m.broken(r, fmt.Sprintf("previousAgentId %q", from), tests...)
}

// shared reports whether sessions are known to share one agent: that explains any other agent than a session's own.
func (m *Model) shared() bool { return len(m.Mixed) > 0 || m.Shared != nil && m.Shared() }

// without returns clauses without others.
func without(ids []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}

// Mixture is a switch that started from the agent of another client's session.
type Mixture struct {
	By, Agent string
	On        transcript.Record
}

// doubt is a switch that started from a wrong agent after a refusal, which may have moved the session there. The
// switches that the harness tries then show it: it repeats a refused switch between two others, and omits it.
type doubt struct {
	r              transcript.Record
	a              *ask
	from, previous string
	tests          []string
	trials         []trial
}

// trial is a later switch of the session.
type trial struct{ refused, right bool }

// Tried is the remark that such switches were tried.
const Tried = "whether a refusal has moved the agent was tried"

// Doubts reports whether it is to be tried whether a refused switch has moved the agent of a client's session.
func (m *Model) Doubts(client string) bool {
	c := m.conns[client]
	return c != nil && c.bound != nil && c.bound.past.doubt != nil
}

// tried judges a doubtful switch: a refused switch has moved the agent if another one does, and no switch without it.
func (m *Model) tried(s *session) {
	d := s.past.doubt
	if s.past.doubt = nil; d == nil {
		return
	}
	moves := slices.ContainsFunc(d.trials, func(t trial) bool { return t.refused && !t.right })
	stays := !slices.ContainsFunc(d.trials, func(t trial) bool { return !t.refused && !t.right })
	if moves && stays {
		m.broken(d.r, fmt.Sprintf("%q kept after a refused switch, which leads to another agent in a second attempt, too",
			d.from), "AS-053")
		return
	}
	m.startsElsewhere(d.a, d.r, d.from, d.previous, d.tests)
}

// pair are the agents in an agent_switched on a connection.
type pair struct{ conn, current, previous string }

// previousKinds names how a previous agent is wrong.
func previousKinds(previous, current, usual string, told bool) (kinds []string) {
	for _, k := range []struct {
		is   bool
		what string
	}{{previous == current, "previousAgentId is the agent switched to"},
		{told, "previousAgentId is that of an earlier switch to the same agent"},
		{previous == usual, "previousAgentId is the default agent after a switch"}} {
		if k.is {
			kinds = append(kinds, k.what)
		}
	}
	return append(kinds, "another previousAgentId")
}

// alone reports whether the target has shown one of some deviations to a client that had it to itself.
func (m *Model) alone(what ...string) bool {
	return m.Alone != nil && slices.ContainsFunc(what, m.Alone)
}

// answers names how a switch was answered that should have succeeded.
func (a *ask) answers(answer string) []string {
	id, _ := a.id.(string)
	when := "a first switch: "
	if a.of != nil && a.of.past.switches > 0 {
		when = "a later switch: "
	}
	return []string{"a switch to " + id + ": " + answer, when + answer}
}

// Deviations returns how the target has deviated from what a client that has it to itself is owed.
func (m *Model) Deviations() []string { return m.deviations }

// uninvolved reports whether there is no more to a switch than the client's own session, new and idle.
func (m *Model) uninvolved(a *ask) bool {
	s := a.of
	return s != nil && !m.withOthers(a.c) && !a.c.other && !s.past.reloaded && a.c.former == nil && !m.isCustom(a.id) &&
		!m.isCustom(s.agent)
}

// unconfirmed judges a switch that the harness knows that nothing speaks against, and that was refused.
func (m *Model) unconfirmed(a *ask, r transcript.Record) {
	answer := text(r, vocab.ErrorCode)
	if !known(r) {
		answer = "another error"
	}
	m.broken(r, fmt.Sprintf("agent_switched to %q on the connection of client %s", a.id, a.c.name), m.why(a, answer)...)
}

// silence is how a switch is answered that gets no answer.
const silence = "no answer"

// why returns the clauses that the answer to a switch that should have succeeded breaks: those that it breaks whatever
// the situation, if that has nothing to do with it, or else all that the switch tests.
func (m *Model) why(a *ask, answer string) []string {
	alone := m.alone(a.answers(answer)...)
	if m.uninvolved(a) {
		m.deviations = append(m.deviations, a.answers(answer)...)
	}
	if breaks := m.breaks(a, answer); len(breaks) > 0 && a.c.offers(a.id) && (alone || m.uninvolved(a)) {
		return breaks
	}
	return a.tests
}

// breaks returns the clauses that an answer to a switch breaks which does not depend on the situation.
func (m *Model) breaks(a *ask, answer string) (breaks []string) {
	switch answer {
	case "another error": // not understood
		breaks = a.ununderstood()
	case silence:
		breaks = []string{"AS-011", "AS-017", "AS-042", "AS-084", "AS-116"}
	case vocab.SessionNotFound:
		if a.named {
			return nil
		}
		breaks = []string{"AS-041", "AS-081", "AS-096", "AS-100", "AS-103", "AC-116"}
	case vocab.InvalidAgentID:
		breaks = []string{"AS-011", "AS-041", "AS-116"}
	case vocab.InvalidAgentIDFormat:
		return []string{"AS-012", "AS-080"}
	case vocab.AgentNotFound:
		return []string{"AS-012"}
	default: // it is said to be busy, without a turn
		return []string{"AS-006"}
	}
	if a.of != nil && a.of.past.switches > 0 {
		breaks = append(breaks, "AS-006")
	}
	return breaks
}
