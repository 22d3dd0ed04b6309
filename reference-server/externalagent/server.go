// Package externalagent is the bundled target of the external-agent protocol: an http.Handler that serves relay and
// host behind one URL. It combines the packages relay and host; a third package, agent, is the bundled external
// agent.
//
// The entry points are New and the routes of the Server that it returns:
//
//	GET  /agent/ws  the relay: each party joins a relay session first
//	GET  /          a page that shows a booking, on which the participant speaks; ?session=default&lang=en|zh
//	GET  /session   ?session=default: 200 {"active": true} while its host has a study session
//	GET  /wire      ?session=default&after=0: {"messages": [{n, at, in, text, cut}], "last"}, the host's latest
//	POST /say       {"sessionId", "text"}: what the participant says in the relay session; 409 without a study session
//	GET  /health    200 {"status":"ok"}
//
// A relay session gets its own host when its first agent joins, before that agent gets its reply. The host stays
// while agents come and go, so that a reconnecting agent finds its study session (EA-076). The server forgets a host,
// and completes its log, once it has had no agents for Options.Idle, or when another host is needed and there are
// already Options.MaxHosts. A party that joins a relay session as its host replaces the built-in one.
//
// The page joins its relay session as another agent that only asks for snapshots. The host logs these like all
// incoming messages.
package externalagent

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

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
	r.OnAgent, r.OnEmpty, r.Origins = s.hosts.callHost, s.hosts.leaveWhenEmpty, o.AllowOrigins
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
	h := s.hosts.findHost(session)
	if h == nil {
		return host.ErrNoSession
	}
	return h.Say(text)
}

// Close closes all connections (1001) and completes all logs. If ctx ends first, it drops the connections and returns
// an error that wraps ctx's. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	err := s.relay.Close(ctx)
	s.ended.Do(func() { s.failed = s.hosts.closeAll() })
	return errors.Join(err, s.failed)
}

// Options configures a Server. The zero value runs the built-in cinema and logs into a temporary folder.
type Options struct {
	Logs      string     // folder of the study logs, see host.Options; "": a temporary one, which Close removes
	Store     host.Store // replaces the store in Logs; the server closes it
	LogName   string     // stands for that folder in logFile; default: host.DefaultLogName
	Catalogue string     // a file that replaces the built-in catalogue

	Idle     time.Duration // a host without agents is forgotten after this; default: 10 minutes
	MaxHosts int           // maximum number of hosts; default: 256

	AllowOrigins []string // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Logger       *slog.Logger

	// Relay holds the relay's policy, hooks and limits; the server sets the other fields.
	Relay relay.Options

	// Host returns the options of a host, given those of a correct one. It can make a faulty host. A policy and hooks
	// belong to one host, so it must make new ones at each call. Calls are serialized, and it must not call methods of
	// the Server.
	Host func(session string, o host.Options) host.Options
}

const (
	defaultIdle     = 10 * time.Minute
	defaultMaxHosts = 256
)

func (o Options) withDefaults() Options {
	o.Idle, o.MaxHosts = max(o.Idle, 0), max(o.MaxHosts, 0)
	o.Idle, o.MaxHosts = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.MaxHosts, defaultMaxHosts)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Host == nil {
		o.Host = func(_ string, o host.Options) host.Options { return o }
	}
	return o
}

//go:embed page
var page embed.FS

// kinds lists the files of the page with their content types.
var kinds = map[string]string{
	"index.html": "text/html; charset=utf-8",
	"booking.js": "text/javascript; charset=utf-8",
	"words.js":   "text/javascript; charset=utf-8",
	"dom.js":     "text/javascript; charset=utf-8",
	"traffic.js": "text/javascript; charset=utf-8",
	"style.css":  "text/css; charset=utf-8",
}

// servePage serves the page. It loads nothing from other origins, runs only its own scripts, and can't be framed.
func servePage(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if r.URL.Path == "/" {
		name = "index.html"
	}
	kind, known := kinds[name]
	data, err := page.ReadFile("page/" + name)
	if !known || err != nil || r.URL.Path != "/" && r.URL.Path != "/"+name {
		web.Refuse(w, http.StatusNotFound, "not found")
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

const maxSay = 64 << 10 // maximum bytes of a body

// serveSay takes the participant's input. It accepts only JSON, which a form on another site can't send.
func (s *Server) serveSay(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		web.Refuse(w, http.StatusUnsupportedMediaType, "send application/json")
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSay))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		web.Refuse(w, http.StatusRequestEntityTooLarge, "the body is too long")
		return
	}
	if err != nil { // or it took too long
		web.Refuse(w, http.StatusBadRequest, "the body can't be read")
		return
	}
	var said struct {
		SessionID *string `json:"sessionId"`
		Text      *string `json:"text"`
	}
	if err := json.Unmarshal(data, &said); err != nil || said.SessionID == nil || said.Text == nil {
		web.Refuse(w, http.StatusBadRequest, `send {"sessionId": "…", "text": "…"}`)
		return
	}
	switch err := s.Say(*said.SessionID, *said.Text); {
	case err == nil:
		web.Answer(w, http.StatusOK, map[string]any{"success": true})
	case errors.Is(err, host.ErrText):
		web.Refuse(w, http.StatusBadRequest, err.Error())
	default: // no session, or no room in it
		web.Refuse(w, http.StatusConflict, err.Error())
	}
}

// serveSession reports whether there is a study session: no protocol message tells an agent that another agent has
// ended it.
func (s *Server) serveSession(w http.ResponseWriter, r *http.Request) {
	h := s.hosts.findHost(r.URL.Query().Get("session"))
	web.Answer(w, http.StatusOK, map[string]any{"active": h != nil && h.Active()})
}
