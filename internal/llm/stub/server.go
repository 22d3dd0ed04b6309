package stub

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"parley/internal/llm"
)

// headerTimeout bounds the time for a client to send a request's header.
const headerTimeout = 10 * time.Second

// Server serves a brain on loopback until it is closed.
type Server struct {
	url    string
	http   http.Server
	cancel context.CancelFunc // ends the contexts of the requests
	served chan struct{}      // closed when connections are no longer accepted
	load   load
}

// Start serves a brain on a free port of 127.0.0.1. The caller closes the server.
func Start(b *llm.Brain) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start model stub: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		url:    "http://" + l.Addr().String(),
		cancel: cancel,
		served: make(chan struct{}),
		load:   load{idle: make(chan struct{})},
	}
	s.http.Handler = s.load.count(Handler(b))
	s.http.ReadHeaderTimeout = headerTimeout
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // ends by Close
	}()
	return s, nil
}

// URL returns the address of the server, http://127.0.0.1:PORT. Anthropic clients use it unchanged, OpenAI clients
// append "/v1".
func (s *Server) URL() string { return s.url }

// Close stops the server and all its requests, including held ones, and waits for their handlers until the context
// ends. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.cancel()
	idle := s.load.close()
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("close model stub: %w", err)
	}
	for _, done := range []<-chan struct{}{s.served, idle} {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("close model stub: %w", ctx.Err())
		}
	}
	return nil
}

// load counts the requests in progress. http.Server.Shutdown would wait for them too, but also up to five seconds for
// connections on which a client has not sent anything yet.
type load struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when closed is set and n is 0
}

func (l *load) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.enter() {
			panic(http.ErrAbortHandler)
		}
		defer l.leave()
		next.ServeHTTP(w, r)
	})
}

func (l *load) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

func (l *load) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.closed && l.n == 0 {
		close(l.idle)
	}
}

// close rejects further requests, and returns a channel that closes when the last one has finished.
func (l *load) close() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && l.n == 0 {
		close(l.idle)
	}
	l.closed = true
	return l.idle
}
