package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"parley/internal/faultrule"
	"parley/internal/llm"
	"parley/internal/llm/stub"
	"parley/internal/procgroup"
	"parley/reference-server/catalogue"
	"parley/reference-server/web"
	"parley/target"
)

// InThisProcess implements the methods of target.Running that a target within this process does not support.
type InThisProcess struct{}

// Stderr implements target.Running: a target in this process has no stderr of its own.
func (InThisProcess) Stderr() string { return "" }

// Restart implements target.Running: a scenario that restarts its target gets a separate process.
func (InThisProcess) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "hooks.restart"}
}

// ConfigBytes implements target.Running.
func (InThisProcess) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "agents.file"}
}

// Hook implements target.Running.
func (InThisProcess) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

// Server is a bundled server within this process.
type Server struct {
	InThisProcess
	handler Handler
	dir     string
	url     string
	http    *http.Server
	served  chan error
	again   func() (Handler, error) // makes the handler of a new life; nil: it cannot restart
	once    sync.Once
	stopped error
}

// Handler returns the result of Role.Make.
func (s *Server) Handler() Handler { return s.handler }

// Dir returns the server's folder; "" if it has none.
func (s *Server) Dir() string { return s.dir }

// BaseURL implements target.Running.
func (s *Server) BaseURL() string { return s.url }

// Stop implements target.Running.
func (s *Server) Stop(ctx context.Context) error {
	s.once.Do(func() {
		err := errors.Join(s.handler.Close(ctx), s.http.Close())
		<-s.served
		s.stopped = errors.Join(err, s.removeFolder())
	})
	return s.stopped
}

// Restart implements target.Running for a role that Renews: the connections are dropped and the state is lost, as with
// a process, and a new server listens at the same address.
func (s *Server) Restart(ctx context.Context, kill bool) error {
	if s.again == nil {
		return s.InThisProcess.Restart(ctx, kill)
	}
	err := errors.Join(s.http.Close(), s.handler.Close(ctx))
	if <-s.served; err != nil {
		return fmt.Errorf("stop the bundled server: %w", err)
	}
	if s.handler, err = s.again(); err != nil {
		return fmt.Errorf("make the bundled server again: %w", err)
	}
	ln, err := net.Listen("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	s.serveHandler(ln)
	return nil
}

// door is what stands before a bundled server that the harness uses. How many connections there may be is up to the
// server.
var door = web.RequestGuard{Header: Unhurried, Body: Unhurried, Answer: Unhurried, Idle: Unhurried,
	Requests: math.MaxInt}

// serveHandler serves the handler in the background.
func (s *Server) serveHandler(ln net.Listener) {
	served := s.served
	s.http = door.NewServer(s.handler)
	go func(serve *http.Server) { served <- serve.Serve(ln) }(s.http)
}

// removeFolder removes the folder.
func (s *Server) removeFolder() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// startServer makes the server and serves it on loopback.
func (l *launcher) startServer() (*Server, error) {
	o, s := l.options, &Server{served: make(chan error, 1)}
	var err error
	if l.role.Files {
		if s.dir, err = procgroup.Folder("bundled"); err != nil {
			return nil, fmt.Errorf("make its folder: %w", err)
		}
		o.Dir = s.dir
	}
	if s.handler, err = l.role.Make(o); err != nil {
		return nil, errors.Join(err, s.removeFolder())
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.handler.Close(context.Background()), s.removeFolder())
	}
	s.url = "http://" + ln.Addr().String()
	if l.role.Renews {
		s.again = func() (Handler, error) { return l.role.Make(o) }
	}
	s.serveHandler(ln)
	return s, nil
}

// Model is the name of the party that is the language model behind a server.
const Model = "model"

// Party is a party that a bundled target plays for a user's program.
type Party struct {
	As      string                    // its name, such as "server"
	Client  bool                      // it connects to the program
	Mutants func() []catalogue.Mutant // its faults; nil: it has none
	Path    string                    // of its connections; "" if there are several or none

	role *Role // nil: the model
}

// Parties returns the parties that the bundled targets of a protocol play, the default one first.
func (t *Target) Parties() []Party {
	var out []Party
	models := false
	for _, r := range append(slices.Clone(t.Roles), t.Peers...) {
		models = models || r.Models
		if r.As != NotPlayed {
			one := Party{As: cmp.Or(r.As, r.Name), Client: r.Make == nil && !r.Listens, Mutants: r.Mutants, role: &r}
			if len(r.Serve.Paths) == 1 {
				one.Path = r.Serve.Paths[0]
			}
			out = append(out, one)
		}
	}
	if models {
		out = append(out, Party{As: Model})
	}
	return out
}

// Start starts the party with a fault, "" for none, within this process. A party that is a client connects to at, the
// URL of the program's WebSocket; its query parameter session names the session to join. It returns the base URL
// of a server; stop stops it.
func (p *Party) Start(ctx context.Context, fault, at string) (base string, stop func(), err error) {
	if p.role == nil {
		s, err := stub.Start(llm.NewUnrecorded()) // here and below: nobody asks what it was asked
		if err != nil {
			return "", nil, err
		}
		return s.URL(), func() { _ = s.Close(context.Background()) }, nil
	}
	o := Options{Fault: fault}
	if p.role.Models {
		o.Brain = llm.NewUnrecorded()
	}
	running, err := p.role.InProcess(o).Launch(ctx, target.LaunchOptions{Own: true})
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		stopping, cancel := context.WithTimeout(context.Background(), Unhurried)
		defer cancel()
		_ = running.Stop(stopping)
	}
	if !p.Client {
		return running.BaseURL(), stop, nil
	}
	caller, ok := running.(target.Caller)
	if !ok {
		return "", nil, errors.Join(fmt.Errorf("the bundled %s cannot be called", p.As), running.Stop(ctx))
	}
	session := ""
	if u, err := url.Parse(at); err == nil {
		session = u.Query().Get("session")
	}
	if _, err := caller.Call(ctx, target.CallOptions{URL: at, Session: session}); err != nil {
		return "", nil, errors.Join(err, running.Stop(ctx))
	}
	return "", stop, nil
}

// TypeOf returns the type of a message of the protocol; "" if it has none, or is not a JSON object.
func (t *Target) TypeOf(body []byte) string {
	types := t.Types
	if len(types) == 0 {
		types = []string{"/type"}
	}
	return faultrule.TypeAt(types...)(body)
}
