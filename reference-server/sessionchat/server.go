package sessionchat

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/connection"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections and turns.
type Server struct {
	o     Options
	mux   *http.ServeMux
	store Store

	ctx   context.Context // of all turns; canceled by Close
	stop  context.CancelCauseFunc
	turns sync.WaitGroup

	closing sync.Once
	closed  chan struct{} // closed when everything has ended
	failed  error         // error of closing the store; set before closed is closed

	mu     sync.Mutex
	m      *manager
	ending bool // Close was called
}

// New returns a server. It fails as OpenStore does.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	store := o.Store
	if store == nil {
		var err error
		if store, err = OpenStore(o); err != nil {
			return nil, err
		}
	}
	s := &Server{o: o, store: store, m: newManager(o), closed: make(chan struct{})}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.m.timer = time.AfterFunc(o.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.m.expire()
	})
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("GET "+proto.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", web.Health)
	return s, nil
}

// ServeHTTP implements http.Handler. It refuses requests from pages of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Admit(w, r, s.o.AllowOrigins) {
		s.mux.ServeHTTP(w, r)
	}
}

// Close interrupts all turns, sends their results, closes all connections (1001), and closes the store. If ctx ends
// first, it drops the connections and returns an error that wraps ctx's; cleanup continues in the background. Later
// connections get 503. Close may be called again, and waits again.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { go s.close() })
	select {
	case <-s.closed:
		return s.failed
	case <-ctx.Done():
		for _, c := range s.m.conns.All() {
			c.End(connection.ErrClosing)
		}
		return fmt.Errorf("close the session-chat server: %w", ctx.Err())
	}
}

func (s *Server) close() {
	defer close(s.closed)
	s.mu.Lock()
	s.ending = true
	s.m.timer.Stop()
	s.mu.Unlock()
	s.m.conns.Close()
	s.stop(errClosing)
	s.turns.Wait() // each sends its result first
	for _, c := range s.m.conns.All() {
		c.Finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: "server closes"})
	}
	s.m.conns.Wait()
	if err := s.store.Close(); err != nil {
		s.failed = fmt.Errorf("close the store: %w", err)
	}
}
