package model

import (
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// ofAnySession reports whether a message is one that only a session has: the model's words, and a message of a turn or
// without a type that carries a session_id. The session_id of errors, pongs, greetings and other messages says nothing.
func (m message) ofAnySession() bool {
	switch m.kind {
	case vocab.StreamMessage, vocab.AssistantMessage:
		return true
	case vocab.SystemMessage, vocab.ResultMessage, "":
		id := m.data[vocab.SessionID]
		return id != nil && id != any("")
	}
	return false
}

// try notes a message that is not a chat, or not a complete one. The model is not to be asked with its nonces.
func (m *Model) try(msg message) {
	if !m.ours() {
		return
	}
	c := m.callsOf(msg.r.Conn)
	_, content := msg.data[vocab.Content].(string)
	if msg.kind == vocab.ChatType && msg.agent != "" && content {
		if _, before := c.chatted[msg.agent]; !before {
			c.chatted[msg.agent] = msg.r.N
		}
	}
	switch msg.kind {
	case vocab.PingType:
		c.sent["SC-037"] = true
	case vocab.InterruptType:
		c.sent["SC-035"], c.interrupted[msg.agent] = true, true
	}
	if clause := msg.lacking(); clause != "" {
		c.sent[clause] = true
	}
	if msg.lacking() != "" || msg.kind != vocab.ChatType {
		m.vain(msg)
	}
}

// vain notes the nonces of a message that must reach no model.
func (m *Model) vain(msg message) {
	for _, d := range llm.Directives(string(msg.r.Bytes)) {
		m.illegal[d.Nonce] = true
	}
}

// uncalled notes a message of a session that its connection has not chatted with, and one with the words of a message
// that is not a chat. The result that answers an interrupt is called for: the turn may be that of a connection which
// the server has not yet seen end (SC-036).
func (m *Model) uncalled(msg message) {
	c, vain := m.callsOf(msg.r.Conn), false
	if msg.agent != "" && msg.id != "" {
		c.byID[msg.id] = msg.agent
	}
	if !msg.ofAnySession() {
		return
	}
	for nonce := range m.illegal {
		vain = vain || mentions(msg.text(vocab.Text), nonce, false)
	}
	_, chatted := c.chatted[msg.agent]
	confirms := msg.kind == vocab.ResultMessage && c.interrupted[msg.agent] && m.used[msg.agent]
	if vain || !chatted && !confirms {
		c.uncalled = append(c.uncalled, uncalled{msg, vain})
	}
}

// calls is what the clients of a name have asked for, over one connection or several.
type calls struct {
	chatted     map[string]int    // agent_ids of chats over the latest connection → the first record
	interrupted map[string]bool   // agent_ids of interrupts over it
	byID        map[string]string // session_id → agent_id
	sent        map[string]bool   // clauses about what else was sent
	uncalled    []uncalled
}

// opened takes the beginning of another connection.
func (c *calls) opened() {
	clear(c.chatted)
	clear(c.interrupted)
}

func (m *Model) callsOf(conn string) *calls {
	if m.calls[conn] == nil {
		m.calls[conn] = &calls{chatted: map[string]int{}, interrupted: map[string]bool{}, byID: map[string]string{},
			sent: map[string]bool{}}
	}
	return m.calls[conn]
}

// uncalled is a message of a session that nothing seems to call for.
type uncalled struct {
	message

	vain bool // it has the words of a message that is not a chat
}

// Uncalled returns what is found of messages of sessions that came to a connection after a record, although no chat of
// the connection calls for them: the first one, or that there is none. agent limits it to messages of an agent_id; ""
// is any. The finding counts once a fence has been answered on the connection.
func (m *Model) Uncalled(conn, agent string, after int) verdict.Finding {
	l, c := m.line(conn), m.callsOf(conn)
	clauses := []string{"SC-001", "SC-002", "SC-045", "SC-055"}
	if l.again {
		clauses = append(clauses, "SC-054")
	}
	for _, clause := range []string{"SC-029", "SC-030", "SC-031", "SC-035", "SC-037"} {
		if c.sent[clause] {
			clauses = append(clauses, clause)
		}
	}
	i := slices.IndexFunc(c.uncalled, func(u uncalled) bool {
		return u.r.N > after && (agent == "" || agent == u.agent) && (u.vain || !c.chattedWith(u.message))
	})
	if i < 0 {
		return kept(clauses...)
	}
	return failed(c.uncalled[i].message, "no message of a session that this connection has not chatted with", clauses...)
}

// chattedWith reports whether a message that lacks an agent_id (SC-038) has the session_id of one that the connection
// had chatted with.
func (c *calls) chattedWith(msg message) bool {
	at, chatted := c.chatted[c.byID[msg.id]]
	return msg.agent == "" && msg.id != "" && chatted && at < msg.r.N
}

// attempt is a message of our own clients that is neither a chat nor another documented message.
type attempt struct {
	message

	by   message // what refuses it: an error, or the end of its connection with 1003, 1007 or 1008 (SC-G02)
	odd  message // what else came that belongs to no session
	vain string  // why a wait for the refusal was in vain; "": none was
}

// attempts takes a record that may be, or refuse, such a message.
func (m *Model) attempts(msg message) {
	l, r := m.lines[msg.r.Conn], msg.r
	switch {
	case l == nil:
	case r.Dir == transcript.Sent && r.Kind == transcript.Frame:
		if !msg.legal() && msg.kind != vocab.PingType && msg.kind != vocab.InterruptType {
			l.attempt = &attempt{message: msg}
			m.tries[r.N] = l.attempt
		}
	case r.Dir != transcript.Received || l.attempt == nil || l.attempt.by.r.N > 0:
	case msg.kind == vocab.ErrorMessage,
		r.Kind == transcript.Closed && (r.Status == 1003 || r.Status == 1007 || r.Status == 1008):
		l.attempt.by = msg
	case r.Kind == transcript.Frame && !ofTurn[msg.kind] && msg.kind != vocab.PongMessage && l.attempt.odd.r.N == 0:
		l.attempt.odd = msg
	}
}

// Refusal returns what is found about the message in a record, which must be refused. It is missing if it was waited
// for in vain (InVain).
func (m *Model) Refusal(record int) verdict.Finding {
	a := m.tries[record]
	if a == nil {
		return verdict.Finding{}
	}
	f := kept("SC-030", "SC-031")
	if f.OK, f.At = a.by.r.N > 0, a.by.r.N; f.OK {
		return f
	}
	f.Expected, f.Observed = "a message of type "+vocab.ErrorMessage+", or a close with 1003, 1007 or 1008", a.vain
	if accepted := m.Uncalled(a.r.Conn, "", record); !accepted.OK {
		f.Observed, f.At = "it was accepted: "+accepted.Observed, accepted.At
	} else if a.odd.r.N > 0 {
		f.Observed, f.At = "what came is not recognised as a refusal: "+strings.TrimSpace(a.odd.told()), a.odd.r.N
	}
	return f
}
