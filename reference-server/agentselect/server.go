package agentselect

import (
	"context"
	"net/http"
	"sync"
	"time"

	proto "parley/protocol/agentselect"
)

// Server is the handler. It is safe for concurrent use; Close ends what it has running.
type Server struct {
	o   Options
	mux *http.ServeMux

	ctx  context.Context // of all streams and turns
	stop context.CancelFunc
	work sync.WaitGroup // streams and turns

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

// Close ends all streams and turns, and waits for them until ctx ends. Streams that are opened later get 503.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.m.conns.endAll()
	ended := make(chan struct{})
	go func() {
		s.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin counts a stream or a turn in, unless the server has been closed. Locked.
func (s *Server) begin() bool {
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// connect admits a connection and queues its greeting: connected, and right behind it agent_list (AS-030, AS-033,
// AS-105). The mark behind them makes it accept messages (AS-106).
func (s *Server) connect(info ConnInfo) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newConn(info, s.o.Limits.Queue)
	if s.closed || !s.m.conns.add(c, s.o.Limits.Connections) {
		return nil
	}
	s.begin()
	s.emit(info.ID, Event{Type: proto.ConnectedEvent, Data: EventData{"connectionId": info.ID}}, nil)
	s.emit(info.ID, Event{Type: proto.AgentListEvent, Data: EventData{
		"agents":         infos(s.agents(ForConnect)),
		"currentAgentId": s.o.Policy.InitialAgent(info),
	}}, nil)
	c.push(nil)
	return c
}

func (s *Server) disconnect(c *conn) {
	c.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.leave(c.info.ID)
	s.work.Done()
}

// agents are those that exist for a purpose. Locked.
func (s *Server) agents(why Purpose) []Agent { return s.o.Policy.Agents(why, s.m.file.current()) }

// emit hands an event to a connection, by way of Outbound. Locked, so that events stand on a stream in the order of
// the changes that they tell of.
func (s *Server) emit(connID string, ev Event, r *receipt) {
	if c := s.m.conns.get(connID); c != nil {
		s.o.Outbound(s.m, c.info, ev, func(to string, ev Event) { s.send(to, ev, r) })
	}
}

// emitTo hands an event to the one connection of a session (AS-094, AS-095). Locked.
func (s *Server) emitTo(session string, ev Event, r *receipt) { s.emit(s.m.Owner(session), ev, r) }

// send queues an event. It needs no lock.
func (s *Server) send(connID string, ev Event, r *receipt) {
	c := s.m.conns.get(connID)
	if c == nil {
		return
	}
	data, err := ev.encode(time.Now())
	if err != nil {
		s.o.Logger.Error("event not encoded", "type", ev.Type, "err", err)
		return
	}
	r.add(c, c.push(data))
}
