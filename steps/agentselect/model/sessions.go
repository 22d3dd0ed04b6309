package model

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// closed forgets the owner of a connection's session: what happens to the session is unspecified.
func (m *Model) closed(c *conn) {
	if c != nil && c.bound != nil {
		if len(c.open) > 0 { // they may be carried out yet
			c.bound.agent, c.bound.left, c.bound.first = "", "", ""
		}
		c.bound.left, c.bound.holds = cmp.Or(c.bound.agent, c.bound.left), false
		c.bound.waiting = c.bound.waiting && !m.ours()
		c.bound.owner, c.bound.agent, c.bound.refused = nil, "", ""
		c.bound.virgin, c.bound.loaded = false, false
		c.bound = nil
	}
}

// bound forgets everything if the state is too large.
func (m *Model) bound() {
	if len(m.conns)+len(m.sessions)+len(m.requests)+len(m.posts) > maxKept {
		m.strange = true
		clear(m.sessions)
		clear(m.requests)
		clear(m.posts)
	}
	if len(m.conns) > maxKept {
		clear(m.conns)
	}
}

// sent takes a client's message.
func (m *Model) sent(c *conn, r transcript.Record) {
	method, _, _ := strings.Cut(r.Label, " ")
	if r.Kind == transcript.Request && (method == "GET" || method == "HEAD" || method == "OPTIONS") {
		return
	}
	if m.ours() && c != nil && r.Event == nil {
		m.sentRaw(c, r, method)
		return
	}
	if c == nil || c.joined || r.Event == nil { // its sender, its session or its type is unknown
		m.strange = true
	}
	if r.Event == nil {
		return
	}
	if m.ours() && r.Event.Type == vocab.SwitchAgentType {
		m.wants(r)
	}
	if c == nil {
		return
	}
	if id, _ := member(r, vocab.AgentID); r.Event.Type != vocab.SwitchAgentType || !m.unlisted(&ask{id: id, c: c}) {
		c.act, m.acted = r.N, r.N
	}
	c.acted = true
	if c.list != nil && !c.listed {
		c.list.Clauses = []string{"AS-033"}
	}
	switch r.Event.Type {
	case vocab.SwitchAgentType:
		m.asks(c, r)
	case vocab.SessionCreateType, vocab.SessionLoadType:
		m.seeks(c, r)
	default:
		m.talks(c, r)
	}
}

// sentRaw takes what a client of the harness sends that is no message: it deletes a session, or is nothing at all.
func (m *Model) sentRaw(c *conn, r transcript.Record, method string) {
	c.other, c.odd = c.other || method != "DELETE", true
	for id, s := range m.sessions {
		if method == "DELETE" && strings.Contains(r.Label, url.PathEscape(id)) {
			delete(m.sessions, id)
			if s.owner != nil {
				s.owner.bound, s.owner = nil, nil
			}
		}
	}
}

// seeks takes a session request.
func (m *Model) seeks(c *conn, r transcript.Record) {
	sure := m.tells(c, r)
	if len(c.open) > 0 || c.asked > 0 || !sure {
		c.unsure = true
	}
	c.initial = text(r, vocab.InitialAgentID)
	c.asked, c.sought, c.loads, c.plain = c.asked+1, true, "", c.names != nil
	for id := range c.names { // wherever a server lets clients name the first agent
		c.plain = c.plain && !bytes.Contains(r.Bytes, []byte(strconv.Quote(id))) && !strings.Contains(r.Label, id)
	}
	q := request{c: c, sure: sure}
	c.seeking = &seeking{r: r, load: r.Event.Type == vocab.SessionLoadType,
		known: m.sessions[text(r, vocab.SessionID)] != nil}
	if r.Event.Type == vocab.SessionLoadType {
		c.loads = text(r, vocab.SessionID)
		m.contested = m.contested || m.sessions[c.loads] != nil && m.sessions[c.loads].owner != nil
		switch s := m.sessions[c.loads]; {
		case s == nil || s.owner == nil || s.owner == c:
		case !sure || r.Kind != transcript.Request || len(s.owner.open) > 0 || s.owner.asked > 0:
			// whether it moves is unknown
			c.unsure, s.owner.unsure = true, true
		default:
			s.owner.moving++
			q.moves = s
		}
	}
	if r.Kind == transcript.Request {
		q.id = c.loads
		m.requests[r.N] = q
		m.bound()
	}
}

// spoken are the other messages that the source names: the error that answers one is of its turn.
var spoken = []string{vocab.ChatType, vocab.AbortType, vocab.ConfirmationResponse, vocab.QuestionResponse}

// talks takes any other message of a client.
func (m *Model) talks(c *conn, r transcript.Record) {
	c.other = true
	c.odd = c.odd || !slices.Contains(spoken, r.Event.Type)
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
		if m.ours() { // the server may end a turn for another message
			s.doubled, s.holds, s.waiting = s.running, s.holds && !s.running, s.waiting && !s.running
			s.chat, s.told, s.responded, s.elsewhere = r.N, false, false, false
		}
		s.chats, s.running = true, true
		s.during = nil
	case m.ours() && strings.HasSuffix(r.Event.Type, "_response"):
		s.chats, s.waiting, s.holds, s.responded = true, false, false, true
	default:
		s.past.aborted = s.past.aborted || r.Event.Type == vocab.AbortType
		s.chats, s.waiting, s.running, s.holds, s.begun, s.during = true, false, false, false, false, nil
	}
}

// tells reports whether a message identifies its connection: on a socket, by its id, or because there is only one. Of
// its own clients the harness knows it.
func (m *Model) tells(c *conn, r transcript.Record) bool {
	return m.ours() || r.Kind == transcript.Frame || len(m.conns) == 1 ||
		c.id != "" && bytes.Contains(r.Bytes, []byte(c.id))
}

// answered takes the answer to an HTTP request.
func (m *Model) answered(r transcript.Record) {
	v, _, err := wjson.Decode(r.Bytes)
	success, has := m.Answers.Success.Get(v)
	accepted := r.Status/100 == 2 && err == nil && (!has || success == any(true))
	if a := m.posts[r.Reply]; a != nil {
		delete(m.posts, r.Reply)
		m.posted(a, r, r.Status/100 == 2 && (err != nil || !has || success == any(true)))
	}
	q, ok := m.requests[r.Reply]
	if !ok {
		return
	}
	delete(m.requests, r.Reply)
	if q.moves != nil && q.moves.owner != nil {
		q.moves.owner.moving--
	}
	switch {
	case !accepted && q.sure && q.c.asked == 1 && r.Status/100 == 4: // it was refused: the connection stays as it is
		q.c.asked = 0
		m.refuses(q.c, r)
		return
	case !accepted:
		m.refuses(q.c, r)
		if q.c.unsure = true; q.moves != nil && q.moves.owner != nil {
			q.moves.owner.unsure = true
		}
		return
	}
	id, _ := m.Answers.SessionID.Get(v)
	name, _ := id.(string)
	m.gives(q.c, r, name)
	if q.id == "" && q.sure {
		m.isNew(q.c, r, name)
	}
	m.binds(q.c, name, q.id, q.moves)
}

// binds notes that a session was created, or that the session with the id was loaded, and by that moved from another
// connection if moves is that session.
func (m *Model) binds(c *conn, created, loaded string, moves *session) {
	if c.asked--; c.asked != 0 {
		c.unsure = true
		return
	}
	former := c.bound
	if former != nil {
		former.owner = nil
		c.former = former
	}
	m.seated[c.name] = true
	id := created
	if loaded != "" {
		id = loaded
	}
	s := m.sessions[id]
	if s == nil || id == "" {
		c.unsure = c.unsure || loaded != "" // its earlier acts are unknown
		s = &session{id: id, created: loaded == "", virgin: loaded == "" && (c.plain || m.ours()), before: former,
			said: map[string]bool{}}
	}
	s.waiting = s.waiting && !m.ours()
	s.by, s.holds, s.left = c.name, false, cmp.Or(s.agent, s.left)
	s.past = past{initial: c.initial, reloaded: loaded != ""}
	if loaded == "" {
		s.first = cmp.Or(c.initial, m.Default)
	}
	if id != "" {
		m.sessions[id] = s
		m.bound()
	}
	if loaded != "" { // which agent it has is left open
		s.agent, s.refused, s.virgin, s.loaded = "", "", false, true
	}
	switch o := s.owner; {
	case o == nil || o == c:
	case s == moves:
		o.bound, o.lost = nil, s
	default:
		c.unsure, o.unsure = true, true
	}
	s.owner, c.bound, c.lost, c.given = c, s, nil, m.now
}
