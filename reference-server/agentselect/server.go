// Package agentselect is the bundled target of the agent-select protocol: an http.Handler that implements
// agent-select.zh.md, as the project's rulings interpret it, over the default binding.
//
// The entry points are New and the routes of the Server that it returns:
//
//	GET    /events           the stream (SSE): connected, agent_list, then whatever happens on this connection
//	POST   /message          chat, switch_agent, abort, tool_confirmation_response, user_question_response
//	POST   /session/create   {connectionId, initialAgentId?}
//	POST   /session/load     {connectionId, sessionId}
//	GET    /session/list
//	DELETE /session/{id}
//	GET    /health
//	GET    /agents/ws        the same events and messages over one WebSocket; an extension of this project
//
// The server's parts follow the terms of section 4.3, because implementations confuse these:
//
//   - a connection is a bounded queue of events, and at most one default session
//   - a session has an owner (the connection that its events go to), an agent, and a history
//   - sessionControllers holds the running turns, pendingInteractions what the user has not answered yet; a session is
//     busy if either has an entry. While a turn waits for the user its controller is parked, so each can hold alone.
//
// Each decision that the source prescribes is a function of a Policy; Correct has the correct ones. Messages and
// events pass through Options.Inbound and Options.Outbound. Faulty servers (package mutants) replace these, so this
// code contains no faults.
//
// Tools are never executed: the result of a confirmed command is a sentence that it was not run.
package agentselect

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
	"parley/reference-server/connection"
	"parley/reference-server/defaults"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its streams and turns.
type Server struct {
	o   Options
	mux *http.ServeMux

	ctx   context.Context // of all turns
	stop  context.CancelFunc
	turns sync.WaitGroup

	mu     sync.Mutex
	m      *manager
	closed bool
}

// New returns a server. It fails if the agents file exists and can't be understood.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	file, err := newAgentsFile(o.AgentsFile, o.Limits.AgentsFile, o.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, m: newManager(o, file)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.mux = s.newRoutes()
	return s, nil
}

// Close ends all streams and turns, and waits for them. If ctx ends first, it drops the streams and returns ctx's
// error. Later streams get 503.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.m.conns.Close()
	s.stop()
	for _, c := range s.m.conns.All() {
		c.Finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: "server closes"})
	}
	err := connection.Await(ctx, func() { s.turns.Wait(); s.m.conns.Wait() })
	for _, c := range s.m.conns.All() {
		c.End(connection.ErrClosing)
	}
	return err
}

// registerTurn registers a turn, unless the server has been closed. The caller holds the lock.
func (s *Server) registerTurn() bool {
	if s.closed {
		return false
	}
	s.turns.Add(1)
	return true
}

// admitConnection admits a connection and queues its greeting: connected, immediately followed by agent_list (AS-030,
// AS-033, AS-105). The connection accepts messages once they are written (AS-106). connect returns nil after refusing
// the request.
func (s *Server) admitConnection(w http.ResponseWriter, r *http.Request, transport string) *conn {
	info := ConnInfo{ID: newID("conn"), Transport: transport, Query: r.URL.Query()}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newConn(r.Context(), info, s.o.Limits)
	if err := s.m.conns.Add(info.ID, c); err != nil {
		c.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return nil
	}
	s.emitEvent(info.ID, Event{Type: proto.ConnectedEvent, Data: EventData{proto.ConnectionID: info.ID}}, nil)
	s.emitEvent(info.ID, Event{Type: proto.AgentListEvent, Data: EventData{
		proto.Agents:         agentInfos(s.agentsFor(ForConnect)),
		proto.CurrentAgentID: s.o.Policy.InitialAgent(info),
	}}, nil)
	c.Then(func() { close(c.ready) })
	return c
}

func (s *Server) dropConnection(c *conn) {
	c.End(connection.ErrEnded)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Policy.OnDisconnect(s.m, c.info)
	s.m.removeConnection(c.info.ID)
}

// agentsFor returns the agents for a purpose. The caller holds the lock.
func (s *Server) agentsFor(why Purpose) []Agent {
	return s.o.Policy.Agents(why, s.m.file.currentAgents())
}

// emitEvent passes an event to a connection through Outbound. The caller holds the lock, so that events are sent in the
// order of the changes that they report.
func (s *Server) emitEvent(connID string, ev Event, r *receipt) {
	if c := s.m.conns.Get(connID); c != nil {
		s.o.Outbound(s.m, c.info, ev, func(to string, ev Event) { s.queueEvent(to, ev, r) })
	}
}

// emitTo passes an event to a session's connection (AS-094, AS-095). The caller holds the lock.
func (s *Server) emitTo(session string, ev Event, r *receipt) { s.emitEvent(s.m.Owner(session), ev, r) }

// queueEvent queues an event. It needs no lock.
func (s *Server) queueEvent(connID string, ev Event, r *receipt) {
	c := s.m.conns.Get(connID)
	if c == nil {
		return
	}
	data, err := ev.encodeEnvelope(time.Now())
	if err != nil {
		s.o.Logger.Error("event not encoded", "type", ev.Type, "err", err)
		return
	}
	c.Push(data)
	r.addQueued(c)
}

// Options configures a Server. The zero value serves the built-in agents with a new brain.
type Options struct {
	AgentsFile   string       // TOML file of custom agents; default: none
	Brain        *llm.Brain   // answers the conversations; default: a new one
	Policy       Policy       // nil functions default to those of Correct
	Inbound      Inbound      // sees client messages before the server; may be nil
	Outbound     Outbound     // sees events before their connection; may be nil
	Logger       *slog.Logger // default: discard
	AllowOrigins []string     // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Limits       Limits       // zero fields default to DefaultLimits
}

// Message is a decoded client message. Absent and null members differ.
type Message map[string]any

// Inbound sees a decoded client message, which it may change, and reports whether to handle it. Over HTTP an ignored
// message gets a success response.
//
// It is called with the server's lock held, so it must not call methods of the Server.
type Inbound func(m Manager, from ConnInfo, msg Message) bool

// Outbound sees an event on its way to a connection and sends its replacements. send may be called any number of
// times, for any connection, during the call or later, by any goroutine. The same locking rules as for Inbound apply.
type Outbound func(m Manager, to ConnInfo, ev Event, send func(connID string, ev Event))

// Limits bounds what a Server keeps and its waits.
type Limits struct {
	Body        int64         // bytes of an HTTP body or a WebSocket message
	AgentsFile  int64         // bytes of the agents file
	Connections int           // open connections; more get 503
	Sessions    int           // sessions; beyond it the oldest idle one without a connection is evicted, else 503
	History     int           // messages kept per session
	Queue       int           // events waiting for a slow reader; one more ends its connection
	QueueBytes  int           // total bytes of them, likewise; a single event may always wait
	ModelCalls  int           // model calls of one turn
	Turn        time.Duration // a whole turn, including waits for the user
	Write       time.Duration // one write to a connection
	Heartbeat   time.Duration // between two SSE comments on a quiet stream
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Body:        1 << 20,
	AgentsFile:  1 << 20,
	Connections: 4096,
	Sessions:    16384,
	History:     200,
	Queue:       512,
	QueueBytes:  32 << 20,
	ModelCalls:  64,
	Turn:        30 * time.Minute,
	Write:       time.Minute,
	Heartbeat:   15 * time.Second,
}

func (o Options) withDefaults() Options {
	defaults.Fill(&o.Limits, DefaultLimits)
	defaults.Fill(&o.Policy, Correct)
	if o.Brain == nil {
		o.Brain = llm.NewUnrecorded()
	}
	if o.Inbound == nil {
		o.Inbound = func(Manager, ConnInfo, Message) bool { return true }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ Manager, to ConnInfo, ev Event, send func(string, Event)) { send(to.ID, ev) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// admitOrigin refuses requests from pages of other origins, and answers preflight requests from allowed ones.
func (s *Server) admitOrigin(w http.ResponseWriter, r *http.Request) bool {
	if !web.Admit(w, r, s.o.AllowOrigins) {
		return false
	}
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" {
		return true
	}
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
	w.WriteHeader(http.StatusNoContent)
	return false
}
