package target

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

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
func (c *agentCall) Ask(ctx context.Context, o AskOptions) error { return c.of.ask(ctx, &c.setup, o) }

// Ask implements Driven.
func (s *selfDriven) Ask(ctx context.Context, o AskOptions) error { return s.of.ask(ctx, &s.setup, o) }

func (a *agents) ask(ctx context.Context, s *setup, o AskOptions) error {
	command := a.profile.Hooks.Call
	if command == "" {
		return &NotDeclaredError{"hooks." + HookCall}
	}
	a.life.RLock()
	defer a.life.RUnlock()
	ctx, cancel := a.bound(ctx)
	defer cancel()
	hook := s.hook(HookCall, command, []string{"PARLEY_ACT=" + o.Act, "PARLEY_SCENARIO=" + o.Scenario})
	hook.stdin = o.Person
	_, err := hook.run(ctx)
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

// next returns where the next line comes, and begins to read it.
func (l *Lines) next() <-chan typed {
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

// taken records that a line was received from next.
func (l *Lines) taken(line typed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun, l.ended = false, line.last
	if line.last {
		close(l.got) // for whoever waits, and all that will
	}
}

// pass passes lines on until done is closed, or the input or its reader has ended.
func (l *Lines) pass(to io.WriteCloser, done <-chan struct{}) {
	defer to.Close()
	for {
		select {
		case line, ok := <-l.next():
			if !ok {
				return
			}
			l.taken(line)
			if _, err := to.Write(line.text); err != nil || line.last {
				return
			}
		case <-done:
			return
		}
	}
}

// feed returns the stdin of a process, and what to call once the process has ended.
func (l *Lines) feed() (stdin *os.File, end func(), err error) {
	stdin, to, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(errors.New("no pipe for the stdin of a hook"), err)
	}
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { l.pass(to, done) })
	return stdin, func() { close(done); _ = stdin.Close(); work.Wait() }, nil
}
