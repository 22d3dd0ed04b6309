package passive

import (
	"bytes"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// maxKept bounds the stored connections, sessions and requests. Beyond it no switch is judged.
const maxKept = 10_000

// model is the state of all connections as derived from the messages so far.
type model struct {
	out      []verdict.Finding
	conns    map[string]*conn
	sessions map[string]*session // by id
	requests map[int]request     // unanswered session requests over HTTP, by record
	strange  bool                // an unknown message may have acted on any session: no further switch is judged
	latest   *session            // the session of the latest switch
}

// conn is an open connection whose beginning was seen.
type conn struct {
	id     string            // as named by connected
	told   bool              // connected was seen
	events int               // events of the protocol
	listed bool              // agent_list was seen
	names  map[string]string // agent → name, from the latest agent_list
	acted  bool              // the client has sent something
	asked  int               // unanswered session requests
	sought bool              // a session was requested at any time
	bound  *session
	loads  string // the session that a request in progress names; "" for a new one
	unsure bool   // an event here may answer several messages
	other  bool   // other messages than switches and session requests were sent
	failed bool   // a switch was refused
	open   []*ask
	misfit map[string]misnamed // names in agent_switched that are not in the list, by agent
	opened int                 // the record
	heard  int                 // the latest event
	// told once it has outlived what another connection was told; nil: nothing
	waiting func()
}

// misnamed is an agent_switched whose name differs from the list's.
type misnamed struct {
	r      transcript.Record
	listed string
}

// session is a session that was created or loaded over an observed connection.
type session struct {
	id      string
	owner   *conn
	agent   string // of the latest switch; "" if unknown
	refused string // the agent of a switch refused since; "" for none
	created bool   // its beginning was observed
	chats   bool   // a client has chatted in it
	running bool   // a chat was sent, and its end was not observed
	waiting bool   // a request to the user is open
}

// request is a session request.
type request struct {
	c    *conn
	id   string // of the session to load
	sure bool   // it is certain that it is of that connection
}

// ask is an unanswered switch_agent.
type ask struct {
	id    any
	named bool     // it names a session
	of    *session // nil: none was observed
	clear bool     // the next answer can only be for it
}

func (m *model) take(r transcript.Record) {
	c := m.conns[r.Conn]
	switch {
	case r.Kind == transcript.Open && r.Dir == transcript.Sent:
		m.closed(c)
		m.conns[r.Conn] = &conn{misfit: map[string]misnamed{}, opened: r.N}
		m.bound()
	case r.Kind == transcript.Closed:
		m.closed(c)
		delete(m.conns, r.Conn)
	case r.Dir == transcript.Sent && (r.Kind == transcript.Request || r.Kind == transcript.Frame):
		m.sent(c, r)
	case r.Kind == transcript.Response && r.Dir == transcript.Received:
		m.answered(r)
	case r.Event != nil && r.Dir == transcript.Received && c != nil:
		m.event(c, r)
	}
}

// closed forgets the owner of a connection's session: what happens to the session is unspecified.
func (m *model) closed(c *conn) {
	if c != nil && c.bound != nil {
		c.bound.owner, c.bound.agent, c.bound.refused = nil, "", ""
		c.bound = nil
	}
}

// bound forgets everything if the state is too large.
func (m *model) bound() {
	if len(m.conns)+len(m.sessions)+len(m.requests) > maxKept {
		m.strange = true
		clear(m.sessions)
		clear(m.requests)
	}
	if len(m.conns) > maxKept {
		clear(m.conns)
	}
}

// sent handles a client's message.
func (m *model) sent(c *conn, r transcript.Record) {
	method, _, _ := strings.Cut(r.Label, " ")
	if r.Kind == transcript.Request && (method == "GET" || method == "HEAD" || method == "OPTIONS") {
		return
	}
	if c == nil || r.Event == nil { // its sender or its type is unknown
		m.strange = true
		return
	}
	c.acted = true
	switch r.Event.Type {
	case vocab.SwitchAgentType:
		m.asks(c, r)
	case vocab.SessionCreateType, vocab.SessionLoadType:
		m.seeks(c, r)
	default:
		m.talks(c, r)
	}
}

// seeks handles a session request.
func (m *model) seeks(c *conn, r transcript.Record) {
	if len(c.open) > 0 || c.asked > 0 || !m.tells(c, r) {
		c.unsure = true
	}
	c.asked, c.sought, c.loads = c.asked+1, true, ""
	if r.Event.Type == vocab.SessionLoadType {
		c.loads = text(r, vocab.SessionID)
		if s := m.sessions[c.loads]; s == nil || s.owner != nil && s.owner != c {
			c.unsure = true // its earlier acts, and whether it moves, are unknown
			if s != nil {
				s.owner.unsure = true
			}
		}
	}
	if r.Kind == transcript.Request {
		m.requests[r.N] = request{c, c.loads, m.tells(c, r)}
		m.bound()
	}
}

// talks handles any other message of a client.
func (m *model) talks(c *conn, r transcript.Record) {
	c.other = true
	s := c.bound
	if id, named := member(r, vocab.SessionID); named && (s == nil || id != any(s.id)) {
		if other := m.sessions[text(r, vocab.SessionID)]; other != nil {
			other.chats = true
		}
		c.unsure = true
		return
	}
	switch {
	case s == nil:
		c.unsure = true // the message may have given it a session
	case r.Event.Type == vocab.ChatType:
		s.chats, s.running = true, true
	default:
		s.chats, s.waiting, s.running = true, false, false
	}
}

// tells reports whether a message identifies its connection: on a socket, by its id, or because there is only one.
func (m *model) tells(c *conn, r transcript.Record) bool {
	return r.Kind == transcript.Frame || len(m.conns) == 1 || c.id != "" && bytes.Contains(r.Bytes, []byte(c.id))
}

// answered handles the answer to an HTTP request.
func (m *model) answered(r transcript.Record) {
	q, ok := m.requests[r.Reply]
	if !ok {
		return
	}
	delete(m.requests, r.Reply)
	v, _, err := wjson.Decode(r.Bytes)
	success, has := wjson.Lookup(v, "/success")
	if r.Status/100 != 2 || err != nil || has && success != any(true) {
		q.c.unsure = true
		return
	}
	id, _ := wjson.Lookup(v, "/session/id")
	name, _ := id.(string)
	if q.id == "" && q.sure {
		m.isNew(q.c, r, name)
	}
	m.binds(q.c, name, q.id)
}

// binds notes that a session was created, or that the session with the id was loaded.
func (m *model) binds(c *conn, created, loaded string) {
	if c.asked--; c.asked != 0 {
		c.unsure = true
		return
	}
	if c.bound != nil {
		c.bound.owner = nil
	}
	id := created
	if loaded != "" {
		id = loaded
	}
	s := m.sessions[id]
	if s == nil || id == "" {
		s = &session{id: id, created: loaded == ""}
	}
	if id != "" {
		m.sessions[id] = s
		m.bound()
	}
	s.owner, c.bound = c, s
}

// asks handles a switch.
func (m *model) asks(c *conn, r transcript.Record) {
	a := &ask{of: c.bound}
	a.id, _ = member(r, vocab.AgentID)
	var id any
	id, a.named = member(r, vocab.SessionID)
	if a.named && (c.bound == nil || c.bound.id == "" || id != any(c.bound.id)) {
		a.of = nil
		if s := m.sessions[text(r, vocab.SessionID)]; s != nil {
			c.unsure = true // it is announced on another connection, or no longer
			if s.agent = ""; s.owner != nil {
				s.owner.unsure = true
			}
		}
	}
	if name, is := id.(string); a.named && (!is || name == "") || a.named && c.bound != nil && c.bound.id == "" {
		c.unsure = true
	}
	if len(c.open) > 0 {
		c.unsure = true
	}
	if !m.tells(c, r) {
		m.strange = true
	}
	a.clear = c.asked == 0
	if len(c.open) < 100 {
		c.open = append(c.open, a)
	}
}
