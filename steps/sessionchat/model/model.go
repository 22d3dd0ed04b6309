// Package model is the model of session-chat: what a server owes its clients, and what it must not do. It is a fold
// over the records of a transcript, decoded as by the binding: Data has the names of the default binding, and missing
// members are absent.
//
// If all clients are the harness's own (obligation.Ours), the nonces in their chats tell which chat the model's words
// answer, and remarks tell when a session may have left the target's memory. Of foreign traffic it sees only the
// messages: other clients may chat under any agent_id, so that a message with several possible causes is not judged,
// and an agent_id that several connections use is nobody's.
package model

import (
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

type (
	owed = obligation.Owed[message, string] // about what a chart calls it
	book = obligation.Book[message, string]
)

// key is a conversation, a session_id or an agent_id on a connection.
type key struct{ conn, of string }

// Model folds the records of a transcript. It implements obligation.Model.
type Model struct {
	// OwnModel says that the target's model is not the harness's, so that its answers are not known.
	OwnModel bool

	observer obligation.Observer
	findings []found // beside those of the books
	pending  []pending

	lines     map[string]*line // connections
	books     []*book          // of all connections so far
	ended     bool             // a connection has ended
	served    bool             // a legal chat was answered
	talks     map[key]*talk
	used      map[string]bool            // agent_ids of chats
	shared    map[string]map[string]bool // agent_id → connections that have mentioned it
	strangers map[string]int             // agent_ids that the server mentioned before any client, with the record
	latest    map[string]int             // agent_id → the latest record in which the server mentioned it
	nonces    map[string]string          // of directives in chats → agent_id
	chats     map[int]*Chat              // of our own clients, by record
	beats     map[int]*beat              // heartbeats by record
	calls     map[string]*calls          // by connection
	tries     map[int]*attempt           // by record
	illegal   map[string]bool            // nonces of messages that are not chats
	ids       ids

	tally  obligation.Tally
	duties obligation.Duties // nil: not collected
}

// Subject says what a finding is about.
type Subject int

// The subjects that steps ask for.
const (
	Others Subject = iota
	IDs            // session_ids
	Errors         // of turns whose model fails
)

// found is a finding about the session of an agent_id.
type found struct {
	verdict.Finding
	agent   string
	subject Subject
}

// pending is a finding that counts unless the server mentions an agent_id later.
type pending struct {
	agent   string
	finding found
}

// New returns the model of a transcript that has no record yet.
func New(o obligation.Observer) *Model {
	return &Model{observer: o, lines: map[string]*line{}, talks: map[key]*talk{}, used: map[string]bool{},
		shared: map[string]map[string]bool{}, strangers: map[string]int{}, latest: map[string]int{},
		nonces: map[string]string{}, chats: map[int]*Chat{}, tries: map[int]*attempt{}, beats: map[int]*beat{},
		illegal: map[string]bool{}, tally: obligation.Tally{},
		calls: map[string]*calls{}, ids: newIDs()}
}

// ours reports whether all clients are the harness's own.
func (m *Model) ours() bool { return m.observer == obligation.Ours }

// Take implements obligation.Model.
func (m *Model) Take(r transcript.Record) {
	if r.Late {
		return
	}
	m.ids.memory.take(r)
	msg := read(r)
	if m.ours() {
		m.attempts(msg)
	}
	switch {
	case r.Dir == transcript.Noted:
		m.noted(r)
	case r.Kind == transcript.Open:
		m.forget(r.Conn)
		m.lines[r.Conn] = m.newLine(true)
		m.lines[r.Conn].began = r.N
		m.callsOf(r.Conn).opened()
	case r.Kind == transcript.Closed:
		m.closed(msg)
	case msg.sent():
		m.sent(msg)
	case msg.received():
		m.received(msg)
	case r.Kind == transcript.Frame && r.Dir == transcript.Sent:
		l := m.line(r.Conn)
		l.unknown, l.beats, l.silent = true, false, false
		m.vain(msg)
	}
}

// End implements obligation.Model.
func (m *Model) End() {
	for _, p := range m.pending {
		m.findings = append(m.findings, p.finding)
	}
	for _, t := range m.talks {
		t.settle(m, false)
	}
	for _, l := range m.lines {
		m.leave(l)
	}
	m.pending = nil
}

// Findings implements obligation.Model.
func (m *Model) Findings() []verdict.Finding {
	out := make([]verdict.Finding, 0, len(m.findings))
	for _, f := range m.findings {
		out = append(out, f.Finding)
	}
	for _, b := range m.books {
		out = append(out, b.Found()...)
	}
	slices.SortStableFunc(out, func(a, b verdict.Finding) int { return a.At - b.At })
	return out
}

// Owing implements obligation.Model.
func (m *Model) Owing() (out []obligation.Entry) {
	for _, b := range m.books {
		out = append(out, b.Owing()...)
	}
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

// Of returns the findings on a subject in the session of an agent_id, in the order in which they were made.
func (m *Model) Of(agent string, what Subject) (out []verdict.Finding) {
	for _, f := range m.findings {
		if f.agent == agent && f.subject == what {
			out = append(out, f.Finding)
		}
	}
	return out
}

func (m *Model) keep(at message, clauses ...string) {
	m.add(at, kept(clauses...))
}

// add records a finding on a message.
func (m *Model) add(at message, f verdict.Finding) {
	m.about(at, at.agent, Others, f)
}

func (m *Model) about(at message, agent string, what Subject, f verdict.Finding) {
	f.At, f.Judge = at.r.N, verdict.ByModel
	m.findings = append(m.findings, found{f, agent, what})
}

func kept(clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, OK: true, Judge: verdict.ByModel}
}

// fail records that a message breaks clauses.
func (m *Model) fail(at message, expected string, clauses ...string) {
	m.add(at, failed(at, expected, clauses...))
}

func failed(at message, expected string, clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, At: at.r.N, Expected: expected, Observed: at.told(), Judge: verdict.ByModel}
}

// unlessMentioned records a finding that counts unless the server mentions an agent_id after a record.
func (m *Model) unlessMentioned(agent string, after int, at message, f verdict.Finding) {
	if m.latest[agent] <= after {
		m.pending = append(m.pending, pending{agent, found{f, at.agent, Others}})
	}
}

// closed takes the end of a connection.
func (m *Model) closed(msg message) {
	l := m.line(msg.r.Conn)
	l.refusedByClose(msg)
	if m.ours() && msg.r.Dir == transcript.Received {
		for _, b := range l.open {
			if !b.Done {
				l.refused(b, msg)
			}
		}
	}
	m.forget(msg.r.Conn)
	closed := m.newLine(l.opened)
	closed.closed, closed.by, closed.silent, closed.began, m.ended = true, msg, false, msg.r.N, true
	m.lines[msg.r.Conn] = closed
}

// forget drops the state of a connection: of foreign clients, its turns may go on over any other.
func (m *Model) forget(conn string) {
	if l := m.lines[conn]; l != nil {
		m.leave(l)
		l.Close()
	}
	for at := range m.talks {
		if at.conn == conn {
			delete(m.talks, at)
		}
	}
	m.ids.forget(conn, m.ours())
}

// sent takes a message of a client.
func (m *Model) sent(msg message) {
	l := m.line(msg.r.Conn)
	if msg.agent != "" {
		if m.shared[msg.agent] == nil {
			m.shared[msg.agent] = map[string]bool{}
		}
		m.shared[msg.agent][msg.r.Conn] = true
	}
	if m.ours() {
		m.talk(msg)
	}
	l.asked, l.latest = true, msg.r.N
	l.withdrawAttempt()
	switch msg.kind {
	case vocab.PingType:
		m.ping(l, msg)
	case vocab.InterruptType:
		m.interrupt(l, msg)
	case vocab.ChatType:
		m.chat(l, msg)
	default:
		l.unknown = true
		if t := m.talks[m.key(msg)]; t != nil {
			t.lenient = true // it may be answered with a result
		}
	}
	if msg.kind != vocab.PingType {
		l.beats = false
		l.silent = l.silent && msg.legal()
	}
	m.try(msg)
	m.ids.sent(m, l, msg)
	m.attempt(l, msg)
}

// received takes a message of the server.
func (m *Model) received(msg message) {
	l := m.line(msg.r.Conn)
	if ofTurn[msg.kind] && msg.agent != "" && len(m.shared[msg.agent]) == 0 && m.strangers[msg.agent] == 0 {
		m.strangers[msg.agent] = msg.r.N
	}
	if msg.agent != "" {
		m.latest[msg.agent] = msg.r.N
		m.pending = slices.DeleteFunc(m.pending, func(p pending) bool { return p.agent == msg.agent })
	}
	t := m.mine(msg)
	m.formed(msg)
	if !m.ours() || m.ownAgent(msg) { // else its session_id is not that of its agent_id
		m.ids.received(m, l, t, msg)
	}
	m.failing(l, msg)
	if m.ours() {
		m.uncalled(msg)
	}
	m.beforeChat(l, msg)
	m.crossing(l, t, msg)
	m.heartbeat(l, msg)
	m.refused(l, msg)
	m.interrupted(l, t, msg)
	if m.ours() {
		m.hear(l, msg)
	} else {
		m.answered(l, t, msg)
		m.pieces(t, msg)
	}
	switch {
	case msg.kind == vocab.ResultMessage:
		m.result(l, t, msg)
	case t != nil && ofTurn[msg.kind]:
		t.said(m, msg)
	}
	m.turned(msg)
}
