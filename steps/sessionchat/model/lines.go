package model

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
)

// line is a connection, with what the server owes on it. The answers to heartbeats and to incomplete chats are due
// once a chat behind them was answered completely; a chat's own answer takes as long as the model speaks.
type line struct {
	book

	opened  bool            // its beginning was observed
	began   int             // record of it, or of the end of the connection before
	closed  bool            // so was its end
	by      message         // what ended it
	unknown bool            // it carried something other than the three messages
	agents  []string        // with a chat, in order
	done    map[string]bool // agent_ids that were answered

	asked   bool     // anything was sent
	latest  int      // record of the latest message that was sent
	silent  bool     // no chat was answered yet, and nothing that may start a session otherwise was sent
	again   bool     // another connection has ended before it began
	chats   []*Chat  // of our own clients
	attempt *attempt // of our own clients, the latest
	pings   int      // heartbeats without an answer while it was silent

	beats      bool            // nothing but heartbeats was sent
	open       []*beat         // heartbeats without a pong
	strayed    map[string]bool // agent_ids of other clients
	tried      *owed           // the refusal of the latest message, which is not a complete chat
	triedAs    message
	interrupts map[string]message // by agent_id
	asks       bool               // an interrupt was sent
}

func (m *Model) newLine(opened bool) *line {
	l := &line{opened: opened, silent: opened, again: m.ended, beats: opened, done: map[string]bool{},
		strayed: map[string]bool{}, interrupts: map[string]message{}}
	l.Name, l.Tally, l.Duties = named, m.tally, m.duties
	m.books = append(m.books, &l.book)
	return l
}

func (m *Model) line(conn string) *line {
	l := m.lines[conn]
	if l == nil {
		l = m.newLine(false)
		m.lines[conn] = l
	}
	return l
}

// Stays returns what is found of a connection of our own that the server should not have ended.
func (m *Model) Stays(conn string) verdict.Finding {
	if by := m.line(conn).by; by.r.N > 0 {
		return failed(by, "a connection that stays for the next message", "SC-004", "SC-025")
	}
	return kept("SC-004", "SC-025")
}

// beforeChat judges the time before the first chat of a connection: no message may belong to a session. One that names
// an agent_id may belong to a client that was not observed.
func (m *Model) beforeChat(l *line, msg message) {
	if !l.silent {
		return
	}
	clauses := []string{"SC-001", "SC-045"}
	if l.again {
		clauses = append(clauses, "SC-054")
	}
	if l.pings > 0 {
		clauses = append(clauses, "SC-002", "SC-055")
	}
	switch {
	case msg.data[vocab.AgentID] == nil && msg.id != "":
		l.silent = false
		m.fail(msg, "no message of a session, because nobody has chatted on this connection", clauses...)
	case l.asked && (msg.kind == vocab.PongMessage || ofTurn[msg.kind]): // what was due before it has come
		l.silent = false
		m.keep(msg, clauses...)
	}
}

// crossing finds what belongs to a client and comes to another one. A message may be about a session of a client that
// was not observed, but is out of place if only another connection, which is still open, has mentioned its agent_id.
func (m *Model) crossing(l *line, t *talk, msg message) {
	if !ofTurn[msg.kind] || !l.opened || l.unknown {
		return
	}
	if of := m.onlyOf(msg); of != "" && !l.strayed[msg.agent] {
		l.strayed[msg.agent] = true
		m.fail(msg, fmt.Sprintf("no message of the session of agent_id %q, for which only connection %s has chatted",
			msg.agent, of), "SC-001")
	}
	if t == nil || len(t.chats) == 0 {
		return
	}
	for conn, other := range m.lines {
		if conn != msg.r.Conn && other.opened && len(other.agents) > 0 {
			m.keep(msg, "SC-001")
			return
		}
	}
}

// onlyOf returns the open connection, other than that of a message, that alone has mentioned its agent_id; "" if there
// is none.
func (m *Model) onlyOf(msg message) string {
	by := m.shared[msg.agent]
	for conn := range by {
		if l := m.lines[conn]; len(by) == 1 && conn != msg.r.Conn && l != nil && l.opened && !l.closed {
			return conn
		}
	}
	return ""
}

// attempt takes a message that is not a complete chat. It must be refused; but a server that refuses everything shows
// nothing, so that the refusal counts only once a legal chat was answered.
func (m *Model) attempt(l *line, msg message) {
	clause := msg.lacking()
	if t := m.talks[m.key(msg)]; t != nil && clause != "" {
		t.meanwhile[clause] = true
	}
	if clause == "" || !l.opened || !m.quiet(msg) {
		return
	}
	o := &owed{What: "an error, or a close with 1003, 1007 or 1008", Cause: msg, About: "error, or close",
		Optional: !m.served, Match: func(p message) bool { return p.is(vocab.ErrorMessage) }}
	if m.served {
		o.Clauses = []string{clause}
	}
	l.tried, l.triedAs = l.Owe(o), msg
}

// withdrawAttempt expects no refusal any more: with another message in progress, an answer may belong to that one.
func (l *line) withdrawAttempt() {
	if l.tried != nil {
		l.tried.Done, l.tried = true, nil
	}
}

// refused takes a message that may answer an incomplete chat.
func (m *Model) refused(l *line, msg message) {
	if l.tried == nil || l.tried.Done {
		return
	}
	switch clause := l.triedAs.lacking(); {
	case msg.kind == vocab.ErrorMessage:
		l.Settle(msg)
	case ofTurn[msg.kind] && msg.kind != vocab.ResultMessage && msg.id != "" &&
		msg.data[vocab.AgentID] == l.triedAs.data[vocab.AgentID]:
		l.tried.Done = true
		l.Fail(msg, []string{clause}, fmt.Sprintf("no session created by record %d, which is not a complete chat",
			l.triedAs.r.N), "%s", msg.told())
	}
}

// refusedByClose takes a close that may answer an incomplete chat.
func (l *line) refusedByClose(msg message) {
	if s := msg.r.Status; l.tried != nil && !l.tried.Done && (s == 1003 || s == 1007 || s == 1008) {
		l.Keep(msg, l.tried.Clauses...)
	}
}

// quiet reports whether a connection has no open turn, and no client has chatted under the agent_id of a message.
func (m *Model) quiet(msg message) bool {
	for _, t := range m.talks {
		runs := slices.ContainsFunc(t.chats, func(c *Chat) bool { return c.owed != nil })
		if t.agent == msg.agent && (runs || t.turns > 0) || t.conn == msg.r.Conn && runs {
			return false
		}
	}
	return len(m.shared[msg.agent]) < 2 && m.strangers[msg.agent] == 0
}

// interrupt takes an interrupt.
func (m *Model) interrupt(l *line, msg message) {
	l.interrupts[msg.agent], l.asks = msg, true
	if m.ours() {
		m.stopped(msg)
	}
	t := m.talks[m.key(msg)]
	if t == nil {
		return
	}
	t.settle(m, false)
	t.cut = true
	t.muddled = t.muddled || len(t.chats) == 0 || t.conn != msg.r.Conn
	if len(t.chats) == 0 {
		return
	}
	c := t.chats[0]
	t.lenient = t.lenient || c.cut || !c.held
	if !c.cut && c.owed != nil && t.conn == msg.r.Conn { // the end of the turn is due for another reason
		c.owed.Optional = true
		c.end = l.Owe(&owed{What: fmt.Sprintf("the end of the interrupted turn of agent_id %q", msg.agent), Cause: msg,
			About: interruptedTurn, Clauses: []string{"SC-035", "SC-036"}, Unfenced: true,
			Match: func(message) bool { return false }})
	}
	c.cut = true
}

// interrupted judges that an interrupt ends the turn of its agent_id and no other.
func (m *Model) interrupted(l *line, t *talk, msg message) {
	if t == nil || !l.opened {
		return
	}
	was, cut := l.interrupts[msg.agent]
	interrupted := msg.kind == vocab.ResultMessage && msg.text(vocab.Subtype) == vocab.Interrupted
	switch {
	case interrupted && cut:
		m.keep(msg, "SC-035", "SC-036")
		delete(l.interrupts, msg.agent)
	case interrupted && l.asks && !t.overlaps && len(t.chats) > 0:
		m.fail(msg, fmt.Sprintf("the turn of agent_id %q, which nobody interrupted, continues", msg.agent), "SC-036")
	case msg.denies() && cut && t.begun && !t.overlaps:
		m.fail(msg, fmt.Sprintf("the interrupt of record %d is accepted", was.r.N), "SC-035")
	}
}
