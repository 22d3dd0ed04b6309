package agentselect

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/agentselect"
	"parley/reference-server/connection"
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
	s.mux = s.routes()
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

// begin registers a turn, unless the server has been closed. The caller holds the lock.
func (s *Server) begin() bool {
	if s.closed {
		return false
	}
	s.turns.Add(1)
	return true
}

// connect admits a connection and queues its greeting: connected, immediately followed by agent_list (AS-030, AS-033,
// AS-105). The connection accepts messages once they are written (AS-106). connect returns nil after refusing the
// request.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, transport string) *conn {
	info := ConnInfo{ID: newID("conn"), Transport: transport, Query: r.URL.Query()}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newConn(r.Context(), info, s.o.Limits)
	if err := s.m.conns.Add(info.ID, c); err != nil {
		c.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return nil
	}
	s.emit(info.ID, Event{Type: proto.ConnectedEvent, Data: EventData{"connectionId": info.ID}}, nil)
	s.emit(info.ID, Event{Type: proto.AgentListEvent, Data: EventData{
		"agents":         infos(s.agents(ForConnect)),
		"currentAgentId": s.o.Policy.InitialAgent(info),
	}}, nil)
	c.Then(func() { close(c.ready) })
	return c
}

func (s *Server) disconnect(c *conn) {
	c.End(connection.ErrEnded)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Policy.OnDisconnect(s.m, c.info)
	s.m.leave(c.info.ID)
}

// agents returns the agents for a purpose. The caller holds the lock.
func (s *Server) agents(why Purpose) []Agent { return s.o.Policy.Agents(why, s.m.file.current()) }

// emit passes an event to a connection through Outbound. The caller holds the lock, so that events are sent in the
// order of the changes that they report.
func (s *Server) emit(connID string, ev Event, r *receipt) {
	if c := s.m.conns.Get(connID); c != nil {
		s.o.Outbound(s.m, c.info, ev, func(to string, ev Event) { s.send(to, ev, r) })
	}
}

// emitTo passes an event to a session's connection (AS-094, AS-095). The caller holds the lock.
func (s *Server) emitTo(session string, ev Event, r *receipt) { s.emit(s.m.Owner(session), ev, r) }

// send queues an event. It needs no lock.
func (s *Server) send(connID string, ev Event, r *receipt) {
	c := s.m.conns.Get(connID)
	if c == nil {
		return
	}
	data, err := ev.encode(time.Now())
	if err != nil {
		s.o.Logger.Error("event not encoded", "type", ev.Type, "err", err)
		return
	}
	c.Push(data)
	r.add(c)
}
