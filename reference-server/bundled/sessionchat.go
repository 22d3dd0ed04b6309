package bundled

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"parley/model"
	"parley/model/stub"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
	"parley/target"
)

// How long the bundled session-chat target keeps a session that nobody uses in memory: short, so that resuming is a
// matter of course, and for mutants longer than a loaded machine may pause, as what a rest excuses would not kill them.
const (
	idle       = 200 * time.Millisecond
	mutantIdle = time.Second
)

// chatLimits let nothing but the turn itself take its time.
var chatLimits = sessionchat.Limits{Store: unhurried, Write: unhurried}

func idleOf(fault string) time.Duration {
	if fault != "" {
		return mutantIdle
	}
	return idle
}

// sessionChatProfile describes the bundled session-chat target.
func sessionChatProfile() *target.Profile {
	p := target.DefaultFor(proto.Protocol)
	p.Name = "bundled session-chat"
	Unhurry(&p.Limits)
	p.Capabilities = []string{target.OptionsModel}
	p.SessionChat.Idle.Duration = idle
	return p
}

// ChatLauncher starts bundled session-chat servers: within this process, or, for a scenario that has its target to itself
// and may restart it, as a process of its own whose sessions are in a file.
type ChatLauncher struct {
	Brain *model.Brain // answers conversations, and is asked what it was sent
	Fault string       // id of a mutant; "": the correct server
}

// Private implements target.Launcher: each launch is a server of its own.
func (l *ChatLauncher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *ChatLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	if o.Own {
		return l.process(ctx, o)
	}
	return l.inProcess()
}

// chatServer is one bundled session-chat server within this process.
type chatServer struct {
	inProcess
	handler Handler
	http    *http.Server
	url     string
	served  chan error
	once    sync.Once
	stopped error
}

// inProcess starts a server whose sessions outlive its memory of them and no more: they are in a database in memory.
func (l *ChatLauncher) inProcess() (target.Running, error) {
	handler, err := chatHandler(l.Fault, sessionchat.Options{Idle: idleOf(l.Fault), Backend: l.Brain, Limits: chatLimits})
	if err != nil {
		return nil, fmt.Errorf("make the bundled server: %w", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = handler.Close(context.Background())
		return nil, fmt.Errorf("listen for the bundled server: %w", err)
	}
	s := &chatServer{handler: handler, url: "http://" + ln.Addr().String(), served: make(chan error, 1)}
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: unhurried}
	go func() { s.served <- s.http.Serve(ln) }()
	return s, nil
}

// BaseURL implements target.Running.
func (s *chatServer) BaseURL() string { return s.url }

// Stop implements target.Running.
func (s *chatServer) Stop(ctx context.Context) error {
	s.once.Do(func() {
		err := errors.Join(s.handler.Close(ctx), s.http.Close())
		<-s.served
		s.stopped = err
	})
	return s.stopped
}

// process starts the server as a process: this program again, see Child. Its model is the brain behind a stub.
func (l *ChatLauncher) process(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	srv, err := stub.Start(l.Brain)
	if err != nil {
		return nil, fmt.Errorf("start the model stub: %w", err)
	}
	p := sessionChatProfile()
	p.URL = "http://127.0.0.1:{port}"
	p.Command = &target.Command{Run: []string{self}, Env: map[string]string{
		childServer: proto.Protocol, childDB: "{dir}/sessions.db", childFault: l.Fault,
	}}
	p.Command.Ready.Within.Duration, p.Command.Stop.Duration = time.Minute, 10*time.Second
	o.ModelURL = srv.URL()
	running, err := target.NewLauncher(p).Launch(ctx, o)
	if err != nil {
		_ = srv.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return &chatProcess{Running: running, stub: srv}, nil
}

// chatProcess is a bundled session-chat server in a process of its own.
type chatProcess struct {
	target.Running
	stub *stub.Server
}

// Exited implements target.Exiter.
func (p *chatProcess) Exited() <-chan struct{} { return p.Running.(target.Exiter).Exited() }

// ExitErr implements target.Exiter.
func (p *chatProcess) ExitErr() error { return p.Running.(target.Exiter).ExitErr() }

// Stop implements target.Running.
func (p *chatProcess) Stop(ctx context.Context) error {
	return errors.Join(p.Running.Stop(ctx), p.stub.Close(ctx))
}
