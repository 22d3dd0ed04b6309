package model

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
)

// fails judges an error.
func (m *Model) fails(c *conn, r transcript.Record) {
	if !known(r) {
		m.failsOtherwise(c, r)
		return
	}
	m.says(c, r)
	if m.ours() {
		m.errorsUncalled(c, r)
	} else {
		m.strays(c, r)
	}
	m.refusedToo(c, r)
	a, asked := m.answer(c, r)
	c.failed, m.refused = true, refusal{r, a}
	if a != nil {
		a.no, c.latest = r, a
		if s := a.of; s != nil && !a.elsewhere() {
			s.past.refusals++
			s.past.busy = s.past.busy || text(r, vocab.ErrorCode) == vocab.AgentBusy
		}
	}
	c.elsewhere = c.elsewhere || a != nil && m.nowhere(a)
	if asked {
		m.kept(r, "AS-092", "AS-013")
	}
	m.toldTwice(c)
	if a == nil {
		if c.bound != nil {
			c.bound.refused = ""
		}
		return
	}
	id, is := a.id.(string)
	if a.elsewhere() && m.ours() { // it may be refused
	} else if codes := m.codesFor(a); len(codes) > 0 {
		m.coded(c, a, r, codes)
	} else if code := text(r, vocab.ErrorCode); code == vocab.SessionNotFound || code == vocab.AgentBusy {
		m.bySession(c, a, r)
	} else {
		m.byID(c, a, r)
	}
	if a.of != nil && is && !a.elsewhere() {
		a.of.refused = id
	}
}

// failsOtherwise judges an error without a code of section 4.2: that of the only open switch, if nothing else of the
// connection can fail.
func (m *Model) failsOtherwise(c *conn, r transcript.Record) {
	if a := m.sole(c); a != nil && (!c.other || m.ours() && !c.odd) {
		for _, f := range SwitchError(r) {
			m.judge(r, f.OK, f.Expected, only(f.Clauses, ofErrors...)...)
		}
		if codes := m.codesFor(a); len(codes) > 0 {
			m.misspelt(a, r, codes)
		} else {
			m.broken(r, "an errorCode of section 4.2", "AS-092")
		}
		if m.easy(a) {
			m.misunderstood(a, r, "the switch accepted, as nothing speaks against it")
		}
		a.no, c.latest = r, a
		c.drop(a)
	}
	if len(c.open) > 0 || c.asked > 0 {
		c.unsure = true
	}
}

// says judges the content of an error with a code of section 4.2, whatever it answers, and of one that answers a
// switch, whichever switch that is.
func (m *Model) says(c *conn, r transcript.Record) {
	code := text(r, vocab.ErrorCode)
	formed := SwitchError(r)
	for _, f := range formed {
		ids := only(f.Clauses, ofErrors...)
		if c.asked == 0 { // else it may answer a session request
			ids = slices.DeleteFunc(slices.Clone(f.Clauses), func(id string) bool { return ofOther(code, id) })
		}
		m.judge(r, f.OK, f.Expected, ids...)
	}
	if m.ours() && c.asked == 0 {
		m.available(c, r, formed)
		at, has := member(r, "timestamp")
		if !has {
			at = r.Event.Timestamp
		}
		stamp, _ := at.(string)
		m.judge(r, ISOTime.MatchString(stamp), "a timestamp like 2025-12-30T15:30:00.000Z", "AC-083")
		if code == vocab.AgentBusy {
			const example = "Session has ongoing task"
			m.judge(r, text(r, vocab.Message) == example, saying(example), "AC-078")
		}
	}
	v, _ := member(r, vocab.Message)
	said, is := v.(string)
	switch {
	case c.asked > 0 || !is:
	case code == vocab.InvalidAgentID:
		m.judge(r, said == vocab.EmptyIDText, saying(vocab.EmptyIDText), "AS-071")
	case code == vocab.InvalidAgentIDFormat:
		m.judge(r, said == vocab.FormatIDText, saying(vocab.FormatIDText), "AS-074")
	}
}

// available judges the agents in an error to a client of the harness: they are those of agent_list.
func (m *Model) available(c *conn, r transcript.Record, formed []verdict.Finding) {
	want, needed := c.names, text(r, vocab.ErrorCode) == vocab.AgentNotFound
	if m.changed {
		want = m.agents
	}
	_, has := member(r, vocab.AvailableAgents)
	switch {
	case !has && !needed:
		m.kept(r, "AS-122", "AS-124")
		return
	case broken(formed, "AS-051", "AS-113", "AS-122"), want == nil:
		return
	}
	m.kept(r, "AS-086")
	got, about := namesIn(r, vocab.AvailableAgents), []string{"AS-052", "AS-129"}
	if m.removed && len(got) >= len(want) { // at most such as were removed are too many
		about = []string{"AS-052", "AC-082"}
	}
	if same := sameAgents(want, got); same || len(got) == 0 {
		about = append(about, "AS-122", "AS-124")
		if needed {
			about = append(about, "AS-014", "AS-051", "AS-089")
		}
	}
	m.judge(r, sameAgents(want, got), "availableAgents with the agents of agent_list", about...)
}

// refusedToo takes an error for the latest switch of a connection, which was answered by the announcement of another
// agent: it was refused, and something announced all the same.
func (m *Model) refusedToo(c *conn, r transcript.Record) {
	if d := c.instead; d.a != nil && len(c.open) == 0 && d.a.fits(r) {
		f := &m.out[d.found]
		f.Clauses, f.Expected = []string{"AS-054"}, fmt.Sprintf("no agent_switched, as the switch was refused (record %d)",
			r.N)
		c.instead = announced{}
	}
}

// only returns those of some clauses that are among others.
func only(ids []string, of ...string) (out []string) {
	for _, id := range ids {
		if slices.Contains(of, id) {
			out = append(out, id)
		}
	}
	return out
}

// codes are the clauses that give a code its meaning.
var codes = map[string]string{vocab.InvalidAgentID: "AS-087", vocab.InvalidAgentIDFormat: "AS-088",
	vocab.AgentNotFound: "AS-089", vocab.AgentBusy: "AS-090", vocab.SessionNotFound: "AS-091"}

// ofOther reports whether a clause gives another code its meaning.
func ofOther(code, clause string) bool {
	for other, id := range codes {
		if id == clause && other != code {
			return true
		}
	}
	return false
}

// bySession judges a refusal because of the session.
func (m *Model) bySession(c *conn, a *ask, r transcript.Record) {
	busy := text(r, vocab.ErrorCode) == vocab.AgentBusy
	s := a.of
	switch {
	case s == nil && a.named:
		if !busy {
			m.kept(r, "AS-091")
		}
	case s == nil && c.lost != nil && !busy:
		m.kept(r, "AS-094")
	case s == nil:
	case busy && s.created && !s.chats && !a.crowd:
		m.broken(r, "no agent_busy, because nobody has chatted in the session", "AS-090", "AS-111")
	case busy && (s.running || s.waiting):
		m.kept(r, "AS-064", "AS-090", "AS-109", "AS-110", "AS-111", "AS-112", "AS-125", "AS-062")
	case busy:
	case a.named:
		m.broken(r, "no session_not_found, because the connection is bound to this session", "AS-091", "AS-116")
	case s.loaded:
		m.broken(r, "the session used that the connection has loaded", "AS-041", "AS-081", "AS-096", "AS-101", "AS-103")
	case s.created:
		m.broken(r, "the session used that was created for the connection", "AS-041", "AS-081", "AS-096", "AS-100",
			"AS-103", "AC-116")
	}
}

// byID judges a refusal because of the agent id, which is legal.
func (m *Model) byID(c *conn, a *ask, r transcript.Record) {
	id, _ := a.id.(string)
	switch code := text(r, vocab.ErrorCode); {
	case code == vocab.AgentNotFound:
		m.notFound(c, a, r, id)
	case code == vocab.InvalidAgentID && m.easy(a):
		m.misunderstood(a, r, "the switch carried out, as nothing speaks against it")
	default:
		ids := []string{codes[code]}
		if code == vocab.InvalidAgentIDFormat {
			ids = append(ids, "AS-080")
		}
		if _, listed := c.names[id]; c.listed && !listed {
			ids = append(ids, "AS-049", "AS-089")
		}
		m.broken(r, "another code for the legal agentId "+id, ids...)
	}
}

func saying(text string) string { return fmt.Sprintf("message %q", text) }

// saysSo judges the text of an error with another code than the right one, whose text is fixed.
func (m *Model) saysSo(r transcript.Record, right, said, clause string) {
	if v, _ := member(r, vocab.Message); isString(v) && text(r, vocab.ErrorCode) != right {
		m.judge(r, v == any(said), saying(said), clause)
	}
}

// notFound judges an agent_not_found for a legal id.
func (m *Model) notFound(c *conn, a *ask, r transcript.Record, id string) {
	names := namesIn(r, vocab.AvailableAgents)
	if v, _ := member(r, vocab.Message); isString(v) {
		m.judge(r, strings.Contains(text(r, vocab.Message), id), fmt.Sprintf("a message that contains %q", id), "AS-050",
			"AC-081", "AC-115")
	}
	if broken(AvailableAgents(r), "AS-051", "AS-113") {
		return // judging its shape suffices
	}
	if !m.ours() {
		m.judge(r, hasBuiltins(names), "availableAgents with the three built-in agents", "AS-052")
	}
	if !m.ours() && c.names != nil && !sameAgents(names, c.names) {
		m.doubt(c, func() { m.broken(r, "availableAgents as in the lists before and after it", "AS-052") })
	}
	if _, available := names[id]; available {
		m.findable(a, r, id)
		return
	}
	m.kept(r, "AS-012", "AS-049")
	if _, listed := c.names[id]; listed && m.ours() && !m.changed {
		m.broken(r, id+" found, as in the list", "AS-012")
	} else if listed {
		m.doubt(c, func() { m.broken(r, id+" found, as in the lists before and after it", "AS-012") })
	}
	m.renames(c, names)
}

// findable judges an agent_not_found for an agent that it lists as available.
func (m *Model) findable(a *ask, r transcript.Record, id string) {
	switch s := a.of; {
	case m.unbound(a):
		m.broken(r, "session_not_found, because the connection has no session", "AS-104", "AS-127")
	case s == nil && a.named && m.sessions[a.session] == nil:
		m.broken(r, "session_not_found, because no client has this session", "AS-091", "AS-127")
	case s != nil && (s.begun || s.waiting):
		m.broken(r, "agent_busy, because a turn goes on", "AS-064", "AS-090")
	case m.easy(a) && !strings.Contains(text(r, vocab.Message), id):
		m.broken(r, "the agent that agentId names looked for: "+id, "AS-116")
	default:
		m.broken(r, id+" not among availableAgents, or the switch carried out", "AS-012")
	}
}
