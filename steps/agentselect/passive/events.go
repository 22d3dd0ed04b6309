package passive

import (
	"slices"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
)

// ours are the events named by the protocol and its binding. Others may come at any time.
var ours = []string{vocab.ConnectedEvent, vocab.AgentListEvent, vocab.AgentSwitchedEvent, vocab.ErrorEvent,
	vocab.MessageEvent, vocab.CompleteEvent, vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent,
	vocab.SessionCreatedEvent, vocab.SessionLoadedEvent}

// event handles an event on a connection.
func (m *model) event(c *conn, r transcript.Record) {
	if r.Event.Again || !slices.Contains(ours, r.Event.Type) {
		return
	}
	if c.heard = r.N; c.waiting != nil {
		c.waiting()
		c.waiting = nil
	}
	m.greets(c, r)
	switch r.Event.Type {
	case vocab.AgentListEvent:
		m.lists(c, r)
	case vocab.AgentSwitchedEvent:
		m.switched(c, r)
	case vocab.ErrorEvent:
		m.fails(c, r)
	case vocab.SessionCreatedEvent:
		if c.asked == 1 && c.loads == "" {
			m.isNew(c, r, text(r, vocab.SessionID))
		}
		m.binds(c, text(r, vocab.SessionID), "")
	case vocab.SessionLoadedEvent:
		m.binds(c, "", text(r, vocab.SessionID))
	case vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent:
		if c.bound != nil {
			c.bound.waiting = true
		}
	case vocab.CompleteEvent:
		if c.bound != nil {
			c.bound.running, c.bound.waiting = false, false
		}
	}
}

// greets judges the first two events of a connection.
func (m *model) greets(c *conn, r transcript.Record) {
	kind := r.Event.Type
	if c.events == 0 && kind == vocab.ErrorEvent && !known(r) {
		return // the server may say why it accepts no connection
	}
	c.events++
	switch {
	case c.events == 1 && kind == vocab.ConnectedEvent:
		m.kept(r, "AS-030")
		c.told, c.id = true, text(r, vocab.ConnectionID)
		m.judge(r, c.id != "", "connected with a connectionId, a string", "AS-031")
	case c.events == 1:
		m.broken(r, "connected as the first event", "AS-030")
	case c.events == 2 && c.told:
		m.judge(r, kind == vocab.AgentListEvent, "agent_list directly after connected", "AS-033", "AS-105")
	}
	if answer := kind == vocab.AgentSwitchedEvent || kind == vocab.ErrorEvent && known(r); answer && !c.listed {
		m.broken(r, "agent_list, pushed on connecting, before anything is answered", "AS-008", "AS-016")
	}
}

// lists judges an agent_list, beyond its shape.
func (m *model) lists(c *conn, r transcript.Record) {
	names := namesIn(r, vocab.Agents)
	if !c.listed && !c.acted {
		m.kept(r, "AS-008", "AS-016")
	}
	m.judge(r, hasBuiltins(names), "agent_list with the three built-in agents", "AS-009")
	current, has := member(r, vocab.CurrentAgentID)
	id, is := current.(string)
	_, listed := names[id]
	m.judge(r, has, "the key currentAgentId", "AS-040")
	m.judge(r, has && (current == nil || is && listed), "currentAgentId null, or an id from the list", "AS-123")
	if c.listed && !c.failed && len(c.open) == 0 && !c.unsure {
		m.broken(r, "no agent_list but that on connecting and with failed switches", "AS-024")
	}
	m.renames(c, names)
	c.listed, c.names = true, names
}

// renames judges names in earlier switches, now that a list shows whether the agent was renamed in the meantime.
func (m *model) renames(c *conn, names map[string]string) {
	for id, was := range c.misfit {
		if names[id] == was.listed {
			m.broken(was.r, "agentName as in the lists before and after it: "+was.listed, "AS-045")
		}
		delete(c.misfit, id)
	}
}

// namesIn maps the ids of a list to the names.
func namesIn(r transcript.Record, key string) map[string]string {
	v, _ := member(r, key)
	all, _ := v.([]any)
	out := map[string]string{}
	for _, e := range all {
		entry, _ := e.(map[string]any)
		if id, ok := entry["id"].(string); ok {
			out[id], _ = entry["name"].(string)
		}
	}
	return out
}

func hasBuiltins(names map[string]string) bool {
	for _, id := range vocab.BuiltinIDs {
		if _, ok := names[id]; !ok {
			return false
		}
	}
	return true
}

// known reports whether an error has a code of section 4.2, so that it answers a switch.
func known(r transcript.Record) bool {
	return slices.Contains(vocab.ErrorCodes, text(r, vocab.ErrorCode))
}

// answer returns the switch that an event answers, nil if that is unknown, and whether there was any.
func (m *model) answer(c *conn) (a *ask, any bool) {
	if len(c.open) == 0 {
		return nil, false
	}
	a, c.open = c.open[0], c.open[1:]
	if m.strange || c.unsure || c.asked > 0 || !a.clear {
		return nil, true
	}
	return a, true
}

// switched judges an agent_switched.
func (m *model) switched(c *conn, r transcript.Record) {
	current, previous := text(r, vocab.CurrentAgentID), text(r, vocab.PreviousAgentID)
	a, any := m.answer(c)
	if a == nil {
		if !any {
			m.crosses(c, r, current, previous)
		}
		if c.bound != nil {
			c.bound.agent, c.bound.refused = "", ""
		}
		m.latest = nil
		return
	}
	if !m.accepts(a, r, current) {
		return
	}
	switch s := a.of; {
	case s != nil:
		m.binding(c, a, r)
		if len(m.conns) > 1 {
			m.kept(r, "AS-095")
		}
		m.leads(s, r, previous)
		s.agent, s.refused, m.latest = current, "", s
	case !a.named && !c.sought && !c.other:
		m.broken(r, "session_not_found, because the connection has no session", "AS-082", "AS-097", "AS-104", "AS-127")
	}
	listed, has := c.names[current]
	if name := text(r, vocab.AgentName); has && name == listed {
		m.kept(r, "AS-045")
	} else if has && len(c.misfit) < 100 {
		c.misfit[current] = misnamed{r, listed}
	}
	if has {
		m.kept(r, "AS-012")
	}
	m.kept(r, "AS-024")
}

// accepts judges that the new agent is the requested one, and legal; it reports whether it is.
func (m *model) accepts(a *ask, r transcript.Record, current string) bool {
	id, is := a.id.(string)
	switch {
	case !is:
		m.broken(r, "an agentId that is not a string refused", "AS-077")
	case id == "":
		m.broken(r, "an empty agentId refused", "AS-070", "AS-080")
	case !vocab.IDPattern.MatchString(id):
		ids := []string{"AS-080"}
		if strings.ToLower(id) != id && vocab.IDPattern.MatchString(strings.ToLower(id)) {
			ids = append(ids, "AS-079", "AS-126")
		}
		m.broken(r, "an agentId refused that does not match [a-z0-9_-]+", ids...)
	case current != id:
		m.broken(r, "currentAgentId as requested: "+id, "AS-044")
	default:
		m.kept(r, "AS-044")
		return true
	}
	return false
}

// binding notes what a successful switch shows about the session.
func (m *model) binding(c *conn, a *ask, r transcript.Record) {
	if a.named {
		m.kept(r, "AS-116")
		return
	}
	m.kept(r, "AS-041", "AS-081", "AS-096", "AS-103")
	if c.bound.created {
		m.kept(r, "AS-100")
	}
}

// leads judges the previous agent of a switch.
func (m *model) leads(s *session, r transcript.Record, previous string) {
	apart := []string{"AS-007", "AS-015", "AS-093"}
	others := m.latest != nil && m.latest != s && m.latest.agent != "" && m.latest.agent != s.agent
	switch {
	case s.agent == "":
	case previous == s.agent:
		m.kept(r, "AS-043")
		if others {
			m.kept(r, apart...)
		}
		if s.refused != "" && s.refused != s.agent {
			m.kept(r, "AS-053")
		}
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
