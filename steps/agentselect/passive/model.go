package passive

import (
	"bytes"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transcript"
	"parley/verdict"
	wjson "parley/wire/json"
)

// maxKept bounds the connections, sessions and requests that are remembered. Beyond it no switch is judged.
const maxKept = 10_000

// model is what the messages seen so far tell about all connections.
type model struct {
	out      []verdict.Finding
	conns    map[string]*conn
	sessions map[string]*session // by id
	requests map[int]request     // session requests over HTTP that were not answered yet, by record
	strange  bool                // something may have acted on any session: no switch is judged any more
	latest   *session            // the session of the latest switch
}

// conn is an open connection whose beginning was seen.
type conn struct {
	id     string            // as connected told it
	told   bool              // connected was seen
	events int               // events of the protocol
	listed bool              // agent_list was seen
	names  map[string]string // agent → name, of the latest agent_list
	acted  bool              // the client has sent something
	asked  int               // session requests that were not answered yet
	sought bool              // a session was requested at any time
	bound  *session
	loads  string // the session that a request under way names; "" for a new one
	unsure bool   // what comes here may answer several messages
	other  bool   // more than switches and session requests was sent
	failed bool   // a switch was refused
	open   []*ask
	misfit map[string]misnamed // names in agent_switched that the list does not have, by agent
}

// misnamed is an agent_switched with another name than the list's.
type misnamed struct {
	r      transcript.Record
	listed string
}

// session is a session that was created or loaded over a connection that was seen.
type session struct {
	id      string
	owner   *conn
	agent   string // of the latest switch; "" if unknown
	refused string // the agent of a switch refused since; "" for none
	created bool   // its beginning was seen
	chats   bool   // somebody has chatted in it
	running bool   // a chat was sent, and its end was not seen
	waiting bool   // a request to the user is open
}

// request is a session request.
type request struct {
	c  *conn
	id string // of the session to load
}

// ask is a switch_agent that was not answered yet.
type ask struct {
	id    any
	named bool     // it names a session
	of    *session // nil: none that was seen
	clear bool     // what comes next in answer can only answer it
}

func (m *model) take(r transcript.Record) {
	c := m.conns[r.Conn]
	switch {
	case r.Kind == transcript.Open && r.Dir == transcript.Sent:
		m.closed(c)
		m.conns[r.Conn] = &conn{misfit: map[string]misnamed{}}
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

// closed forgets to whom the session of a connection belongs: what happens to it now is open.
func (m *model) closed(c *conn) {
	if c != nil && c.bound != nil {
		c.bound.owner, c.bound.agent, c.bound.refused = nil, "", ""
		c.bound = nil
	}
}

// bound forgets everything where too much is open.
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

// sent takes a client's message.
func (m *model) sent(c *conn, r transcript.Record) {
	method, _, _ := strings.Cut(r.Label, " ")
	if r.Kind == transcript.Request && (method == "GET" || method == "HEAD" || method == "OPTIONS") {
		return
	}
	if c == nil || r.Event == nil { // whose it is, or what, is unknown
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

// seeks takes a session request.
func (m *model) seeks(c *conn, r transcript.Record) {
	if len(c.open) > 0 || c.asked > 0 || !m.tells(c, r) {
		c.unsure = true
	}
	c.asked, c.sought, c.loads = c.asked+1, true, ""
	if r.Event.Type == vocab.SessionLoadType {
		c.loads = text(r, "sessionId")
		if s := m.sessions[c.loads]; s == nil || s.owner != nil && s.owner != c {
			c.unsure = true // what it did before, and whether it moves, is open
			if s != nil {
				s.owner.unsure = true
			}
		}
	}
	if r.Kind == transcript.Request {
		m.requests[r.N] = request{c, c.loads}
		m.bound()
	}
}

// talks takes any other message of a client.
func (m *model) talks(c *conn, r transcript.Record) {
	c.other = true
	s := c.bound
	if id, named := member(r, "sessionId"); named && (s == nil || id != any(s.id)) {
		if other := m.sessions[text(r, "sessionId")]; other != nil {
			other.chats = true
		}
		c.unsure = true
		return
	}
	switch {
	case s == nil:
		c.unsure = true // it may have got a session by that
	case r.Event.Type == vocab.ChatType:
		s.chats, s.running = true, true
	default:
		s.chats, s.waiting, s.running = true, false, false
	}
}

// tells reports whether a message tells the server its connection: on a socket, by its id, or as there is only one.
func (m *model) tells(c *conn, r transcript.Record) bool {
	return r.Kind == transcript.Frame || len(m.conns) == 1 || c.id != "" && bytes.Contains(r.Bytes, []byte(c.id))
}

// answered takes the answer to an HTTP request.
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
	m.binds(q.c, name, q.id)
}

// binds takes that a session was created, or that the one with the id loaded was.
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

// asks takes a switch.
func (m *model) asks(c *conn, r transcript.Record) {
	a := &ask{of: c.bound}
	a.id, _ = member(r, "agentId")
	var id any
	id, a.named = member(r, "sessionId")
	if a.named && (c.bound == nil || c.bound.id == "" || id != any(c.bound.id)) {
		a.of = nil
		if s := m.sessions[text(r, "sessionId")]; s != nil {
			c.unsure = true // it is announced elsewhere, or not any more
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
