package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley/driver"
)

// pipeLauncher launches a target that PipesOnly: it starts nothing before it is asked for a process.
type pipeLauncher struct{ p *Profile }

// Launch checks that the command's program and folder are there.
func (l pipeLauncher) Launch(_ context.Context, o LaunchOptions) (Running, error) {
	base, err := filepath.Abs(l.p.Dir)
	if err != nil {
		return nil, fmt.Errorf("start target: %w", err)
	}
	r := &pipes{setup: setup{l.p, filling{profile: base, model: o.ModelURL}}, stderr: &output{}}
	if err := r.find(); err != nil {
		return nil, &StartError{Command: l.p.Command.Run, Reason: "cannot be started", Err: err}
	}
	if o.Stderr != nil {
		r.stderr.tee = &lockedWriter{w: o.Stderr}
	}
	r.open()
	return r, nil
}

// Private is true: its processes have nothing in common.
func (pipeLauncher) Private() bool { return true }

// pipes is the Running of a target that PipesOnly.
type pipes struct {
	setup
	lifetime
	piped  started
	stderr *output // of all of them
}

var (
	_ Running = (*pipes)(nil)
	_ Piper   = (*pipes)(nil)
)

func (r *pipes) Pipe(ctx context.Context) (Piped, error) {
	return pipe(ctx, &r.lifetime, r.setup, &r.piped, r.stderr)
}

func (r *pipes) BaseURL() string { return "" }

// Stderr is the last 64 KiB that all processes wrote to stderr.
func (r *pipes) Stderr() string { return r.stderr.String() }

func (r *pipes) Hook(_ context.Context, name string, _ CustomAgent) error {
	return &NotDeclaredError{"hooks." + name}
}

func (r *pipes) ConfigBytes() ([]byte, error) {
	return nil, &NotDeclaredError{"configuration of a target over stdio"}
}

func (r *pipes) Restart(context.Context, bool) error {
	return &NotDeclaredError{"way to restart a target over stdio, other than starting another process"}
}

// Stop stops all processes that were started, and those that are being started.
func (r *pipes) Stop(ctx context.Context) error {
	r.cancel()
	r.life.Lock()
	defer r.life.Unlock()
	return r.piped.stop(ctx)
}

// pipe starts a process that speaks, in the lifetime of its Running, among others of it. What it writes to stderr goes
// to stderr too.
func pipe(ctx context.Context, l *lifetime, s setup, among *started, stderr *output) (Piped, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	ctx, cancel := l.bound(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start a process: %w", context.Cause(ctx))
	}
	s.fill.driver, s.fill.dir = s.profile.told(Stdio), "" // the folder of the Running's own process is not ours
	c := &pipedProcess{among: among, setup: s, stderr: &output{tee: stderr}}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.fill.dir))
	}
	among.add(c)
	return c, nil
}

// pipedProcess is one process that speaks.
type pipedProcess struct {
	setup
	among  *started
	stderr *output
	proc   *process
}

func (c *pipedProcess) begin(ctx context.Context) (err error) {
	if err := c.settle(); err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	c.proc, err = c.run(nil, c.stderr)
	return err
}

func (c *pipedProcess) Stdin() io.WriteCloser   { return c.proc.stdin }
func (c *pipedProcess) Stdout() io.Reader       { return c.proc.speech }
func (c *pipedProcess) Exited() <-chan struct{} { return c.proc.exited }
func (c *pipedProcess) ExitErr() error          { return c.proc.how() }
func (c *pipedProcess) Stderr() string          { return c.stderr.String() }

// Stop ends the process with its whole group, as that of an Instance does, and removes the scratch folder.
func (c *pipedProcess) Stop(ctx context.Context) error {
	_ = c.proc.stdin.Close() // to many that is the request to end
	err := c.proc.stop(ctx, c.profile.Command.Stop.Duration)
	_ = c.proc.speech.Close()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(c.fill.dir); err != nil {
		return fmt.Errorf("stop a process: %w", err)
	}
	c.among.forget(c)
	return nil
}

// Starter lets the driver stdio start processes of a target; nil where its Running is no Piper. Those of the same
// Running are equal, so that connections share its processes.
func Starter(run Running) driver.Starter {
	if p, ok := run.(Piper); ok {
		return starter{p}
	}
	return nil
}

type starter struct{ of Piper }

func (s starter) Start(ctx context.Context) (driver.Process, error) { return s.of.Pipe(ctx) }
