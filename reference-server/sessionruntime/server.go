package sessionruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/origin"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections.
type Server struct {
	o   Options
	mux *http.ServeMux

	mu     sync.Mutex
	conns  map[*conn]struct{}
	ending bool
	open   sync.WaitGroup
}

// NewServer returns a server. It fails on a limit that is negative.
func NewServer(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, mux: http.NewServeMux(), conns: map[*conn]struct{}{}}
	s.mux.HandleFunc("GET "+proto.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"status": "ok"})
	})
	return s, nil
}

// ServeHTTP implements http.Handler. Pages from elsewhere are refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := origin.Of(r, s.o.AllowOrigins); !ok {
		refuse(w, http.StatusForbidden, "origin not allowed")
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Close ends all connections (1001), behind what is queued for them, and waits. When ctx ends first it cuts them off, and
// returns an error that wraps that of ctx. Connections that are opened later get 503. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.ending = true
	for c := range s.conns {
		c.out.finish(farewell{websocket.StatusGoingAway, "the server closes"})
	}
	s.mu.Unlock()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.open.Wait()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.end()
	}
	s.mu.Unlock()
	<-closed
	return fmt.Errorf("close the session-runtime server: %w", ctx.Err())
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
	if len(s.conns) >= s.o.Limits.Connections {
		return errMany
	}
	s.conns[c] = struct{}{}
	s.open.Add(1)
	return nil
}

func (s *Server) disconnect(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.open.Done()
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
