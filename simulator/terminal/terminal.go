// Package terminal is the front end of a live session for people who type, and for scripts: a line is a step, a raw
// message or a command, and every record and judgement is printed as it comes.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/simulator"
	"parley/steps"
	"parley/transport/transcript"
)

// Options configure how a session is shown.
type Options struct {
	Session *simulator.Session
	Out     io.Writer
	Color   bool
	Width   int    // columns of a record; 0: 160
	Times   bool   // records are printed with their times and numbers; without, the output of two runs can be compared
	Again   string // the command that runs saved scenarios, without --features; "": against the bundled target
	Steady  bool   // a script: it waits until nothing more arrives before it continues, and a mistake ends it

	// TellWaits is after how long it is told what a step waits for that is owed, and again after twice that, and so on; 0:
	// it is not told.
	TellWaits time.Duration
}

// Terminal prints a session and carries out lines. Safe for concurrent use.
type Terminal struct {
	o      Options
	paint  paint
	steady steadyNames

	mu       sync.Mutex          // held during printing
	told     int                 // the last record that was printed, or is in batch
	batch    []transcript.Record // of a script, not printed yet
	came     chan struct{}
	failed   bool // a binding clause was broken
	findings int  // that were printed
	untested bool // a step could not judge
}

// New makes the terminal of a session.
func New(o Options) *Terminal {
	if o.Width == 0 {
		o.Width = 160
	}
	return &Terminal{o: o, paint: paint(o.Color), came: make(chan struct{}, 1),
		steady: steadyNames{nonce: o.Session.Nonce(), names: map[string]string{}}}
}

// MistakeError is a line that cannot be carried out; the session continues.
type MistakeError struct {
	Line int // from 1; 0 if it was typed
	Err  error
}

func (e *MistakeError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *MistakeError) Unwrap() error { return e.Err }

// Follow prints records and findings until ctx ends.
func (t *Terminal) Follow(ctx context.Context) {
	t.o.Session.Follow(ctx, 0, func(e simulator.Event) {
		t.mu.Lock()
		switch {
		case e.Record != nil && t.o.Steady:
			t.told, t.batch = e.Record.N, append(t.batch, *e.Record)
		case e.Record != nil:
			t.told = e.Record.N
			fmt.Fprintln(t.o.Out, t.renderRecord(*e.Record))
		default:
			t.printHeldBack()
			t.printFailure(e.Failure)
		}
		t.mu.Unlock()
		select {
		case t.came <- struct{}{}:
		default:
		}
	})
}

// Quiet is the time without a record after which a script continues.
const Quiet = 100 * time.Millisecond

// awaitQuiet waits until everything so far is printed and nothing has arrived for a while.
func (t *Terminal) awaitQuiet(ctx context.Context) {
	for {
		timer := time.NewTimer(Quiet)
		select {
		case <-t.came:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			t.mu.Lock()
			all := t.told >= t.o.Session.Transcript().Len()
			if all {
				t.printHeldBack()
			}
			t.mu.Unlock()
			if all {
				return
			}
		}
	}
}

// printHeldBack prints the records held back in a script. It prints an HTTP answer right after its request, because the
// order of the answer and events on other connections differs from run to run. mu is locked.
func (t *Terminal) printHeldBack() {
	at := func(r transcript.Record) int {
		if r.Kind == transcript.Response && r.Reply > 0 {
			return 2*r.Reply + 1
		}
		return 2 * r.N
	}
	slices.SortStableFunc(t.batch, func(a, b transcript.Record) int { return at(a) - at(b) })
	for _, r := range t.batch {
		fmt.Fprintln(t.o.Out, t.renderRecord(r))
	}
	t.batch = nil
}

// ErrQuit is returned for a line that ends the session.
var ErrQuit = errors.New("quit")

// Do carries out one line, with the argument below it if it is a step. The error is ErrQuit, a *MistakeError, or that
// of an ended session.
func (t *Terminal) Do(ctx context.Context, l Line) error {
	if t.o.Steady {
		t.printText("%s", t.paint.bold("> "+l.Text))
	}
	err := t.carryOut(ctx, l)
	if t.o.Steady {
		t.awaitQuiet(ctx)
	}
	switch {
	case err == nil, errors.Is(err, ErrQuit), errors.Is(err, steps.ErrLiveOver), ctx.Err() != nil:
		return err
	}
	return &MistakeError{l.Number, err}
}

func (t *Terminal) carryOut(ctx context.Context, l Line) error {
	switch {
	case l.Text == "":
		return nil
	case strings.HasPrefix(l.Text, "?"):
		return t.searchSteps(strings.TrimSpace(l.Text[1:]))
	case strings.HasPrefix(l.Text, "."):
		return t.runCommand(ctx, l.Text[1:])
	}
	from := t.o.Session.Transcript().Len()
	if party, body, ok := rawMessage(l.Text); ok {
		mark, err := t.o.Session.Send(ctx, party, body)
		switch {
		case err != nil:
			return err
		case mark == 0:
			t.printText("the message was not sent: the connection has ended")
		case t.o.Steady:
			t.awaitQuiet(ctx)
		}
		t.tellOwed(ctx, from)
		return nil
	}
	t.mu.Lock()
	before := t.findings
	t.mu.Unlock()
	judged, err := t.runStep(ctx, l)
	if err != nil {
		return err
	}
	if t.o.Steady {
		t.awaitQuiet(ctx)
	}
	t.printStepResult(judged, before)
	t.tellOwed(ctx, from)
	return nil
}

// runStep runs a step, and tells meanwhile what it waits for.
func (t *Terminal) runStep(ctx context.Context, l Line) (steps.Judged, error) {
	running, done := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() { t.tellWaits(running) })
	defer telling.Wait()
	defer done()
	return t.o.Session.Do(ctx, l.Text, l.Arg)
}

// printStepResult prints the result of a step, before which so many findings had been printed.
func (t *Terminal) printStepResult(j steps.Judged, before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var kept []string
	for _, one := range j.Outcomes {
		if one.Outcome == verdict.Passed {
			kept = append(kept, one.Clause)
		}
	}
	if len(kept) > 0 {
		t.println(t.paint.green("  ✓ " + strings.Join(kept, " ")))
	}
	for _, same := range groupFailures(j.Failures) {
		t.printFailure(same...)
	}
	var broken *steps.BrokenError
	switch {
	case j.Err != nil && !errors.As(j.Err, &broken):
		t.untested = true
		t.println(t.paint.yellow("  – " + j.Err.Error()))
	case len(j.Outcomes) == 0 && t.findings == before:
		t.println(t.paint.dim("  ok"))
	}
}

// groupFailures groups the failures that belong to one finding.
func groupFailures(all []steps.Failure) (groups [][]steps.Failure) {
	type finding struct {
		expected, observed string
		at                 int
		outcome            verdict.Outcome
	}
	at := map[finding]int{}
	for _, f := range all {
		key := finding{f.Expected, f.Observed, f.At, f.Outcome}
		i, known := at[key]
		if !known {
			i, at[key] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// printFailure prints a finding, and the clauses that it breaks. mu is locked.
func (t *Terminal) printFailure(same ...steps.Failure) {
	f := same[0]
	t.findings++
	var ids []string
	for _, one := range same {
		ids = append(ids, one.Clause)
	}
	slices.Sort(ids)
	mark, colour := "✗", t.paint.red
	if f.Outcome != verdict.Failed {
		mark, colour = "~", t.paint.yellow
	} else {
		t.failed = true
	}
	head := fmt.Sprintf("  %s %s", mark, strings.Join(ids, " "))
	if f.Monitor != "" {
		head += " (monitor " + f.Monitor + ")"
	}
	t.println(colour(head))
	t.println("      expected  " + f.Expected)
	t.println("      observed  " + f.Observed)
	if f.Diff != "" {
		t.println("      " + strings.ReplaceAll(strings.TrimRight(f.Diff, "\n"), "\n", "\n      "))
	}
}

// println prints a line, without secrets. mu is locked.
func (t *Terminal) println(text string) {
	text = t.o.Session.Redact(text)
	if !t.o.Times {
		text = t.steady.steadyText(text)
	}
	fmt.Fprintln(t.o.Out, text)
}

func (t *Terminal) printText(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.println(fmt.Sprintf(format, args...))
}

// Exit returns the exit code for the session so far: 1 if a binding clause is broken, 5 if a step could not judge, else
// 0.
func (t *Terminal) Exit() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.failed:
		return verdict.ExitNonConformant
	case t.untested:
		return verdict.ExitIncomplete
	}
	return verdict.ExitConformant
}
