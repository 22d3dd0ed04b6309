package sessionruntime

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/connection"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections.
type Server struct {
	o     Options
	mux   *http.ServeMux
	conns *connection.Registry[*connection.Outbox, connection.Outbox]
}

// NewServer returns a server. It rejects negative limits.
func NewServer(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	conns := connection.NewRegistry[*connection.Outbox, connection.Outbox](o.Limits.Connections)
	s := &Server{o: o, mux: http.NewServeMux(), conns: conns}
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

// serveWebSocket serves one connection from handshake to end.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	l := s.o.Limits
	out := connection.New(context.WithoutCancel(r.Context()), connection.Limits{})
	if err := s.conns.Add(out, out); err != nil {
		out.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.conns.Remove(out)
	in := make(chan arrival, l.Incoming)
	var served sync.WaitGroup
	served.Go(func() { serve(s.o, in, out) })
	out.Serve(w, r, connection.WebSocket{
		Message: l.Message, Write: l.Write, Close: l.Close,
		Receive: func(kind websocket.MessageType, data []byte) {
			if out.TextOnly(kind, data) {
				arrive(out.Context(), in, arrival{data: data})
			}
		},
	})
	served.Wait()
	s.o.Logger.Debug("connection ended", "why", context.Cause(out.Context()))
}

// Close closes all connections (1001) after their queued frames, and waits. If ctx ends first, it drops them and
// returns an error that wraps ctx's. Later connections get 503. Close may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.conns.Close()
	for _, out := range s.conns.All() {
		out.Finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: connection.ErrClosing.Error()})
	}
	err := connection.Await(ctx, s.conns.Wait)
	if err == nil {
		return nil
	}
	for _, out := range s.conns.All() {
		out.End(connection.ErrClosing)
	}
	s.conns.Wait()
	return fmt.Errorf("close the session-runtime server: %w", err)
}
