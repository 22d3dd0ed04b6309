package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"parley/internal/deadline"
	"parley/internal/procgroup"
	"parley/transport/driver"
)

const (
	groupPace = 5 * time.Millisecond   // between checks whether a group is gone
	killWait  = 10 * time.Second       // for killed processes to disappear, which disk I/O may delay
	drainWait = 250 * time.Millisecond // for output of processes that left the group and still hold the pipes
)

// process is one process with its group, from its start until the last of them has ended.
type process struct {
	stdout, stderr *output
	// the pipes of a process started without stdout: its stdin, and the reading end of its stdout; the owner closes them
	stdin, speech *os.File
	mark          string        // by which processes are found that have left the group
	group         int           // process id of the leader, and group id
	exited        chan struct{} // closed when the leader has exited
	died          chan struct{} // closed when it has exited without being asked to
	gone          chan struct{} // closed when the whole group has ended and its output has been read

	mu    sync.Mutex
	asked bool  // stop was called
	err   error // how the leader exited
	hurry context.Context
	kill  context.CancelFunc // ends hurry: no more grace
}

// startProcess runs cmd in its own process group. Its output goes to stdout and stderr. If stdout is nil, stdin and
// speech become our ends of its pipes.
func startProcess(cmd *exec.Cmd, stdout, stderr *output) (*process, error) {
	p := &process{
		stdout: stdout, stderr: stderr,
		exited: make(chan struct{}), died: make(chan struct{}), gone: make(chan struct{}),
	}
	p.hurry, p.kill = context.WithCancel(context.Background())
	// Pipes of our own: with those of os/exec, Wait would block on children that outlive their parent.
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errs, errsW, err := os.Pipe()
	if err != nil {
		closeAll(out, outW)
		return nil, err
	}
	ours, theirs := []*os.File{out, errs}, []*os.File{outW, errsW}
	if stdout == nil {
		in, inW, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...)...)
			return nil, err
		}
		ours, theirs = append(ours, inW), append(theirs, in)
		cmd.Stdin, p.stdin, p.speech = in, inW, out
	}
	cmd.Stdout, cmd.Stderr = outW, errsW
	procgroup.Own(cmd)
	procgroup.DieWithParent(cmd)
	p.mark = procgroup.Mark(cmd)
	started := make(chan error)
	go p.followProcess(cmd, out, errs, started)
	err = <-started
	closeAll(theirs...)
	if err != nil {
		closeAll(ours...)
		return nil, err
	}
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// followProcess starts cmd and follows it to the end of its group. It locks its thread, because the kernel kills the
// process when the thread that started it ends.
func (p *process) followProcess(cmd *exec.Cmd, out, errs *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.kill()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.group = cmd.Process.Pid
	captured := []*os.File{errs}
	var reading sync.WaitGroup
	reading.Go(func() { p.stderr.copyFrom(errs) })
	if p.stdout != nil {
		captured = append(captured, out)
		reading.Go(func() { p.stdout.copyFrom(out) })
	}
	started <- nil

	err := cmd.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.mu.Lock()
	p.err = err
	if !p.asked {
		p.kill() // its children are of no use without it
		close(p.died)
	}
	close(p.exited)
	p.mu.Unlock()

	awaitGroup(p.hurry, p.group)
	procgroup.Kill(p.group) // before the id can be reused: once the group is gone, it may belong to another
	last, cancel := deadline.WithLimit(context.Background(), killWait)
	awaitGroup(last, p.group)
	cancel()
	procgroup.KillMarked(p.mark)
	for _, f := range captured {
		_ = f.SetReadDeadline(time.Now().Add(drainWait))
	}
	reading.Wait()
	closeAll(captured...)
	close(p.gone)
}

// awaitGroup waits until no process of the group runs or ctx ends. It polls, as the exits of processes that are not
// our children are not signalled.
func awaitGroup(ctx context.Context, group int) {
	pace := time.NewTicker(groupPace)
	defer pace.Stop()
	for procgroup.Alive(group) {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// stopGroup asks the group to exit, kills the rest after the grace period or when ctx ends, and waits until it is gone.
// Without grace it kills at once. It may be called again, and concurrently.
func (p *process) stopGroup(ctx context.Context, grace time.Duration) error {
	p.mu.Lock()
	p.asked = true
	if grace > 0 && !isClosed(p.exited) {
		procgroup.Terminate(p.group)
	}
	p.mu.Unlock()
	ctx, cancel := deadline.WithLimit(ctx, grace)
	defer cancel()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.kill()
	if !isClosed(p.exited) {
		procgroup.Kill(p.group)
	}
	p.mu.Unlock()
	last, enough := deadline.WithLimit(context.Background(), 2*killWait)
	defer enough()
	select {
	case <-p.gone:
		return nil
	case <-last.Done():
		return fmt.Errorf("stop target: process group %d was killed but has not ended", p.group)
	}
}

// describeExit says how the leader exited; nil while it runs.
func (p *process) describeExit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Running is a target that can be tested: a started process, one that runs elsewhere, or one within this process. It
// is safe for concurrent use.
type Running interface {
	// BaseURL returns the http(s) base URL, without a trailing slash; "" if the target connects to the harness.
	BaseURL() string

	// Hook runs one of the profile's hooks for an agent. *NotDeclaredError: there is no such hook; *HookError: it
	// failed.
	Hook(ctx context.Context, name string, agent CustomAgent) error

	// ConfigBytes returns bytes that identify the target's configuration. *NotDeclaredError: the profile does not say
	// where they are.
	ConfigBytes() ([]byte, error)

	// Restart stops the target, without grace if kill is set, and starts it again at the same BaseURL. It returns once
	// the target is ready. *NotDeclaredError: there is no way to restart it.
	Restart(ctx context.Context, kill bool) error

	// Stderr returns the end of the target's stderr; "" if it is unavailable.
	Stderr() string

	// Stop ends the target and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Exiter is a Running that can end by itself. Exited closes when it has ended other than by Stop or Restart (nil:
// never), and ExitErr then says how.
type Exiter interface {
	Exited() <-chan struct{}
	ExitErr() error
}

// Witness is a Running that knows when its target wrote what.
type Witness interface {
	// StderrBetween returns what the target wrote to its stderr from one time to another, as far as it is kept.
	StderrBetween(from, to time.Time) string
}

// Process is a Running that may be a process of this machine.
type Process interface {
	PID() int // 0 if it was not started by us, or does not run
}

// Speaker is a Running whose participant can be made to speak.
type Speaker interface {
	// Say makes the participant of a relay session say a text, as if typed. It returns once the text has been handed
	// over. *NotDeclaredError: there is no way to do that; *HookError: it failed.
	Say(ctx context.Context, relaySession, text string) error
}

// Caller is the Running of a target that Dials: it makes agents connect to the harness.
type Caller interface {
	// Call makes an agent connect to the harness. Several may be called concurrently. It does not wait for the
	// connection, nor does it fail if the agent exits at once; ctx bounds the start only. *StartError: the agent cannot
	// be started; *HookError: model.hook failed. The agent runs until it exits, or until its own Stop or that of the
	// Running.
	Call(ctx context.Context, o CallOptions) (Called, error)
}

// CallOptions are passed to an agent.
type CallOptions struct {
	URL     string    // of the harness's WebSocket, which the agent must connect to
	Session string    // the relay session to join; "" means "default"
	Stderr  io.Writer // receives the agent's stdout and stderr while it runs; nil: discarded
}

// Called is a called agent. It is safe for concurrent use.
type Called interface {
	// Exited closes when the agent has ended other than by Stop; nil: never, or unknown. ExitErr then says how it ended
	// (including "exit status 0"), and is nil before.
	Exited() <-chan struct{}
	ExitErr() error

	// Stderr returns the end of the agent's stderr; "" if it is unavailable.
	Stderr() string

	// Stop ends the agent and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Piper is the Running of a target that is reached by its stdin and stdout.
type Piper interface {
	// Pipe starts a process in its own scratch folder, to be reached by its stdin and stdout. Several may run in
	// parallel. It does not wait for the process to be ready, nor does it fail if the process exits at once; ctx bounds
	// the start only. *StartError: it cannot be started; *HookError: model.hook failed; *NotDeclaredError: the profile
	// has no driver stdio. The process runs until it exits, or until its own Stop or that of the Running.
	Pipe(ctx context.Context) (Piped, error)
}

// Piped is a process that is reached by its stdin and stdout. After it has exited, its children are killed, while its
// stdout and the last 64 KiB of its stderr remain readable. Stop ends its whole group.
type Piped = driver.Process

// Launcher starts targets.
type Launcher interface {
	// Launch starts a target, or checks that it can be reached. *UnreachableError or *StartError: a problem of the
	// environment. Every Running must be stopped.
	Launch(ctx context.Context, o LaunchOptions) (Running, error)

	// Private reports whether several targets can run at once, so that a scenario may have its own.
	Private() bool
}

// LaunchOptions are the run's settings for a target.
type LaunchOptions struct {
	ModelURL string // base URL of the model stub; "" when there is none
	Own      bool   // the target belongs to one scenario, which may restart it
	// receives the target's stdout and stderr while it runs, apart from Piped.Stdout; nil: discarded
	Stderr io.Writer
}

// started holds the processes that a Running has started and not yet stopped. The zero value is empty.
type started struct {
	mu  sync.Mutex
	all map[stopper]bool
}

type stopper interface{ Stop(context.Context) error }

func (s *started) addProcess(p stopper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[stopper]bool{}
	}
	s.all[p] = true
}

func (s *started) forgetProcess(p stopper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, p)
}

// stopAll stops them concurrently.
func (s *started) stopAll(ctx context.Context) error {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	errs := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, p := range all {
		stopping.Go(func() { errs[i] = p.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

// Resetter is a Running whose data can be reset.
type Resetter interface {
	// Reset runs Hooks.Reset, within Limits.Hook. It must not run while a scenario uses the target. *NotDeclaredError:
	// there is no such hook; *HookError: it failed; *UnreachableError: a target that was not started by us does not
	// listen within Limits.Hook after it.
	Reset(ctx context.Context) error
}

var (
	_ Resetter = (*Instance)(nil)
	_ Resetter = (*agents)(nil)
	_ Resetter = (*pipes)(nil)
)

// Reset implements Resetter. The hook may restart a target that was not started by us.
func (in *Instance) Reset(ctx context.Context) error {
	if err := runResetHook(ctx, &in.lifetime, &in.setup); err != nil || in.profile.Command != nil {
		return err
	}
	in.life.RLock()
	defer in.life.RUnlock()
	ctx, cancel := in.boundByStop(ctx)
	defer cancel()
	up, cancel := deadline.WithLimit(ctx, in.profile.Limits.Hook.Duration)
	defer cancel()
	return awaitSuccess(up, func(ctx context.Context) error { return checkListens(ctx, in.fill.url, probeWait) })
}

// Reset implements Resetter. It resets what agents have outside of their processes.
func (a *agents) Reset(ctx context.Context) error { return runResetHook(ctx, &a.lifetime, &a.setup) }

// Reset implements Resetter. It resets what the processes have outside of themselves.
func (r *pipes) Reset(ctx context.Context) error { return runResetHook(ctx, &r.lifetime, &r.setup) }

func runResetHook(ctx context.Context, l *lifetime, s *setup) error {
	command := s.profile.Hooks.Reset
	if command == "" {
		return &NotDeclaredError{"hooks." + HookReset}
	}
	l.life.RLock()
	defer l.life.RUnlock()
	ctx, cancel := l.boundByStop(ctx)
	defer cancel()
	_, err := s.newShell(ctx, HookReset, command, nil)
	return err
}
