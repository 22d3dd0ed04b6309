package bundled

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"parley/model"
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/target"
)

// Handler is a bundled server, correct or with a fault.
type Handler interface {
	http.Handler
	Close(ctx context.Context) error
}

// CodeReviewer is the custom agent that the bundled target is configured with, the one of the source's examples.
var CodeReviewer = target.CustomAgent{
	ID: "code_reviewer", Name: "Code Reviewer", Description: "代码审查专家",
	Prompt: "You are Code Reviewer. Name what is wrong, where, and what is better.",
	Tools:  []string{"read_file", "list_changes", "run_command", "ask_user"},
}

// agentSelectProfile describes the bundled agent-select target.
func agentSelectProfile() *target.Profile {
	p := target.Default()
	p.Name = "bundled agent-select"
	p.Protocol = proto.Protocol
	p.Drivers = []string{target.SSE, target.WS}
	Unhurry(&p.Limits)
	p.Capabilities = []string{target.InitialAgentID, target.SessionList, target.SessionDelete, target.Health}
	p.Agents.Custom = []target.CustomAgent{CodeReviewer}
	p.Agents.Tools = map[string][]string{
		proto.General:   {"read_file", "write_file", "run_command", "ask_user"},
		CodeReviewer.ID: CodeReviewer.Tools,
	}
	p.Tools.Confirm = &target.Tool{Name: "run_command", Arguments: map[string]any{"command": "true"}, Response: true}
	p.Tools.Ask = &target.Tool{Name: "ask_user", Arguments: map[string]any{"question": "May I go on?"}, Response: "yes"}
	return p
}

// Launcher starts bundled agent-select servers.
type Launcher struct {
	Brain *model.Brain                                 // answers conversations, and is asked what it was sent
	Make  func(o agentselect.Options) (Handler, error) // nil: the correct server
}

// Private implements target.Launcher: each launch is a server of its own.
func (l *Launcher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *Launcher) Launch(context.Context, target.LaunchOptions) (target.Running, error) {
	dir, err := os.MkdirTemp("", "parley-bundled-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the bundled server: %w", err)
	}
	s := &server{dir: dir, file: filepath.Join(dir, "main-agents.toml"), agents: []target.CustomAgent{CodeReviewer}}
	if err := s.start(l); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// server is one bundled server that runs.
type server struct {
	dir, file string
	handler   Handler
	http      *http.Server
	url       string
	served    chan error
	once      sync.Once
	stopped   error

	mu     sync.Mutex
	agents []target.CustomAgent
}

func (s *server) start(l *Launcher) error {
	if err := s.write(); err != nil {
		return err
	}
	o := agentselect.Options{AgentsFile: s.file, Brain: l.Brain, Limits: agentselect.Limits{Write: unhurried}}
	var err error
	if l.Make != nil {
		s.handler, err = l.Make(o)
	} else {
		s.handler, err = agentselect.New(o)
	}
	if err != nil {
		return fmt.Errorf("make the bundled server: %w", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the bundled server: %w", err)
	}
	s.url, s.served = "http://"+ln.Addr().String(), make(chan error, 1)
	s.http = &http.Server{Handler: s.handler, ReadHeaderTimeout: unhurried}
	go func() { s.served <- s.http.Serve(ln) }()
	return nil
}

// BaseURL implements target.Running.
func (s *server) BaseURL() string { return s.url }

// Stderr implements target.Running: a server in this process has none of its own.
func (s *server) Stderr() string { return "" }

// Restart implements target.Running.
func (s *server) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "hooks.restart"}
}

// ConfigBytes implements target.Running.
func (s *server) ConfigBytes() ([]byte, error) { return os.ReadFile(s.file) }

// Hook implements target.Running: it edits the configuration file as a user would.
func (s *server) Hook(_ context.Context, name string, a target.CustomAgent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]target.CustomAgent, 0, len(s.agents)+1)
	for _, old := range s.agents {
		if old.ID == a.ID && name == target.HookChangeAgent {
			old = a
		}
		if old.ID != a.ID || name == target.HookChangeAgent {
			kept = append(kept, old)
		}
	}
	switch name {
	case target.HookAddAgent:
		kept = append(kept, a)
	case target.HookChangeAgent, target.HookRemoveAgent:
	default:
		return &target.NotDeclaredError{Key: "hooks." + name}
	}
	s.agents = kept
	return s.writeLocked()
}

func (s *server) write() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeLocked()
}

// writeLocked replaces the file in one step, as editors do.
func (s *server) writeLocked() error {
	type row struct {
		ID          string   `toml:"id"`
		Name        string   `toml:"name"`
		Description string   `toml:"description"`
		Prompt      string   `toml:"prompt"`
		Tools       []string `toml:"tools"`
	}
	var file struct {
		Agents []row `toml:"agents"`
	}
	for _, a := range s.agents {
		file.Agents = append(file.Agents, row(a))
	}
	b, err := toml.Marshal(file)
	if err != nil {
		return fmt.Errorf("write agents: %w", err)
	}
	if err := os.WriteFile(s.file+".new", b, 0o600); err != nil {
		return fmt.Errorf("write agents: %w", err)
	}
	return os.Rename(s.file+".new", s.file)
}

// Stop implements target.Running.
func (s *server) Stop(ctx context.Context) error {
	s.once.Do(func() {
		err := errors.Join(s.handler.Close(ctx), s.http.Close())
		<-s.served
		s.stopped = errors.Join(err, os.RemoveAll(s.dir))
	})
	return s.stopped
}
