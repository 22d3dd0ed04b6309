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

// Lines are the lines that a person types, for one hook at a time. Nothing is read before a hook runs. It is safe for
// concurrent use.
type Lines struct {
	from  io.Reader
	once  sync.Once
	lines chan []byte // closed at the end of the input
}

// NewLines returns the lines of a reader. Reading ends with the reader's end.
func NewLines(from io.Reader) *Lines { return &Lines{from: from, lines: make(chan []byte)} }

// read reads the lines. The latest one waits until a hook takes it.
func (l *Lines) read() {
	defer close(l.lines)
	in := bufio.NewReader(l.from)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			l.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// pass passes lines on until done is closed, or the input or its reader has ended.
func (l *Lines) pass(to io.WriteCloser, done <-chan struct{}) {
	defer to.Close()
	l.once.Do(func() { go l.read() })
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				return
			}
			if _, err := to.Write(line); err != nil {
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
