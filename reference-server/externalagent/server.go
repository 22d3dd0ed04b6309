package externalagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections and hosts.
type Server struct {
	o     Options
	mux   *http.ServeMux
	relay *relay.Server
	hosts *hosts

	ended  sync.Once
	failed error // error of closing the hosts
}

// New returns a server. It fails if the catalogue is invalid or the log folder can't be used.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	catalogue, err := host.LoadCatalogue(o.Catalogue)
	if err != nil {
		return nil, err
	}
	store := o.Store
	if store == nil {
		if store, err = host.OpenStore(o.Logs); err != nil {
			return nil, err
		}
	}
	s := &Server{o: o, mux: http.NewServeMux()}
	s.hosts = newHosts(o, store, host.Options{Catalogue: catalogue, Store: store, LogName: o.LogName, Logger: o.Logger})
	r := o.Relay
	r.OnAgent, r.OnEmpty, r.Origins = s.hosts.call, s.hosts.rest, o.AllowOrigins
	if s.relay, err = relay.New(r); err != nil {
		return nil, errors.Join(fmt.Errorf("make the relay: %w", err), store.Close())
	}
	s.hosts.attach = s.relay.Attach
	s.mux.Handle("GET "+proto.Path, s.relay)
	s.mux.HandleFunc("GET /session", s.serveSession)
	s.mux.HandleFunc("GET /wire", s.serveWire)
	s.mux.HandleFunc("POST /say", s.serveSay)
	s.mux.HandleFunc("GET /health", web.Health)
	s.mux.Handle("GET /", http.HandlerFunc(servePage))
	return s, nil
}

// ServeHTTP implements http.Handler. It refuses requests from pages of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Admit(w, r, s.o.AllowOrigins) {
		s.mux.ServeHTTP(w, r)
	}
}

// Say delivers the participant's input in a relay session. It fails as host.Say does, and with host.ErrNoSession if
// the relay session has no host.
func (s *Server) Say(session, text string) error {
	h := s.hosts.find(session)
	if h == nil {
		return host.ErrNoSession
	}
	return h.Say(text)
}

// Close closes all connections (1001) and completes all logs. If ctx ends first, it drops the connections and returns
// an error that wraps ctx's. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	err := s.relay.Close(ctx)
	s.ended.Do(func() { s.failed = s.hosts.close() })
	return errors.Join(err, s.failed)
}
