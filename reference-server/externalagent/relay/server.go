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

	"parley/reference-server/connection"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections.
type Server struct {
	o    Options
	mux  *http.ServeMux
	open sync.WaitGroup // connections

	closing sync.Once
	closed  chan struct{} // closed when everything has ended

	conns sync.Map // *conn by number: an Outbound may send at any time, with or without the lock

	mu       sync.Mutex
	count    int                 // size of conns
	last     int                 // number of the newest connection
	sessions map[string]*session // by key
	ending   bool                // Close was called
}

// New returns a relay. It never fails.
func New(o Options) (*Server, error) {
	s := &Server{o: o.withDefaults(), mux: http.NewServeMux(), sessions: map[string]*session{},
		closed: make(chan struct{})}
	s.mux.HandleFunc("GET "+s.o.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", web.Health)
	return s, nil
}

// ServeHTTP implements http.Handler. It refuses requests from pages of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Admit(w, r, s.o.Origins) {
		s.mux.ServeHTTP(w, r)
	}
}

var errEnding = errors.New("the relay closes")

// Close closes all connections (1001), including attached ones, and waits for them and for calls of OnAgent and
// OnEmpty. If ctx ends first, it drops the connections and returns an error that wraps ctx's; cleanup continues in
// the background. Later connections get 503. Close may be called again, and waits again.
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

// connect registers a connection and numbers it.
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

// conn returns the connection with a number; nil once it has left.
func (s *Server) conn(number int) *conn {
	c, ok := s.conns.Load(number)
	if !ok {
		return nil
	}
	return c.(*conn)
}

// all returns the connections, oldest first.
func (s *Server) all() (conns []*conn) {
	s.conns.Range(func(_, c any) bool {
		conns = append(conns, c.(*conn))
		return true
	})
	slices.SortFunc(conns, func(a, b *conn) int { return cmp.Compare(a.party.Conn, b.party.Conn) })
	return conns
}

// emit passes a frame to a connection through Outbound. The caller holds the lock, so that each connection gets
// frames in the order of the changes. from is nil for the relay's own messages.
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
