// Package agents is a small agent-select server, as an example of a module that tests itself with Parley.
package agents

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"
)

type object = map[string]any

var agents = []object{
	{"id": "general", "name": "General", "description": "General purpose"},
	{"id": "requirement_analyzer", "name": "Requirement Analyzer", "description": "Analyses requirements"},
	{"id": "debugger", "name": "Debugger", "description": "Finds faults"},
}

var legal = regexp.MustCompile(`\A[a-z0-9_-]+\z`)

// session is a conversation. conn is the connection that has it open; nil: none has.
type session struct {
	id, agent string
	conn      *conn
}

// conn is an open event stream.
type conn struct {
	id      string
	events  chan frame
	gone    <-chan struct{}
	session *session // of messages that name none
}

// frame is an event for a stream; written closes once it is on its way.
type frame struct {
	text    []byte
	written chan struct{}
}

// Server is the server. Make it by New.
type Server struct {
	http.ServeMux

	mu       sync.Mutex
	conns    map[string]*conn
	sessions map[string]*session
}

// New returns a server.
func New() *Server {
	s := &Server{conns: map[string]*conn{}, sessions: map[string]*session{}}
	s.HandleFunc("GET /events", s.stream)
	s.HandleFunc("POST /session/create", s.posted(s.create))
	s.HandleFunc("POST /session/load", s.posted(s.load))
	s.HandleFunc("POST /message", s.posted(s.message))
	return s
}

// stream serves the events of a connection.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	c := &conn{id: "conn_" + rand.Text(), events: make(chan frame), gone: r.Context().Done()}
	w.Header().Set("Content-Type", "text/event-stream")
	write := func(text []byte) {
		fmt.Fprintf(w, "data: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
	s.mu.Lock()
	s.conns[c.id] = c
	s.mu.Unlock()
	defer s.leave(c)
	write(event("connected", object{"connectionId": c.id}))
	write(event("agent_list", object{"agents": agents, "currentAgentId": "general"}))
	for {
		select {
		case f := <-c.events:
			write(f.text)
			close(f.written)
		case <-c.gone:
			return
		}
	}
}

// leave forgets a connection. Its sessions stay.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.id)
	for _, one := range s.sessions {
		if one.conn == c {
			one.conn = nil
		}
	}
}

// event encodes an event.
func event(kind string, data object) []byte {
	text, err := json.Marshal(object{"type": kind, "data": data,
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z")})
	if err != nil {
		panic(err)
	}
	return text
}

// send sends an event, and returns once it is written or the connection is gone.
func (c *conn) send(kind string, data object) {
	f := frame{event(kind, data), make(chan struct{})}
	select {
	case c.events <- f:
		<-f.written
	case <-c.gone:
	}
}

// posted decodes a message and finds its connection. One message at a time is handled.
func (s *Server) posted(handle func(c *conn, msg object) (object, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var msg object
		answer, status := object{"success": false, "error": "not a JSON object"}, http.StatusBadRequest
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&msg)
		s.mu.Lock()
		id, _ := msg["connectionId"].(string)
		if c := s.conns[id]; err == nil && c != nil {
			answer, status = handle(c, msg)
		}
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// bind opens a session at a connection, alone.
func (c *conn) bind(to *session) (object, int) {
	if was := to.conn; was != nil && was != c && was.session == to {
		was.session = nil
	}
	to.conn, c.session = c, to
	return object{"success": true, "session": object{"id": to.id}}, http.StatusOK
}

func (s *Server) create(c *conn, _ object) (object, int) {
	one := &session{id: "sess_" + rand.Text(), agent: "general"}
	s.sessions[one.id] = one
	return c.bind(one)
}

func (s *Server) load(c *conn, msg object) (object, int) {
	id, _ := msg["sessionId"].(string)
	if one := s.sessions[id]; one != nil {
		return c.bind(one)
	}
	return object{"success": false, "error": "no such session"}, http.StatusNotFound
}

// message handles a message of a client: a switch, or a chat, to which there is no model.
func (s *Server) message(c *conn, msg object) (object, int) {
	one := c.session
	if id, named := msg["sessionId"]; named {
		text, _ := id.(string)
		one = s.sessions[text]
	}
	switch msg["type"] {
	case "switch_agent":
		s.turn(c, one, msg["agentId"])
	case "chat", "abort":
		c.send("error", object{"message": "no model is configured"})
	default:
		return object{"success": false, "error": "unknown type"}, http.StatusBadRequest
	}
	return object{"success": true}, http.StatusOK
}

// turn switches the agent of a session, or refuses to.
func (s *Server) turn(c *conn, one *session, asked any) {
	id, isText := asked.(string)
	refuse := func(code, text string) {
		c.send("error", object{"errorCode": code, "message": text, "availableAgents": agents})
	}
	var to object
	for _, a := range agents {
		if a["id"] == id {
			to = a
		}
	}
	switch {
	case asked == nil, isText && id == "":
		refuse("invalid_agent_id", "agentId cannot be empty")
	case !legal.MatchString(id):
		refuse("invalid_agent_id_format", "agentId contains invalid characters. Allowed: [a-z0-9_-]")
	case one == nil:
		refuse("session_not_found", "Session not found")
	case to == nil:
		refuse("agent_not_found", "Invalid agent ID: "+id)
	default:
		was := one.agent
		one.agent = id
		tell := c
		if one.conn != nil {
			tell = one.conn
		}
		tell.send("agent_switched", object{"previousAgentId": was, "currentAgentId": id, "agentName": to["name"]})
	}
}
