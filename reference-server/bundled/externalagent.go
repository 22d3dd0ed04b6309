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
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/relay"
	"parley/target"
)

// patience is how long the bundled agent waits for a state before it asks for one.
const patience = 200 * time.Millisecond

// externalAgentProfile describes the bundled target of a role.
func externalAgentProfile(role string) *target.Profile {
	p := target.DefaultFor(proto.Protocol)
	p.Name, p.Role = "bundled "+role, role
	Unhurry(&p.Limits)
	p.ExternalAgent.Session = "s-{nonce}"
	switch role {
	case proto.Host:
		p.Capabilities = []string{target.RelaySessions, target.TwoAgents}
		p.ExternalAgent.Logs = "{dir}/logs"
	case proto.Relay:
		p.Capabilities = []string{target.TwoAgents}
	case proto.Agent:
		p.Capabilities = []string{target.Reconnect}
	}
	return p
}

// BookingLauncher starts the bundled target of a role of external-agent: within this process, or, for a scenario that has
// its target to itself and may restart it, as a process of its own.
type BookingLauncher struct {
	Role  string
	Fault string // id of a mutant; "": the correct one
}

// Private implements target.Launcher: each launch is a target of its own.
func (l *BookingLauncher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *BookingLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	switch {
	case l.Role == proto.Agent:
		return &bookingAgents{fault: l.Fault}, nil
	case o.Own:
		return l.process(ctx, o)
	}
	return l.inProcess()
}

// bookingHandler makes the server of a role, correct or with a fault.
func bookingHandler(role, fault, logs string) (Handler, error) {
	if role == proto.Relay {
		o, err := faultyRelay(fault, relay.Options{Limits: relay.Limits{Write: unhurried}})
		if err != nil {
			return nil, err
		}
		return relay.New(o)
	}
	o, err := faultyHost(fault, externalagent.Options{Logs: logs, Relay: relay.Options{Limits: relay.Limits{Write: unhurried}}})
	if err != nil {
		return nil, err
	}
	return externalagent.New(o)
}

// bookingServer is one relay, or relay and host, within this process.
type bookingServer struct {
	inProcess
	handler Handler
	dir     string
	http    *http.Server
	url     string
	served  chan error
	once    sync.Once
	stopped error
}

func (l *BookingLauncher) inProcess() (target.Running, error) {
	dir, err := os.MkdirTemp("", "parley-bundled-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the bundled server: %w", err)
	}
	s := &bookingServer{dir: dir, served: make(chan error, 1)}
	if err := s.start(l); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *bookingServer) start(l *BookingLauncher) error {
	var err error
	if s.handler, err = bookingHandler(l.Role, l.Fault, filepath.Join(s.dir, "logs")); err != nil {
		return fmt.Errorf("make the bundled %s: %w", l.Role, err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("listen for the bundled %s: %w", l.Role, err), s.handler.Close(context.Background()))
	}
	s.url = "http://" + ln.Addr().String()
	s.http = &http.Server{Handler: s.handler, ReadHeaderTimeout: unhurried}
	go func() { s.served <- s.http.Serve(ln) }()
	return nil
}

// BaseURL implements target.Running.
func (s *bookingServer) BaseURL() string { return s.url }

// Say implements target.Speaker.
func (s *bookingServer) Say(_ context.Context, session, text string) error {
	speaker, ok := s.handler.(interface {
		Say(session, text string) error
	})
	if !ok {
		return &target.NotDeclaredError{Key: "hooks.user-says"}
	}
	return speaker.Say(session, text)
}

// LogFolder implements target.LogKeeper.
func (s *bookingServer) LogFolder() (string, error) { return filepath.Join(s.dir, "logs"), nil }

// Stop implements target.Running.
func (s *bookingServer) Stop(ctx context.Context) error {
	s.once.Do(func() {
		err := errors.Join(s.handler.Close(ctx), s.http.Close())
		<-s.served
		s.stopped = errors.Join(err, os.RemoveAll(s.dir))
	})
	return s.stopped
}

// process starts the target as a process: this program again, see Child.
func (l *BookingLauncher) process(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p := externalAgentProfile(l.Role)
	p.URL = "http://127.0.0.1:{port}"
	p.Command = &target.Command{Run: []string{self}, Env: map[string]string{
		childServer: proto.Protocol, childRole: l.Role, childLogs: "{dir}/logs", childFault: l.Fault,
	}}
	p.Command.Ready.Within.Duration, p.Command.Stop.Duration = time.Minute, 10*time.Second
	return target.NewLauncher(p).Launch(ctx, o)
}

// bookingAgents are the bundled agents of one launch: each call is one of them.
type bookingAgents struct {
	inProcess
	fault string
	mu    sync.Mutex
	all   []*bookingAgent
}

// bookingAgent is one bundled agent that runs, or has run.
type bookingAgent struct {
	cancel context.CancelFunc
	done   chan struct{}
	exited chan struct{}
	err    error
}

// Call implements target.Caller.
func (a *bookingAgents) Call(_ context.Context, o target.CallOptions) (target.Called, error) {
	options, err := faultyAgent(a.fault, agent.Options{URL: o.URL, Session: o.Session, StudyID: "pilot-01", ParticipantID: "P07", Patience: patience,
		GiveUp: unhurried, Limits: agent.Limits{Dial: unhurried, Write: unhurried}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	one := &bookingAgent{cancel: cancel, done: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		defer close(one.done)
		_, err := agent.Run(ctx, options)
		if ctx.Err() == nil {
			if one.err = err; err == nil {
				one.err = errors.New("exit status 0")
			}
			close(one.exited)
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
	return one, nil
}

// Exited implements target.Called.
func (a *bookingAgent) Exited() <-chan struct{} { return a.exited }

// ExitErr implements target.Called.
func (a *bookingAgent) ExitErr() error {
	select {
	case <-a.exited:
		return a.err
	default:
		return nil
	}
}

// Stderr implements target.Called.
func (a *bookingAgent) Stderr() string { return "" }

// Stop implements target.Called.
func (a *bookingAgent) Stop(ctx context.Context) error {
	a.cancel()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// BaseURL implements target.Running: an agent listens nowhere.
func (a *bookingAgents) BaseURL() string { return "" }

// Stop implements target.Running.
func (a *bookingAgents) Stop(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	for _, one := range a.all {
		err = errors.Join(err, one.Stop(ctx))
	}
	return err
}
