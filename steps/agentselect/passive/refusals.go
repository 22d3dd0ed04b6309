package passive

import (
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps/agentselect/invariants"
	"parley/transport/transcript"
)

// fails judges an error.
func (m *model) fails(c *conn, r transcript.Record) {
	if !known(r) {
		if a, _ := m.peek(c); a != nil && !c.other { // no other open request can fail
			m.broken(r, "an errorCode of section 4.2", "AS-092")
			c.open = nil
		}
		if len(c.open) > 0 || c.asked > 0 {
			c.unsure = true
		}
		return
	}
	if c.asked == 0 { // it may answer a session request
		m.says(r)
	}
	a, asked := m.answer(c)
	c.failed = true
	if asked {
		m.kept(r, "AS-092")
	}
	if a == nil {
		if c.bound != nil {
			c.bound.refused = ""
		}
		return
	}
	id, is := a.id.(string)
	if code := text(r, vocab.ErrorCode); code == vocab.SessionNotFound || code == vocab.AgentBusy {
		m.bySession(c, a, r)
	} else {
		m.byID(c, r, id, is)
	}
	if a.of != nil && is {
		a.of.refused = id
	}
}

// peek returns the only open switch, if the next answer can only be for it.
func (m *model) peek(c *conn) (*ask, bool) {
	if len(c.open) != 1 || m.strange || c.unsure || c.asked > 0 || !c.open[0].clear {
		return nil, false
	}
	return c.open[0], true
}

// says judges the content of an error that answers a switch, whichever switch that is.
func (m *model) says(r transcript.Record) {
	for _, f := range invariants.SwitchError(r) {
		m.judge(r, f.OK, f.Expected, forCode(text(r, vocab.ErrorCode), f.Clauses)...)
	}
	for _, f := range invariants.AvailableAgents(r) {
		if text(r, vocab.ErrorCode) == vocab.AgentNotFound {
			m.judge(r, f.OK, f.Expected, f.Clauses...)
		}
	}
	said := text(r, vocab.Message)
	switch text(r, vocab.ErrorCode) {
	case vocab.InvalidAgentID:
		m.judge(r, said == vocab.EmptyIDText, vocab.EmptyIDText, "AS-071")
	case vocab.InvalidAgentIDFormat:
		m.judge(r, said == vocab.FormatIDText, vocab.FormatIDText, "AS-074")
	}
}

// codes are the clauses that give a code its meaning.
var codes = map[string]string{vocab.InvalidAgentID: "AS-087", vocab.InvalidAgentIDFormat: "AS-088",
	vocab.AgentNotFound: "AS-089", vocab.AgentBusy: "AS-090", vocab.SessionNotFound: "AS-091"}

// forCode omits the clauses of other codes.
func forCode(code string, ids []string) (out []string) {
	for _, id := range ids {
		mine := true
		for other, clause := range codes {
			mine = mine && (clause != id || other == code)
		}
		if mine {
			out = append(out, id)
		}
	}
	return out
}

// bySession judges a refusal because of the session.
func (m *model) bySession(c *conn, a *ask, r transcript.Record) {
	busy := text(r, vocab.ErrorCode) == vocab.AgentBusy
	s := a.of
	switch {
	case s == nil && a.named:
		if !busy {
			m.kept(r, "AS-091")
		}
	case s == nil && c.sought:
	case s == nil && busy:
		m.broken(r, "session_not_found, because the connection has no session", "AS-090", "AS-104")
	case s == nil:
		m.kept(r, "AS-082", "AS-097", "AS-104", "AS-127")
	case busy && s.created && !s.chats:
		m.broken(r, "no agent_busy, because nobody has chatted in the session", "AS-090", "AS-111")
	case busy && (s.running || s.waiting):
		m.kept(r, "AS-090", "AS-111")
	case busy:
	case a.named:
		m.broken(r, "no session_not_found, because the connection is bound to this session", "AS-091", "AS-116")
	case s.created:
		m.broken(r, "the session used that was created for the connection", "AS-041", "AS-081", "AS-096", "AS-100",
			"AS-103")
	}
}

// byID judges a refusal because of the agent id.
func (m *model) byID(c *conn, r transcript.Record, id string, is bool) {
	code := text(r, vocab.ErrorCode)
	legal := vocab.IDPattern.MatchString(id)
	missing := code == vocab.AgentNotFound
	switch {
	case !is:
		m.judge(r, !missing, "invalid_agent_id or invalid_agent_id_format for an agentId that is not a string", "AS-077")
	case legal && missing:
		m.notFound(c, r, id)
	case legal:
		ids := []string{codes[code]}
		if code == vocab.InvalidAgentIDFormat {
			ids = append(ids, "AS-080")
		}
		if _, listed := c.names[id]; c.listed && !listed {
			ids = append(ids, "AS-049")
		}
		m.broken(r, "another code for the legal agentId "+id, ids...)
	case id == "":
		ids := []string{"AS-070"}
		if missing {
			ids = append(ids, "AS-076")
		}
		m.judge(r, code == vocab.InvalidAgentID, "invalid_agent_id for an empty agentId", ids...)
	case missing:
		m.broken(r, "invalid_agent_id_format before the agent is looked for", "AS-073", "AS-076")
	case strings.TrimSpace(id) == "":
	case code == vocab.InvalidAgentIDFormat:
		m.kept(r, "AS-073", "AS-076", "AS-080")
		if vocab.IDPattern.MatchString(strings.ToLower(id)) {
			m.kept(r, "AS-079", "AS-126")
		}
	default:
		m.broken(r, "invalid_agent_id_format for the agentId "+id, "AS-073", "AS-087")
	}
}

// notFound judges an agent_not_found for a legal id.
func (m *model) notFound(c *conn, r transcript.Record, id string) {
	names := namesIn(r, vocab.AvailableAgents)
	m.judge(r, strings.Contains(text(r, vocab.Message), id), "a message that names "+id, "AS-050")
	if len(names) == 0 {
		return // judging its shape suffices
	}
	_, available := names[id]
	m.judge(r, !available, id+" not among availableAgents, or the switch carried out", "AS-012")
	m.judge(r, hasBuiltins(names), "availableAgents with the three built-in agents", "AS-052")
	if !available {
		m.kept(r, "AS-049")
	}
	m.renames(c, names)
}
