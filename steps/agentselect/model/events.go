package model

import (
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// event takes an event on a connection.
func (m *Model) event(c *conn, r transcript.Record) {
	fits := func(a *ask) bool { return !m.ours() || a.fits(r) }
	if r.Event.Again && answersSwitch(r) && slices.ContainsFunc(c.open, fits) {
		c.unsure = true // whether it is a repeat, or the answer, is unknown
	}
	copied := m.copied(c, r)
	if m.ours() && (r.Event.Again || copied) && r.Event.Type == vocab.AgentSwitchedEvent {
		m.announcedTwice(c, r)
	}
	if r.Event.Again || copied || !slices.Contains(ours, r.Event.Type) {
		return
	}
	if c.heard = r.N; c.waiting != nil {
		c.waiting()
		c.waiting = nil
	}
	if !c.joined {
		m.greets(c, r)
	}
	m.goesOn(c, r)
	switch r.Event.Type {
	case vocab.AgentListEvent:
		m.listed(c, r)
	case vocab.AgentSwitchedEvent:
		m.switched(c, r)
	case vocab.ErrorEvent:
		m.fails(c, r)
	case vocab.SessionCreatedEvent:
		if c.asked == 1 && c.loads == "" {
			m.isNew(c, r, text(r, vocab.SessionID))
		}
		m.gives(c, r, text(r, vocab.SessionID))
		m.binds(c, text(r, vocab.SessionID), "", nil)
	case vocab.SessionLoadedEvent:
		m.gives(c, r, text(r, vocab.SessionID))
		m.binds(c, "", text(r, vocab.SessionID), nil)
	}
}

// copied reports whether an agent_switched is a copy of the connection's latest one: it answers no switch, and since
// then no other client has sent anything or was told of a switch. A refused switch to the same agent may have kept it
// from counting as a repeat.
func (m *Model) copied(c *conn, r transcript.Record) bool {
	was := c.confirmed
	if !m.ours() || was.Event == nil || r.Event.Type != was.Event.Type || !wjson.Equal(was.Event.Data, r.Event.Data) {
		return false
	}
	for _, o := range m.conns {
		if o != c && max(o.act, o.confirmed.N) > was.N ||
			slices.ContainsFunc(o.open, func(a *ask) bool { return a.fits(r) }) {
			return false
		}
	}
	return true
}

// goesOn follows the turn of a connection's session. Where it goes on after a switch that came in its middle, the
// switch should have been refused.
func (m *Model) goesOn(c *conn, r transcript.Record) {
	s := c.bound
	if of := m.sessions[text(r, vocab.SessionID)]; m.ours() && of != nil && r.Event.Type == vocab.CompleteEvent {
		s = of
	}
	if s == nil {
		return
	}
	if id, named := member(r, vocab.SessionID); m.ours() && named && id != nil && id != any(s.id) &&
		r.Event.Type == vocab.CompleteEvent {
		s.elsewhere = true
		return
	}
	asks := r.Event.Type == vocab.ConfirmationRequestEvent || r.Event.Type == vocab.QuestionRequestEvent
	ends := r.Event.Type == vocab.CompleteEvent
	if !asks && !ends && r.Event.Type != vocab.MessageEvent {
		return
	}
	said := r.Event.Type + " " + wjson.Compact(r.Event.Data)
	again := s.said[said] || len(s.said) >= maxOpen // it may be a copy that comes late
	if len(s.said) < maxOpen {
		s.said[said] = true
	}
	if m.ours() && ends {
		m.ends(s, r)
	}
	s.told = s.told || r.Event.Type == vocab.MessageEvent
	if m.ours() && !s.doubled && s.running && !again {
		m.goesOnStill(s)
	} else if s.during != nil && s.running && !again && !m.ours() {
		m.broken(*s.during, fmt.Sprintf("agent_busy, as a turn goes on (record %d)", r.N), "AS-064", "AS-090")
	}
	if !s.doubled {
		s.during = nil
	}
	s.begun = s.running && !ends
	s.running, s.holds = s.running && !ends, s.holds && !ends
	s.waiting = asks || m.ours() && s.waiting && !ends
}

// opens enters what a server owes to a new connection.
func (c *conn) opens(r transcript.Record) {
	c.book.Owe(&owed{What: "connected, as the first event", Cause: message(r), Clauses: []string{"AS-030"},
		Match: func(p message) bool { return p.Event.Type == vocab.ConnectedEvent }})
	c.list = c.book.Owe(&owed{What: "agent_list, without any message of the client", Cause: message(r),
		Clauses: []string{"AS-008", "AS-016", "AS-033"},
		Match:   func(p message) bool { return p.Event.Type == vocab.AgentListEvent }})
}

// greets judges the first events of a connection.
func (m *Model) greets(c *conn, r transcript.Record) {
	kind := r.Event.Type
	if !m.ours() && c.events == 0 && kind == vocab.ErrorEvent && !known(r) {
		return // the server may say why it accepts no connection
	}
	c.events++
	if kind == vocab.ConnectedEvent || kind == vocab.AgentListEvent {
		c.book.Settle(message(r))
	}
	switch {
	case c.events == 1 && kind == vocab.ConnectedEvent:
		m.kept(r, "AS-030")
		c.told, c.id = true, text(r, vocab.ConnectionID)
		m.judge(r, c.id != "", "connected with a connectionId, a string", "AS-031")
		m.judge(r, strings.HasPrefix(c.id, "conn_"), "connectionId like conn_xxx", "AS-032")
		m.apart(c, r)
	case c.events == 1 && m.ours() && kind == vocab.AgentListEvent:
		m.broken(r, "connected as the first event, and agent_list as the second", "AS-030", "AS-033")
	case c.events == 1:
		m.broken(r, "connected as the first event", "AS-030")
	case c.events == 2 && c.told:
		m.judge(r, kind == vocab.AgentListEvent, "agent_list directly after connected", "AS-033", "AS-105", "AC-110")
	}
	if answersSwitch(r) {
		if !c.listed {
			m.broken(r, "agent_list, pushed on connecting, before anything is answered", "AS-008", "AS-016")
		}
		if !c.judged {
			c.judged = true
			m.judge(r, c.listed, "agent_list before any answer", "AS-106")
		}
	}
}

// listed judges an agent_list.
func (m *Model) listed(c *conn, r transcript.Record) {
	m.out = append(m.out, AgentList(r)...)
	names := namesIn(r, vocab.Agents)
	if !c.listed && !c.acted {
		m.kept(r, "AS-008", "AS-016")
	}
	unread := m.ours() && broken(Agents(r), "AS-083", "AS-113")
	if !unread {
		m.judge(r, hasBuiltins(names), "agent_list with "+strings.Join(vocab.BuiltinIDs, ", "), "AS-009", "AS-001", "AS-034",
			"AS-117", "AS-129")
		m.listsCustom(r)
		m.shows(c, r, names)
	}
	if m.ours() {
		m.addressed(c, r)
		m.likeExamples(r)
	}
	current, has := member(r, vocab.CurrentAgentID)
	id, is := current.(string)
	_, listed := names[id]
	if !unread || !is {
		m.judge(r, has && (current == nil || is && listed), "currentAgentId null, or an id from the list", "AS-040",
			"AS-118", "AS-123")
	}
	if m.Strict {
		m.judge(r, id == m.Default, "strict: the default agent's id, "+m.Default, "AS-123")
	}
	if c.listed && m.ours() {
		m.listsAgain(c, r)
	}
	c.listAt = r.N
	switch again := !m.ours() && c.listed && !c.failed && !c.unsure; {
	case again && len(c.open) == 0:
		m.broken(r, unasked, "AS-024")
	case again && len(c.open) == 1:
		c.extra = r
	}
	c.latestList = r
	if broken(Agents(r), "AS-083", "AS-113") { // what it lists is unknown
		c.listed, c.names = true, nil
		return
	}
	if m.agents == nil && (m.former == nil || !sameAgents(m.former, names)) {
		m.agents = names
	}
	m.renames(c, names)
	for _, d := range m.doubted {
		if sameAgents(d.before, names) {
			d.judge()
		}
	}
	m.doubted = nil
	c.listed, c.names = true, names
}

// listsCustom judges that a list has the custom agents that are known, as they are configured.
func (m *Model) listsCustom(r transcript.Record) {
	for _, want := range m.Custom {
		m.judge(r, lists(r, want), fmt.Sprintf("a list with the custom agent %s, named %q, %q, as configured", want.ID,
			want.Name, want.Description), "AS-002", "AS-010", "AS-034", "AS-117")
	}
}

// lists reports whether an agent is in a list. Its name and description are compared if they are known, and texts in
// the list.
func lists(r transcript.Record, want vocab.AgentInfo) bool {
	agents, _ := member(r, vocab.Agents)
	all, _ := agents.([]any)
	return slices.ContainsFunc(all, func(e any) bool {
		id, _ := field(e, "id")
		name, _ := field(e, "name")
		description, _ := field(e, "description")
		return id == any(want.ID) && (want.Name == "" || name == any(want.Name) || !isString(name)) &&
			(want.Description == "" || description == any(want.Description) || !isString(description))
	})
}

// examples are the agents of the list in the source.
var examples = map[string]vocab.AgentInfo{
	"AS-035": {ID: "general", Name: "General", Description: "通用主代理"},
	"AS-036": {ID: "requirement_analyzer", Name: "Requirement Analyzer", Description: "需求分析代理"},
	"AS-037": {ID: "debugger", Name: "Debugger", Description: "调试代理"},
	"AS-038": {ID: "code_reviewer", Name: "Code Reviewer", Description: "代码审查专家"},
}

// likeExamples compares a list with the one of the source.
func (m *Model) likeExamples(r transcript.Record) {
	for clause, a := range examples {
		m.judge(r, lists(r, a), fmt.Sprintf("the agent %+v", a), clause)
	}
	agents, _ := member(r, vocab.Agents)
	all, _ := agents.([]any)
	var ids []any
	for _, e := range all[:min(len(all), len(vocab.BuiltinIDs))] {
		id, _ := field(e, "id")
		ids = append(ids, id)
	}
	m.judge(r, fmt.Sprint(ids) == fmt.Sprint(vocab.BuiltinIDs), strings.Join(vocab.BuiltinIDs, ", ")+
		", then custom agents", "AS-039")
}

const unasked = "no agent_list but that on connecting and with failed switches"

// doubt keeps a finding about the agents of a list that differs from that of a connection, until the next list shows
// whether the agents were changed meanwhile.
func (m *Model) doubt(c *conn, judge func()) {
	if c.names != nil && len(m.doubted) < maxOpen {
		m.doubted = append(m.doubted, doubted{c.names, judge})
	}
}

// renames judges agents in earlier switches, now that a list shows whether they were changed in the meantime.
func (m *Model) renames(c *conn, names map[string]any) {
	for id, was := range c.misfit {
		switch name, has := names[id]; {
		case was.has && has && wjson.Equal(name, was.listed):
			m.broken(was.r, "agentName as in the lists before and after it: "+wjson.Compact(was.listed), "AS-045")
		case !was.has && !has:
			m.broken(was.r, "agent_not_found, as no list has "+id, "AS-049")
		}
		delete(c.misfit, id)
	}
}

// switched judges an agent_switched.
func (m *Model) switched(c *conn, r transcript.Record) {
	m.out = append(m.out, Switched(r)...)
	name, _ := member(r, vocab.AgentName)
	defer m.nameAgrees(c, r, name, c.namesAsked(text(r, vocab.CurrentAgentID), name)) // a wrong id comes first
	current, previous := text(r, vocab.CurrentAgentID), text(r, vocab.PreviousAgentID)
	a, asked := m.answer(c, r)
	if a == nil && !asked {
		m.crosses(c, r, current, previous)
	}
	if m.ours() {
		m.ownConnection(r)
		m.heardOnce(c, r, current)
	}
	if a == nil {
		if s := c.bound; s != nil && (asked || !m.ours()) {
			s.agent, s.refused, s.virgin, s.left, s.first = "", "", false, "", ""
		}
		m.latest = nil
		return
	}
	m.kept(r, "AS-042")
	if m.ours() {
		c.confirmed = r
	}
	m.toldTwice(c)
	if !m.accepts(a, r, current) && (!m.ours() || a.of == nil || len(m.codesFor(a)) > 0) {
		return
	}
	later := a.of != nil && a.of.agent != ""
	switch s := a.of; {
	case m.ours() && a.elsewhere():
		m.switchesElsewhere(a, r, current, previous)
		return
	case m.ours() && s != nil:
		m.starts(a, r, fmt.Sprint(a.id))
	case s != nil:
		m.binding(c, a, r)
		m.leads(s, r, previous)
	case a.named && c.bound != nil && resembles(a.session, c.bound.id):
		m.broken(r, "session_not_found, because the session of the connection is "+c.bound.id, "AS-091", "AS-127")
	case !a.named && c.lost != nil:
		m.broken(r, "session_not_found, because another connection has loaded the session", "AS-094")
	}
	if a.of != nil {
		m.moves(a, r)
	}
	if _, has := c.names[current]; has {
		m.kept(r, "AS-012")
	}
	if c.extra.N > a.r.N { // one of the first switch may belong to the session
		if later {
			m.broken(c.extra, unasked, "AS-024")
		}
	} else {
		m.kept(r, "AS-024")
	}
	m.kept(r, "AS-011", "AS-017", "AS-018", "AS-116", "AC-116")
}

// moves notes that a switch has moved its session to another agent.
func (m *Model) moves(a *ask, r transcript.Record) {
	s := a.of
	if len(m.conns) > 1 {
		m.kept(r, "AS-095")
	}
	if a.begun && s.waiting {
		m.broken(r, "agent_busy, as a request to the user is open", "AS-064")
	}
	s.past = past{initial: s.past.initial, reloaded: s.past.reloaded, switches: s.past.switches + 1, doubt: s.past.doubt}
	s.agent, s.refused, s.virgin, m.latest, a.c.elsewhere = fmt.Sprint(a.id), "", false, s, false
	if (a.begun || m.ours() && a.run) && s.running {
		s.during = &r
	}
}

// namesAsked reports whether a name is that of an agent that a connection has just asked for, and the id of the message
// is of none: the id may be what is wrong.
func (c *conn) namesAsked(current string, name any) bool {
	return !slices.ContainsFunc(c.open, func(a *ask) bool { return a.id == any(current) }) &&
		slices.ContainsFunc(c.open, func(a *ask) bool {
			id, _ := a.id.(string)
			listed, has := c.names[id]
			return has && wjson.Equal(listed, name)
		})
}

// nameAgrees judges the name of the agent in an agent_switched by the latest list of the connection. In a run only a
// hook renames agents; elsewhere it is not known before the next list.
func (m *Model) nameAgrees(c *conn, r transcript.Record, name any, asked bool) {
	current := text(r, vocab.CurrentAgentID)
	listed, has := c.names[current]
	switch same := wjson.Equal(name, listed); {
	case c.names == nil || m.ours() && (m.changed && (m.change.shown == 0 || c.opened < m.change.shown) || !has):
	case has && (same || m.ours()):
		about := []string{"AS-045"}
		if m.isCustom(current) {
			about = append(about, "AS-046")
		}
		expected := "agentName " + wjson.Compact(listed)
		if asked {
			expected = "agentName as in agent_list"
		}
		m.judge(r, same, expected, about...)
	case len(c.misfit) < maxOpen:
		c.misfit[current] = misnamed{r, listed, has}
	}
}

// accepts judges that the new agent is the requested one, and legal; it reports whether it is.
func (m *Model) accepts(a *ask, r transcript.Record, current string) bool {
	id, is := a.id.(string)
	switch codes := m.codesFor(a); {
	case len(codes) > 0:
		all, first := m.forCodes(a, codes)
		switch {
		case codes[0] == vocab.AgentNotFound && !m.removed: // its list may be wrong
			all = first
		case m.ours():
			all = append(all, "AS-013", "AS-085", "AS-053", "AS-054")
		}
		m.broken(r, oneOf(codes), all...)
	case current == id:
		m.kept(r, "AS-044")
	default:
		m.broken(r, fmt.Sprintf("currentAgentId %q", id), "AS-044")
	}
	if is && current == id {
		return true
	}
	a.c.instead = announced{a, len(m.out) - 1}
	return false
}

// binding notes what a successful switch shows about the session.
func (m *Model) binding(c *conn, a *ask, r transcript.Record) {
	if a.named {
		return
	}
	m.kept(r, "AS-041", "AS-081", "AS-096", "AS-103")
	switch {
	case c.bound.loaded:
		m.kept(r, "AS-101")
	case c.bound.created:
		m.kept(r, "AS-100")
	}
}
