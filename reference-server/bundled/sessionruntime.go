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

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime"
	"parley/target"
)

// sessionRuntimeProfile describes the bundled orchestrator.
func sessionRuntimeProfile() *target.Profile {
	p := target.DefaultFor(proto.Protocol)
	p.Name = "bundled session-runtime"
	Unhurry(&p.Limits)
	p.Drivers = []string{target.WS, target.Stdio}
	return p
}

// RuntimeLauncher starts bundled orchestrators: within this process over ws, and as processes of their own over stdio.
type RuntimeLauncher struct {
	Fault string // id of a mutant; "": the correct orchestrator
}

// Private implements target.Launcher: each launch is a server of its own.
func (l *RuntimeLauncher) Private() bool { return true }

// Launch implements target.Launcher.
func (l *RuntimeLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	handler, err := runtimeHandler(l.Fault)
	if err != nil {
		return nil, fmt.Errorf("make the bundled orchestrator: %w", err)
	}
	piped, err := l.processes(ctx, o)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the bundled orchestrator: %w", err), piped.Stop(ctx))
	}
	s := &runtimeServer{Piper: piped.(target.Piper), piped: piped, handler: handler, url: "http://" + ln.Addr().String(), served: make(chan error, 1)}
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: unhurried}
	go func() { s.served <- s.http.Serve(ln) }()
	return s, nil
}

// processes is this program again as a target over stdio, see Child: none is started before it is asked for.
func (l *RuntimeLauncher) processes(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p := sessionRuntimeProfile()
	p.Drivers = []string{target.Stdio}
	p.Command = &target.Command{Run: []string{self}, Env: map[string]string{childServer: proto.Protocol, childFault: l.Fault}}
	p.Command.Stop.Duration = 10 * time.Second
	return target.NewLauncher(p).Launch(ctx, o)
}

// runtimeServer is one bundled orchestrator.
type runtimeServer struct {
	inProcess
	target.Piper
	piped   target.Running
	handler Handler
	http    *http.Server
	url     string
	served  chan error
	once    sync.Once
	stopped error
}

// BaseURL implements target.Running.
func (s *runtimeServer) BaseURL() string { return s.url }

// Stop implements target.Running.
func (s *runtimeServer) Stop(ctx context.Context) error {
	s.once.Do(func() {
		s.stopped = errors.Join(s.handler.Close(ctx), s.http.Close(), s.piped.Stop(ctx))
		<-s.served
	})
	return s.stopped
}

// runtimeHandler makes the correct server, or one with a fault.
func runtimeHandler(fault string) (Handler, error) {
	o, err := faultyRuntime(fault, sessionruntime.Options{Limits: sessionruntime.Limits{Write: unhurried}})
	if err != nil {
		return nil, err
	}
	return sessionruntime.NewServer(o)
}

// serveRuntime is one bus: over stdio, or at the port that a launcher has picked.
func serveRuntime() error {
	fault := os.Getenv(childFault)
	if os.Getenv("PARLEY_PORT") != "" && os.Getenv("PARLEY_DRIVER") != target.Stdio {
		handler, err := runtimeHandler(fault)
		if err != nil {
			return err
		}
		return serve(handler)
	}
	o, err := faultyRuntime(fault, sessionruntime.Options{Limits: sessionruntime.Limits{Write: unhurried}})
	if err != nil {
		return err
	}
	return sessionruntime.ServeStdio(context.Background(), os.Stdin, os.Stdout, o)
}
