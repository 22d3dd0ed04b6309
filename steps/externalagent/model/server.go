package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/steps/toolschema"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// server is the course of the traffic of a host or a relay.
type server struct {
	notes
	role   string
	ours   bool // all requests are the harness's
	forms  *forms
	owes   book    // what the book of a connection begins as
	books  []*book // of all connections so far
	lines  map[string]*line
	ids    map[string]bool // of all requests
	joins  map[string]bool // of those to join
	others []any           // ids that are not strings
	junk   []string        // of the harness: frames that are not envelopes, in which a target may still find an id

	relayed *relayed // what a relay passes on in a run; else nil

	memory  toolschema.Memory
	unknown bool // some ids may have been missed
	crowd   bool // several foreign connections: a session may belong to another one
	now     time.Duration
	moved   int // the record at which a party came or went last
}

func newServer(role string, o obligation.Observer, f *forms, owes book) *server {
	s := &server{owes: owes, role: role, ours: o == obligation.Ours, forms: f, lines: map[string]*line{},
		ids: map[string]bool{}, joins: map[string]bool{}}
	s.once = !s.ours
	if role == vocab.Relay && s.ours {
		s.relayed = newRelayed(owes)
	}
	if role == vocab.Relay && !s.ours { // what a host says is not the relay's
		s.mine = func(m message) bool { return m.kind == vocab.RelayJoined || s.joins[m.to] }
	}
	return s
}

// line is a connection, with what the server owes on it: it must have answered a request by the time that later ones
// were answered, and patience is over.
type line struct {
	*book
	s   *server
	did *history // in a run

	opened   bool // its beginning was observed
	joined   bool
	lost     bool // a clause was broken, and the course is no longer judged
	unclear  bool // the client has sent messages that may not be understood
	requests map[string]*request
	order    []*request
	suspects []suspect // errors that a later answer can refute
	nameless []nameless
	garbled  []message // frames that are not JSON
	noID     int       // record of the latest message that an error may answer without replyTo; 0: it was handled

	session string          // the study session; "": unknown
	started map[string]bool // all of the connection
	pending int             // unanswered session.start
	ending  bool            // session.end is unanswered
	over    bool            // session.ended was received, without a later session.start
	place   string          // the relay session that it asked for last
	reset   string          // the one in which session.ended was received
	states
}

// request is a request of an agent.
type request struct {
	message
	name    string // its id
	legal   bool   // as the document defines it
	active  bool   // a session was active when it was sent
	over    bool   // the session had ended
	twice   bool   // another request has the same id
	tool    string
	last    *State // the latest state when it was sent
	then    *State // and when it was answered
	answer  message
	answers int
	wrong   message // an answer of another type
	due     *owed   // its answer
	// Later requests that were answered, one after the other: each was sent after the answer to the one before.
	stages, since int
}

func (s *server) found() ([]verdict.Finding, []*book) { return s.out, s.books }

func (s *server) owing() (out []obligation.Entry) {
	for _, b := range s.books {
		out = append(out, b.Owing()...)
	}
	if s.relayed != nil {
		for _, w := range s.relayed.ways {
			out = append(out, w.Owing()...)
		}
	}
	return out
}

func (s *server) end() {
	for _, l := range s.lines {
		l.close()
	}
}

func (s *server) take(m message) {
	if m.Dir == transcript.Noted {
		return
	}
	if s.now = m.At; s.relayed != nil {
		s.relayed.take(m)
	}
	over := m.Kind == transcript.Closed || m.Kind == transcript.Failure
	if m.Kind == transcript.Open || over {
		s.moved = m.N
	}
	l := s.lines[m.Conn]
	if l == nil || m.Kind == transcript.Open {
		if l != nil {
			l.close()
		}
		old := l
		owes := s.owes
		l = &line{s: s, book: &owes, opened: m.Kind == transcript.Open, requests: map[string]*request{},
			started: map[string]bool{}, did: &history{}}
		if old != nil && s.ours { // the same party comes back
			l.session, l.started, l.over, l.reset, l.did = old.session, old.started, old.over, old.reset, old.did
		}
		l.did.from, l.did.first = m.N, nil
		s.books, s.lines[m.Conn] = append(s.books, l.book), l
		s.crowd, s.unknown = !s.ours && len(s.lines) > 1, s.unknown || !l.opened
	}
	switch {
	case over:
		l.close()
	case m.Kind != transcript.Frame:
	case unread(&m.Record):
		l.unread(m)
	case m.Dir == transcript.Sent:
		l.sent(m)
	default:
		l.received(m)
	}
}

// unread notes a frame that cannot be decoded.
func (l *line) unread(m message) {
	l.partial, l.quick, l.shot = true, nil, nil
	if m.Dir != transcript.Sent {
		return
	}
	l.Delivered(entry{m})
	l.unclear, l.s.unknown, l.noID = true, true, m.N
	if m.Event == nil && m.Cut == 0 && m.Type != "binary" && l.session != "" && len(l.garbled) < mostStates {
		l.garbled = append(l.garbled, m)
	}
	if l.s.ours {
		l.s.junk = append(l.s.junk, string(m.Bytes))
	}
}

// sent handles a message of the client.
func (l *line) sent(m message) {
	l.Delivered(entry{m})
	q := l.request(m)
	l.notes(m, q)
	l.unclear = l.unclear || !q.legal
	switch m.kind {
	case vocab.RelayJoin:
		l.s.moved, l.place = m.N, m.word(vocab.SessionID)
	case vocab.SessionStart:
		l.pending++
		l.suspects, l.quick, l.shot, l.words = nil, nil, nil, nil
		l.nameless = slices.DeleteFunc(l.nameless, func(n nameless) bool { return n.req.kind != vocab.RelayJoin })
	case vocab.SessionEnd:
		l.ending, l.quick, l.shot = true, nil, nil
	case vocab.ToolCall, vocab.AgentMessage:
		l.shot = nil
		params, _ := m.body[vocab.Params].(object)
		said, _ := params[vocab.Text].(string)
		if said = cmp.Or(m.word(vocab.Text), said); said != "" && len(l.words) < mostRequests {
			l.words = append(l.words, said)
		}
	}
	l.overdue(m)
}

// request notes a request, and what is owed because of it.
func (l *line) request(m message) *request {
	id, named := m.id()
	other := m.env[vocab.ID]
	q := &request{message: m, name: id, legal: m.legal(), tool: m.word(vocab.ToolName), last: l.last, since: m.N,
		active: l.session != "" && l.pending == 0 && !l.ending && (l.joined || l.s.ours), over: l.over && l.pending == 0}
	if !named {
		l.unclear = l.unclear || AnswerOf[m.kind] != "" || other != nil || m.kind == ""
		l.s.unknown = l.s.unknown || other != nil
		if l.s.ours && other != nil {
			l.s.others = append(l.s.others, other)
		}
	}
	if id == "" || m.kind == "" || m.Type == "binary" { // envelopes are text: nobody need read an id in bytes
		l.noID = m.N
	}
	old := l.requests[id]
	if named {
		if len(l.s.ids) < mostIDs || l.s.ours {
			l.s.ids[id] = true
		} else {
			l.s.unknown = true
		}
		if old != nil {
			old.twice, q.twice = true, true
		}
		l.requests[id] = q
		if q.kind == vocab.RelayJoin && len(l.s.joins) < mostIDs {
			l.s.joins[id] = true
		}
	}
	if l.order = append(l.order, q); len(l.order) > mostRequests {
		if old := l.order[0]; l.requests[old.name] == old {
			delete(l.requests, old.name)
		}
		l.order[0].settled()
		l.order = l.order[1:]
	}
	if old != nil && named {
		old.settled()
	} else {
		l.owe(q)
	}
	return q
}

// owe enters the answer to a request, if it is due: a relay itself answers only joins.
func (l *line) owe(q *request) {
	clauses := answered[q.kind]
	takes := l.s.role == vocab.Host && (q.active || q.kind == vocab.SessionStart)
	if q.kind == vocab.RelayJoin { // what a second one meets is not stated
		takes = l.opened && len(l.order) == 1
	}
	if l.lost || clauses == nil || !q.legal || !takes {
		return
	}
	q.due = l.Owe(&owed{What: fmt.Sprintf("%s with replyTo %s", AnswerOf[q.kind], q.name), About: AnswerOf[q.kind],
		Cause: entry{q.message}, Clauses: clauses,
		Match: func(p entry) bool { return p.fromTarget() && p.kind == AnswerOf[q.kind] && p.to == q.name },
		Amiss: func() ([]string, string) {
			return clauses, fmt.Sprintf("no such message, although later requests were answered, up to record %d", q.since)
		},
		Late: func(entry) []string { return nil }})
}

// settled notes that nothing is owed because of a request any more, or that it is unknown.
func (q *request) settled() {
	if q.due != nil {
		q.due.Done = true
	}
}

// overdue finds answers that have not come, although later requests were answered and patience is over.
func (l *line) overdue(m message) {
	before := 0
	for _, q := range l.order {
		if q.kind == vocab.SessionStart && !l.joined || q.wrong.N > 0 && q.answers == 0 {
			continue
		}
		if q.due != nil && !q.due.Done && q.stages > 1 && m.At-q.At >= patience {
			before = q.N + 1
		}
	}
	if before > l.Handled() && !l.s.ours {
		l.Fence(before, m.N, m.At)
	}
}

// lose notes that the server may see the course otherwise than the model. In a run each finding stands for itself.
func (l *line) lose() {
	if !l.s.ours {
		l.lost = true
		l.Close()
	}
}

// close judges missing messages at the end of a connection.
func (l *line) close() {
	if !l.lost {
		l.silent()
	}
	for _, q := range l.order {
		if !l.lost && q.wrong.N > 0 && q.answers == 0 && q.due != nil && !q.twice && q.stages > 0 {
			l.s.broken(q.wrong, fmt.Sprintf("%s, since it answers the %s of record %d", AnswerOf[q.kind], q.kind, q.N), "",
				answered[q.kind]...)
			l.lose()
		}
	}
	l.Close()
	l.lost, l.order, l.suspects, l.requests = true, nil, nil, map[string]*request{}
	l.nameless, l.states = nil, states{}
}

// inJunk reports whether an id occurs in a frame that is not an envelope.
func (s *server) inJunk(id string) bool {
	return slices.ContainsFunc(s.junk, func(j string) bool { return strings.Contains(j, id) })
}

// named judges, in a run, that every replyTo is the id of a request.
func (s *server) named(m message) {
	to := m.env[vocab.ReplyTo]
	if to == nil {
		return
	}
	ok := text(to, true) && (s.ids[m.to] || s.inJunk(m.to)) || slices.ContainsFunc(s.others, func(id any) bool {
		return wjson.Equal(id, to) || wjson.Compact(id) == to
	})
	s.check(ok, m, "replyTo is the id of a request", "replyTo is "+wjson.Compact(to), "EA-023a")
}

// states are the states of a connection's session, and what they show.
type states struct {
	last    *State
	all     []toolschema.Tools // announced in this session
	seen    []any              // their toolSchemas
	partial bool               // announcements of this session were missed or not understood
	quick   *quick
	shot    *State       // a snapshot that differs from the state announced before
	words   []string     // the agent's messages in this session
	before  []string     // in the previous one
	history []any        // of the previous one, at its end
	fresh   int          // record of the latest session.started
	checked int          // the session whose first snapshot was judged
	strange []doneThough // calls that no state allows so far
	blank   []doneThough // calls that were not refused with NO_ACTIVE_SPEC while uiSpec was null
}

// quick is a result without uiSpec, which a state.updated must follow.
type quick struct {
	*request
	due      *owed
	changed  bool // a snapshot after the answer shows another state than before the call
	effects  int  // later requests that were answered after its answer
	effectAt int
}

// doneThough is an answer to a call whose fault a later state shows.
type doneThough struct {
	q        *request
	m        message
	expected string
}
