package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley/transport/driver"
	"time"
)

// pipeLauncher launches a target that PipesOnly: it starts nothing until a process is requested.
type pipeLauncher struct{ p *Profile }

// Launch checks that the command's program and folder exist.
func (l pipeLauncher) Launch(_ context.Context, o LaunchOptions) (Running, error) {
	base, err := filepath.Abs(l.p.Dir)
	if err != nil {
		return nil, fmt.Errorf("start target: %w", err)
	}
	r := &pipes{setup: setup{profile: l.p, fill: filling{profile: base, model: o.ModelURL}}, stderr: &output{}}
	if err := r.findProgram(); err != nil {
		return nil, &StartError{Command: l.p.Command.Run, Reason: "cannot be started", Err: err}
	}
	if o.Stderr != nil {
		r.stderr.tee = &lockedWriter{w: o.Stderr}
	}
	r.isOpen()
	return r, nil
}

// Private returns true: the processes share nothing.
func (pipeLauncher) Private() bool { return true }

// pipes is the Running of a target that PipesOnly.
type pipes struct {
	setup
	lifetime
	piped  started
	stderr *output // of all processes
}

var (
	_ Running = (*pipes)(nil)
	_ Piper   = (*pipes)(nil)
)

func (r *pipes) Pipe(ctx context.Context) (Piped, error) {
	return startPiped(ctx, &r.lifetime, r.setup, &r.piped, r.stderr)
}

func (r *pipes) BaseURL() string { return "" }

// Stderr returns the last 64 KiB that all processes wrote to stderr.
func (r *pipes) Stderr() string { return r.stderr.String() }

// StderrBetween implements Witness.
func (r *pipes) StderrBetween(from, to time.Time) string { return r.stderr.textBetween(from, to) }

func (r *pipes) Hook(_ context.Context, name string, _ CustomAgent) error {
	return &NotDeclaredError{"hooks." + name}
}

func (r *pipes) ConfigBytes() ([]byte, error) {
	return nil, &NotDeclaredError{"configuration of a target over stdio"}
}

func (r *pipes) Restart(context.Context, bool) error {
	return &NotDeclaredError{"way to restart a target over stdio, other than starting another process"}
}

// Stop stops all processes, including those still being started.
func (r *pipes) Stop(ctx context.Context) error {
	r.cancel()
	r.life.Lock()
	defer r.life.Unlock()
	return r.piped.stopAll(ctx)
}

// startPiped starts a process to be reached by its stdin and stdout, bound to the lifetime of its Running, and adds it
// to among. Its stderr is also copied to stderr.
func startPiped(ctx context.Context, l *lifetime, s setup, among *started, stderr *output) (Piped, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	ctx, cancel := l.boundByStop(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start a process: %w", context.Cause(ctx))
	}
	// the folder and the second port belong to the Running's own process
	s.fill.driver, s.fill.dir, s.second = s.profile.driverVariable(Stdio), "", nil
	c := &pipedProcess{among: among, setup: s, stderr: &output{tee: stderr}}
	if err := c.beginPiped(ctx); err != nil {
		c.second.Release()
		return nil, errors.Join(err, os.RemoveAll(c.fill.dir))
	}
	among.addProcess(c)
	return c, nil
}

// pipedProcess is one process that is reached by its stdin and stdout.
type pipedProcess struct {
	setup
	among  *started
	stderr *output
	proc   *process
}

func (c *pipedProcess) beginPiped(ctx context.Context) (err error) {
	if err := c.createScratch(); err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	if err := c.pickSecondPort(); err != nil {
		return err
	}
	if err := c.prepareStart(ctx); err != nil {
		return err
	}
	c.proc, err = c.startProcess(nil, c.stderr)
	return err
}

func (c *pipedProcess) Stdin() io.WriteCloser   { return c.proc.stdin }
func (c *pipedProcess) Stdout() io.Reader       { return c.proc.speech }
func (c *pipedProcess) Exited() <-chan struct{} { return c.proc.exited }
func (c *pipedProcess) ExitErr() error          { return c.proc.describeExit() }
func (c *pipedProcess) Stderr() string          { return c.stderr.String() }

// Stop ends the process and its group, like Instance.Stop, and removes the scratch folder.
func (c *pipedProcess) Stop(ctx context.Context) error {
	_ = c.proc.stdin.Close() // many programs take this as the request to exit
	err := c.proc.stopGroup(ctx, c.profile.Command.Stop.Duration)
	_ = c.proc.speech.Close()
	if err != nil {
		return err
	}
	c.second.Release()
	if err := os.RemoveAll(c.fill.dir); err != nil {
		return fmt.Errorf("stop a process: %w", err)
	}
	c.among.forgetProcess(c)
	return nil
}

// Starter lets the stdio driver start processes of a target; nil if its Running is no Piper. Starters of the same
// Running are equal, so that connections share its processes.
func Starter(run Running) driver.Starter {
	if p, ok := run.(Piper); ok {
		return starter{p}
	}
	return nil
}

type starter struct{ of Piper }

func (s starter) Start(ctx context.Context) (driver.Process, error) { return s.of.Pipe(ctx) }
