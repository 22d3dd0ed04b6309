package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/origin"
)

// Server is the handler. It is safe for concurrent use; Close ends what it has running.
type Server struct {
	o     Options
	mux   *http.ServeMux
	conns *registry
	open  sync.WaitGroup // connections

	closing sync.Once
	closed  chan struct{} // when everything has ended

	mu       sync.Mutex
	sessions map[string]*session // by key
	ending   bool                // Close has been called
}

// New returns a relay. Nothing in today's Options makes it fail.
func New(o Options) (*Server, error) {
	s := &Server{o: o.withDefaults(), mux: http.NewServeMux(), conns: newRegistry(),
		sessions: map[string]*session{}, closed: make(chan struct{})}
	s.mux.HandleFunc("GET "+proto.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, `{"status":"ok"}`)
	})
	return s, nil
}

// ServeHTTP implements http.Handler. Pages from elsewhere are refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, ok := origin.Of(r, s.o.Origins)
	if !ok {
		answer(w, http.StatusForbidden, `{"error":"origin not allowed"}`)
		return
	}
	if from != "" {
		w.Header().Set("Access-Control-Allow-Origin", from)
		w.Header().Add("Vary", "Origin")
	}
	s.mux.ServeHTTP(w, r)
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

var (
	errEnding = errors.New("the relay closes")
	errMany   = errors.New("no more connections")
)

// Close ends all connections (1001), attached ones included, and waits for what the server has running, calls of OnAgent
// and OnEmpty too. When ctx ends first it cuts the connections off and returns an error that wraps that of ctx; the rest goes
// on. Connections that are opened later get 503. It may be called again, and waits again.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { go s.close() })
	select {
	case <-s.closed:
		return nil
	case <-ctx.Done():
		for _, c := range s.conns.all() {
			c.end(errEnding)
		}
		return fmt.Errorf("close the relay: %w", ctx.Err())
	}
}

func (s *Server) close() {
	defer close(s.closed)
	s.mu.Lock()
	s.ending = true
	for _, c := range s.conns.all() {
		c.finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: errEnding.Error()})
	}
	s.mu.Unlock()
	s.open.Wait()
}

// connect admits a connection.
func (s *Server) connect(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return errEnding
	}
	if !s.conns.add(c, s.o.Limits.Connections) {
		return errMany
	}
	c.party = Party{Conn: c.number, Attached: c.attached}
	s.open.Add(1)
	return nil
}

// emit hands a frame to a connection, by way of Outbound. Locked, so that frames stand on a connection in the order of what
// they tell of. from is nil if the relay speaks.
func (s *Server) emit(from, to *conn, frame []byte) {
	if s.o.Outbound == nil {
		to.push(frame)
		return
	}
	var sender Party
	if from != nil {
		sender = from.party
	}
	s.o.Outbound(state{s}, sender, to.party, frame, s.send)
}

func (s *Server) send(number int, frame []byte) {
	if c := s.conns.get(number); c != nil {
		c.push(frame)
	}
}

// state is the server's state as policies and hooks see it; used with the server's lock held.
type state struct{ s *Server }

var _ Relay = state{}

func (v state) Parties() []Party {
	return parties(v.s.conns.all())
}

func (v state) Host(key string) (Party, bool) {
	if ses := v.s.sessions[key]; ses != nil && ses.host != nil {
		return ses.host.party, true
	}
	return Party{}, false
}

func (v state) Agents(key string) []Party {
	if ses := v.s.sessions[key]; ses != nil {
		return parties(ses.agents)
	}
	return nil
}

func (v state) Outstanding(key string) []Request {
	if ses := v.s.sessions[key]; ses != nil {
		return ses.requests
	}
	return nil
}

func (v state) Send(number int, frame []byte) { v.s.send(number, frame) }

func (v state) End(number int, bye websocket.CloseError) {
	if c := v.s.conns.get(number); c != nil {
		c.finish(bye)
	}
}

func parties(conns []*conn) []Party {
	all := make([]Party, len(conns))
	for i, c := range conns {
		all[i] = c.party
	}
	return all
}
