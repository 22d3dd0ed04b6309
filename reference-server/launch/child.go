package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"parley/internal/llm/stub"
	"parley/target"
)

// The environment variables that make this program a bundled target. PARLEY_PORT, PARLEY_DRIVER and PARLEY_MODEL_URL
// come from package target.
const (
	childProtocol = "PARLEY_BUNDLED"
	childRole     = "PARLEY_BUNDLED_ROLE"
	childFault    = "PARLEY_BUNDLED_FAULT" // id of a mutant
	childDir      = "PARLEY_BUNDLED_DIR"   // its folder
	childRoom     = "PARLEY_BUNDLED_CONNECTIONS"
)

// selfCommand returns the command that starts this program again.
func (l *launcher) selfCommand() (*target.Command, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	c := &target.Command{Run: []string{self}, Env: map[string]string{
		childProtocol: l.protocol, childRole: l.role.Name, childFault: l.options.Fault, childDir: "{dir}",
		childRoom: strconv.Itoa(l.options.Connections),
	}}
	c.Ready.Within.Duration, c.Stop.Duration = time.Minute, 10*time.Second
	return c, nil
}

// startProcess starts the server as a separate process. Its model is the brain behind a stub.
func (l *launcher) startProcess(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	command, err := l.selfCommand()
	if err != nil {
		return nil, err
	}
	p := l.role.correctProfile(l.kinds)
	p.URL, p.Command = "http://127.0.0.1:{port}", command
	if !l.role.Models {
		return target.NewLauncher(p).Launch(ctx, o)
	}
	srv, err := stub.Start(l.options.Brain)
	if err != nil {
		return nil, fmt.Errorf("start the model stub: %w", err)
	}
	o.ModelURL = srv.URL()
	running, err := target.NewLauncher(p).Launch(ctx, o)
	if err != nil {
		return nil, errors.Join(err, srv.Close(context.WithoutCancel(ctx)))
	}
	return &modelled{Instance: running.(*target.Instance), stub: srv}, nil
}

// separate launches separate processes.
type separate struct{ *launcher }

// Launch implements target.Launcher.
func (s separate) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	command, err := s.selfCommand()
	if err != nil {
		return nil, err
	}
	p := s.role.correctProfile(s.kinds)
	p.URL, p.Command = "http://127.0.0.1:{port}", command
	return target.NewLauncher(p).Launch(ctx, o)
}

// modelled is a process with its own model stub.
type modelled struct {
	*target.Instance
	stub *stub.Server
}

// Stop implements target.Running.
func (m *modelled) Stop(ctx context.Context) error {
	return errors.Join(m.Instance.Stop(ctx), m.stub.Close(ctx))
}

// addStdio adds stdio processes to a server; none is started before it is requested.
func (l *launcher) addStdio(ctx context.Context, o target.LaunchOptions, s target.Running) (target.Running, error) {
	command, err := l.selfCommand()
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	p := l.role.correctProfile(l.kinds)
	p.Drivers, p.Command = []string{target.Stdio}, command
	piped, err := target.NewLauncher(p).Launch(ctx, o)
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	return &speaking{Running: s, Piper: piped.(target.Piper), piped: piped}, nil
}

// speaking is a server that can also run as stdio processes.
type speaking struct {
	target.Running
	target.Piper
	piped target.Running
}

// Stop implements target.Running.
func (s *speaking) Stop(ctx context.Context) error {
	return errors.Join(s.Running.Stop(ctx), s.piped.Stop(ctx))
}

// Child runs this process as the bundled target that a launcher started it for, and exits; in any other process it
// returns at once.
func (ts Targets) Child() {
	protocol := os.Getenv(childProtocol)
	if protocol == "" {
		return
	}
	r := ts.Find(protocol).Role(os.Getenv(childRole))
	if r == nil || r.Make == nil {
		fmt.Fprintf(os.Stderr, "%s: no bundled server of %q\n", childProtocol, protocol)
		os.Exit(2)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100) // that of a server: a program may start with another
	}
	if err := r.serveChild(); err != nil {
		fmt.Fprintf(os.Stderr, "bundled %s: %v\n", protocol, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveChild serves on the port that the launcher picked, or speaks on stdio.
func (r *Role) serveChild() error {
	o := Options{Fault: os.Getenv(childFault), Dir: os.Getenv(childDir), ModelURL: os.Getenv("PARLEY_MODEL_URL")}
	o.Connections, _ = strconv.Atoi(os.Getenv(childRoom))
	port := os.Getenv("PARLEY_PORT")
	if r.Speak != nil && (port == "" || os.Getenv("PARLEY_DRIVER") == target.Stdio) {
		return r.Speak(context.Background(), o, os.Stdin, os.Stdout)
	}
	handler, err := r.Make(o)
	if err != nil {
		return err
	}
	return serveUntilStopped(handler, port)
}

// serveUntilStopped serves until the process is told to stop, and then shuts down.
func serveUntilStopped(handler Handler, port string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	server := door.NewServer(handler)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err = handler.Close(grace)
	_ = server.Close()
	<-served
	return err
}
