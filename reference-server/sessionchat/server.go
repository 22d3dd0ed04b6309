package sessionchat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionchat"
)

// Server is the handler. It is safe for concurrent use; Close ends what it has running.
type Server struct {
	o     Options
	mux   *http.ServeMux
	store Store

	ctx   context.Context // of all turns; ends by Close
	stop  context.CancelCauseFunc
	turns sync.WaitGroup
	open  sync.WaitGroup // connections

	closing sync.Once
	closed  chan struct{} // when everything has ended
	failed  error         // of closing the store; set before closed is closed

	mu     sync.Mutex
	m      *manager
	ending bool // Close has been called
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
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"status": "ok"})
	})
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.admit(w, r) {
		s.mux.ServeHTTP(w, r)
	}
}

// answer writes an HTTP answer.
func answer(w http.ResponseWriter, status int, body map[string]any) {
	data, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"success":false}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	answer(w, status, map[string]any{"success": false, "error": reason})
}

// Close interrupts all turns and tells so, ends all connections (1001), and closes the store. When ctx ends first it cuts
// the connections off and returns an error that wraps that of ctx; the rest goes on. Connections that are opened later get
// 503. It may be called again, and waits again.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { go s.close() })
	select {
	case <-s.closed:
		return s.failed
	case <-ctx.Done():
		for _, c := range s.m.conns.all() {
			c.end()
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
	s.stop(errClosing)
	s.turns.Wait() // each tells its result first
	s.m.endAll()
	s.open.Wait()
	if err := s.store.Close(); err != nil {
		s.failed = fmt.Errorf("close the store: %w", err)
	}
}

var (
	errEnding = errors.New("the server closes")
	errMany   = errors.New("no more connections")
)

// connect admits a connection.
func (s *Server) connect(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	if !s.m.conns.add(c, s.o.Limits.Connections) {
		return errMany
	}
	s.open.Add(1)
	return nil
}

// greet handles what the policy has a connection begin with.
func (s *Server) greet(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, msg := range s.o.Policy.OnConnect(s.m, c.info) {
		s.dispatch(c, msg)
	}
}

// disconnect forgets a connection. Its sessions stay (SC-059), its turns end (SC-054).
func (s *Server) disconnect(c *conn) {
	c.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	endTurns := s.o.Policy.OnDisconnect(s.m, c.info)
	s.m.conns.remove(c)
	s.open.Done()
	if !endTurns {
		return
	}
	for t := range c.turns {
		if t.cancel == nil { // it waits for another
			s.forget(t)
			continue
		}
		t.cancel(errGone)
	}
}

// emit hands a message to a connection, by way of Outbound. Locked, so that messages stand on a connection in the order of
// the changes that they tell of.
func (s *Server) emit(c *conn, msg Message) {
	if s.m.conns.get(c.info.ID) == c {
		s.o.Outbound(s.m, c.info, msg, s.m.Send)
	}
}
