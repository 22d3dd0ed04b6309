package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/connection"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends what it has running.
type Server struct {
	o    Options
	mux  *http.ServeMux
	open sync.WaitGroup // connections

	closing sync.Once
	closed  chan struct{} // when everything has ended

	conns sync.Map // of *conn, by number: an Outbound may send at any time, with and without the lock

	mu       sync.Mutex
	count    int                 // of conns
	last     int                 // number of the newest connection
	sessions map[string]*session // by key
	ending   bool                // Close has been called
}

// New returns a relay. It never fails.
func New(o Options) (*Server, error) {
	s := &Server{o: o.withDefaults(), mux: http.NewServeMux(), sessions: map[string]*session{},
		closed: make(chan struct{})}
	s.mux.HandleFunc("GET "+proto.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", web.Health)
	return s, nil
}

// ServeHTTP implements http.Handler. It refuses pages of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Admit(w, r, s.o.Origins) {
		s.mux.ServeHTTP(w, r)
	}
}

var errEnding = errors.New("the relay closes")

// Close ends all connections (1001), attached ones included, and waits for what the server has running, calls of
// OnAgent and OnEmpty too. When ctx ends first it cuts the connections off and returns an error that wraps that of ctx;
// the rest goes on. Connections that are opened later get 503. It may be called again, and waits again.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { go s.close() })
	select {
	case <-s.closed:
		return nil
	case <-ctx.Done():
		for _, c := range s.all() {
			c.End(errEnding)
		}
		return fmt.Errorf("close the relay: %w", ctx.Err())
	}
}

func (s *Server) close() {
	defer close(s.closed)
	s.mu.Lock()
	s.ending = true
	for _, c := range s.all() {
		c.finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: errEnding.Error()})
	}
	s.mu.Unlock()
	s.open.Wait()
}

// connect admits a connection and numbers it.
func (s *Server) connect(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return errEnding
	case s.count >= s.o.Limits.Connections:
		return connection.ErrMany
	}
	s.count++
	s.last++
	c.party.Conn = s.last
	s.conns.Store(s.last, c)
	s.open.Add(1)
	return nil
}

// conn is the connection of a number; nil once it has left.
func (s *Server) conn(number int) *conn {
	c, ok := s.conns.Load(number)
	if !ok {
		return nil
	}
	return c.(*conn)
}

// all are the connections, oldest first.
func (s *Server) all() (conns []*conn) {
	s.conns.Range(func(_, c any) bool {
		conns = append(conns, c.(*conn))
		return true
	})
	slices.SortFunc(conns, func(a, b *conn) int { return cmp.Compare(a.party.Conn, b.party.Conn) })
	return conns
}

// emit hands a frame to a connection, by way of Outbound. Locked, so that each connection gets frames in the order of
// the changes. from is nil for the relay's own messages.
func (s *Server) emit(from, to *conn, frame []byte) {
	if s.o.Outbound == nil {
		to.Push(frame)
		return
	}
	var sender Party
	if from != nil {
		sender = from.party
	}
	s.o.Outbound(Relay{s}, sender, to.party, frame, s.send)
}

func (s *Server) send(number int, frame []byte) {
	if c := s.conn(number); c != nil {
		c.Push(frame)
	}
}
