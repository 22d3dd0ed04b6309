package passive

import (
	"slices"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// ofTurn are the message types that occur only in turns.
var ofTurn = map[string]bool{vocab.SystemMessage: true, vocab.StreamMessage: true, vocab.AssistantMessage: true,
	vocab.ResultMessage: true}

// key is a session on a connection.
type key struct{ conn, agent string }

// session is the state of the turns of an agent_id on a connection.
type session struct {
	chats     []transcript.Record // without a result, oldest first
	begun     bool                // the oldest of them has received a message of its turn
	answers   []transcript.Record // messages of its turn
	ended     *transcript.Record  // the latest result
	since     bool                // another message of a turn came since then
	cut       bool                // an interrupt was sent
	overlaps  bool                // a second chat came while one was open: results can't be matched
	seenOther bool                // a chat of another agent_id came in between
	id        string              // the latest session_id under this agent_id
}

// table is the state of all sessions, record by record.
type table struct {
	sessions  map[key]*session
	byConn    map[string][]string        // agent_ids with a chat, in order
	shared    map[string]map[string]bool // agent_id → connections that have mentioned it
	opened    map[string]bool            // connections whose beginning was observed
	closed    map[string]bool            // connections whose end was observed
	unknown   map[string]bool            // connections that carried something other than the three messages
	strangers map[string]int             // agent_ids that the server mentioned before any client, with the record
}

func newTable() *table {
	return &table{sessions: map[key]*session{}, byConn: map[string][]string{}, shared: map[string]map[string]bool{},
		opened: map[string]bool{}, closed: map[string]bool{}, unknown: map[string]bool{}, strangers: map[string]int{}}
}

// mine returns the session of a record; nil if no chat named it on this connection, or if other connections use
// it too, so that its messages may belong to them.
func (b *table) mine(r transcript.Record) *session {
	agent := text(r, vocab.AgentID)
	if len(b.shared[agent]) > 1 || b.strangers[agent] > 0 {
		return nil
	}
	return b.sessions[key{r.Conn, agent}]
}

// before notes client messages, and the start and end of connections. It is called before a record is judged.
func (b *table) before(r transcript.Record) {
	switch {
	case r.Kind == transcript.Open:
		b.opened[r.Conn] = true
		delete(b.closed, r.Conn)
		b.forget(r.Conn)
	case r.Kind == transcript.Closed:
		b.closed[r.Conn] = true
		b.forget(r.Conn)
	case r.Event == nil && r.Dir == transcript.Sent && r.Kind == transcript.Frame:
		b.unknown[r.Conn] = true
	case sent(r):
		b.client(r)
	case received(r) && ofTurn[r.Event.Type]:
		if agent := text(r, vocab.AgentID); agent != "" && len(b.shared[agent]) == 0 && b.strangers[agent] == 0 {
			b.strangers[agent] = r.N
		}
	}
}

// forget drops the sessions of a closed connection: its turns may continue on any connection.
func (b *table) forget(conn string) {
	for k := range b.sessions {
		if k.conn == conn {
			delete(b.sessions, k)
		}
	}
	delete(b.byConn, conn)
	delete(b.unknown, conn)
}

func (b *table) client(r transcript.Record) {
	agent := text(r, vocab.AgentID)
	if agent != "" {
		if b.shared[agent] == nil {
			b.shared[agent] = map[string]bool{}
		}
		b.shared[agent][r.Conn] = true
	}
	s := b.sessions[key{r.Conn, agent}]
	switch {
	case legal(r):
		if s == nil {
			s = &session{}
			b.sessions[key{r.Conn, agent}] = s
		}
		if !slices.Contains(b.byConn[r.Conn], agent) {
			b.byConn[r.Conn] = append(b.byConn[r.Conn], agent)
		}
		s.overlaps = s.overlaps || len(s.chats) > 0
		s.chats = append(s.chats, r)
		for k, other := range b.sessions {
			other.seenOther = other.seenOther || k.conn == r.Conn && k.agent != agent
		}
	case r.Event.Type == vocab.InterruptType && s != nil:
		s.cut = true
	case r.Event.Type != vocab.PingType && r.Event.Type != vocab.InterruptType:
		b.unknown[r.Conn] = true
	}
}

// after notes server messages. It is called after a record was judged.
func (b *table) after(r transcript.Record) {
	if !received(r) || !ofTurn[r.Event.Type] {
		return
	}
	s := b.sessions[key{r.Conn, text(r, vocab.AgentID)}]
	if s == nil {
		return
	}
	if id := text(r, vocab.SessionID); id != "" {
		s.id = id
	}
	if r.Event.Type != vocab.ResultMessage {
		s.begun, s.since = true, true
		s.answers = append(s.answers, r)
		return
	}
	if len(s.chats) > 0 {
		s.chats = s.chats[1:]
	}
	if len(s.chats) == 0 {
		s.seenOther = false
	}
	s.ended, s.begun, s.since, s.answers = &r, false, false, nil
}

// legal reports whether a client message is a chat as the document defines it.
func legal(r transcript.Record) bool {
	if r.Event.Type != vocab.ChatType || len(r.Event.Faults) > 0 || r.Cut > 0 {
		return false
	}
	options := member(r, vocab.Options)
	_, object := options.(map[string]any)
	return text(r, vocab.AgentID) != "" && text(r, vocab.Content) != "" && (options == nil || object)
}

// each visits the server's records, each with the state before it.
func (v *traffic) each(visit func(b *table, r transcript.Record)) {
	b := newTable()
	for _, r := range v.records {
		if r.Late || r.Dir == transcript.Noted {
			continue
		}
		b.before(r)
		visit(b, r)
		b.after(r)
	}
}

// denies reports whether an error calls a message invalid, which is not a reason to refuse a legal one.
func denies(r transcript.Record) bool {
	if !received(r) || r.Event.Type != vocab.ErrorMessage {
		return false
	}
	code := text(r, vocab.Code)
	return code == vocab.UnknownType || code == vocab.MissingField
}
