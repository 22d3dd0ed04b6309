package target

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// agentLauncher launches a target that Dials: it starts nothing until an agent is called.
type agentLauncher struct{ p *Profile }

// Launch checks that the command's program and folder exist, unless only a call determines them.
func (l agentLauncher) Launch(ctx context.Context, o LaunchOptions) (Running, error) {
	base, err := filepath.Abs(l.p.Dir)
	if err != nil {
		return nil, fmt.Errorf("start target: %w", err)
	}
	a := &agents{
		setup:  setup{profile: l.p, fill: filling{profile: base, model: o.ModelURL}},
		stderr: &output{},
	}
	if l.p.Command != nil {
		if err := a.findProgram(); err != nil {
			return nil, &StartError{Command: l.p.Command.Run, Reason: "cannot be started", Err: err}
		}
	}
	if o.Stderr != nil {
		a.tee = &lockedWriter{w: o.Stderr}
	}
	a.isOpen()
	return a, nil
}

// Private reports whether there is a command whose agents need not all connect to one address.
func (l agentLauncher) Private() bool {
	return l.p.Command != nil && l.p.Reach().Listen == ""
}

// agents is the Running of a target that Dials. Its setup holds what is known before a call.
type agents struct {
	setup
	lifetime
	stderr *output   // of all calls
	tee    io.Writer // nil: discarded
	calls  started
}

var (
	_ Running = (*agents)(nil)
	_ Caller  = (*agents)(nil)
)

// Call starts the command in its own scratch folder. Without a command it does nothing: the agent connects by itself.
func (a *agents) Call(ctx context.Context, o CallOptions) (Called, error) {
	a.life.RLock()
	defer a.life.RUnlock()
	ctx, cancel := a.boundByStop(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("call agent: %w", context.Cause(ctx))
	}
	told := a.setup
	told.fill.url, told.fill.session = o.URL, cmp.Or(o.Session, a.profile.Reach().Session)
	_, told.fill.port = hostPort(o.URL)
	if a.profile.Command == nil {
		return &selfDriven{a, told}, nil
	}
	c := &agentCall{of: a, setup: told, stdout: &output{}, stderr: &output{}}
	tee := a.teeFor(o.Stderr)
	c.stdout.tee, c.stderr.tee = tee, append(tees{a.stderr}, tee...)
	if err := c.beginCall(ctx); err != nil {
		c.second.Release()
		return nil, errors.Join(err, os.RemoveAll(c.fill.dir))
	}
	a.calls.addProcess(c)
	return c, nil
}

// teeFor returns the writers that receive the output of one call.
func (a *agents) teeFor(own io.Writer) (all tees) {
	if a.tee != nil {
		all = append(all, a.tee)
	}
	if own != nil {
		all = append(all, &lockedWriter{w: own})
	}
	return all
}

func (a *agents) BaseURL() string { return "" }

// Stderr returns the last 64 KiB that all agents wrote to stderr.
func (a *agents) Stderr() string { return a.stderr.String() }

// StderrBetween implements Witness.
func (a *agents) StderrBetween(from, to time.Time) string { return a.stderr.textBetween(from, to) }

func (a *agents) Hook(_ context.Context, name string, _ CustomAgent) error {
	return &NotDeclaredError{"hooks." + name}
}

func (a *agents) ConfigBytes() ([]byte, error) {
	return nil, &NotDeclaredError{"configuration of an agent"}
}

func (a *agents) Restart(context.Context, bool) error {
	return &NotDeclaredError{"way to restart an agent, other than calling another one"}
}

// Stop stops all agents, including those still being started.
func (a *agents) Stop(ctx context.Context) error {
	a.cancel()
	a.life.Lock()
	defer a.life.Unlock()
	return a.calls.stopAll(ctx)
}

// agentCall is one started agent.
type agentCall struct {
	of *agents
	setup
	stdout, stderr *output
	proc           *process
}

func (c *agentCall) beginCall(ctx context.Context) (err error) {
	if err := c.createScratch(); err != nil {
		return fmt.Errorf("call agent: %w", err)
	}
	if err := c.pickSecondPort(); err != nil {
		return err
	}
	if err := c.prepareStart(ctx); err != nil {
		return err
	}
	c.proc, err = c.startProcess(c.stdout, c.stderr)
	return err
}

func (c *agentCall) Exited() <-chan struct{} { return c.proc.died }
func (c *agentCall) ExitErr() error          { return c.proc.describeExit() }
func (c *agentCall) Stderr() string          { return c.stderr.String() }

// Stop ends the process and its group, like Instance.Stop, and removes the scratch folder.
func (c *agentCall) Stop(ctx context.Context) error {
	if err := c.proc.stopGroup(ctx, c.profile.Command.Stop.Duration); err != nil {
		return err
	}
	c.second.Release()
	if err := os.RemoveAll(c.fill.dir); err != nil {
		return fmt.Errorf("stop agent: %w", err)
	}
	c.of.calls.forgetProcess(c)
	return nil
}

// selfDriven is an agent that runs already: it connects by itself, or when Ask says so.
type selfDriven struct {
	of *agents
	setup
}

func (*selfDriven) Exited() <-chan struct{}    { return nil }
func (*selfDriven) ExitErr() error             { return nil }
func (*selfDriven) Stderr() string             { return "" }
func (*selfDriven) Stop(context.Context) error { return nil }

// Driven is a Called that can be asked to do something.
type Driven interface {
	// Ask runs hooks.call, within Limits.Hook. It returns once the hook has: the agent may act before or after that.
	// *NotDeclaredError: there is no such hook; *HookError: it failed.
	Ask(ctx context.Context, o AskOptions) error
}

// AskOptions say what an agent is asked for, and on whose behalf.
type AskOptions struct {
	Act      string // the act, in the protocol's words: PARLEY_ACT
	Scenario string // the name of the scenario that needs it: PARLEY_SCENARIO
	Person   *Lines // the hook's stdin; nil: it is empty
}

var (
	_ Driven = (*agentCall)(nil)
	_ Driven = (*selfDriven)(nil)
)

// Ask implements Driven.
func (c *agentCall) Ask(ctx context.Context, o AskOptions) error {
	return c.of.askAgent(ctx, &c.setup, o)
}

// Ask implements Driven.
func (s *selfDriven) Ask(ctx context.Context, o AskOptions) error {
	return s.of.askAgent(ctx, &s.setup, o)
}

func (a *agents) askAgent(ctx context.Context, s *setup, o AskOptions) error {
	command := a.profile.Hooks.Call
	if command == "" {
		return &NotDeclaredError{"hooks." + HookCall}
	}
	a.life.RLock()
	defer a.life.RUnlock()
	ctx, cancel := a.boundByStop(ctx)
	defer cancel()
	hook := s.newHook(HookCall, command, []string{"PARLEY_ACT=" + o.Act, "PARLEY_SCENARIO=" + o.Scenario})
	hook.stdin = o.Person
	_, err := hook.runHook(ctx)
	return err
}

// Lines are the lines that a person types. A hook gets those that are typed while it runs, and one that was typed
// before; if several run at once, any of them gets it. Nothing is read before the first hook runs. It is safe for
// concurrent use.
type Lines struct {
	in *bufio.Reader

	mu    sync.Mutex
	begun bool       // a line is being read, or waits in got
	ended bool       // there are no more
	got   chan typed // with room for one
}

// typed is a line, perhaps the last one.
type typed struct {
	text []byte
	last bool
}

// NewLines returns the lines of a reader. A read that has begun ends with the reader's input.
func NewLines(from io.Reader) *Lines {
	return &Lines{in: bufio.NewReader(from), got: make(chan typed, 1)}
}

// nextLine returns where the next line comes, and begins to read it.
func (l *Lines) nextLine() <-chan typed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun && !l.ended {
		l.begun = true
		go func() {
			text, err := l.in.ReadBytes('\n')
			l.got <- typed{text, err != nil}
		}()
	}
	return l.got
}

// recordTaken records that a line was received from next.
func (l *Lines) recordTaken(line typed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun, l.ended = false, line.last
	if line.last {
		close(l.got) // for whoever waits, and all that will
	}
}

// passLines passes lines on until done is closed, or the input or its reader has ended.
func (l *Lines) passLines(to io.WriteCloser, done <-chan struct{}) {
	defer to.Close()
	for {
		select {
		case line, ok := <-l.nextLine():
			if !ok {
				return
			}
			l.recordTaken(line)
			if _, err := to.Write(line.text); err != nil || line.last {
				return
			}
		case <-done:
			return
		}
	}
}

// feedProcess returns the stdin of a process, and what to call once the process has ended.
func (l *Lines) feedProcess() (stdin *os.File, end func(), err error) {
	stdin, to, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(errors.New("no pipe for the stdin of a hook"), err)
	}
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { l.passLines(to, done) })
	return stdin, func() { close(done); _ = stdin.Close(); work.Wait() }, nil
}
