package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"parley/reports"
	"parley/reports/lang"
)

// streams are the input and output of a command, with what is known about the terminal.
type streams struct {
	In                 io.Reader
	Out, Err           io.Writer
	OutTTY, ErrTTY     bool
	OutWidth, ErrWidth int       // columns; 0 if unknown
	Color              bool      // not disabled by NO_COLOR
	name               string    // of the program in errors; "": that of all commands
	pipe               io.Writer // stdout of parley proxy before a command, whose Out is stderr
}

// processStreams returns the streams of the process.
func processStreams() *streams {
	s := &streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Color: os.Getenv("NO_COLOR") == ""}
	s.OutTTY, s.OutWidth = isTerminal(os.Stdout)
	s.ErrTTY, s.ErrWidth = isTerminal(os.Stderr)
	return s
}

// printURL prints a URL on stdout, alone on its line, for scripts, and says on stderr what it is. On a terminal that
// shows both it is one line.
func (s *streams) printURL(what, url string) {
	switch {
	case s.pipe != nil: // both are stderr, as stdout belongs to a command
	case s.OutTTY && s.ErrTTY:
		fmt.Fprintf(s.Err, "%s: ", what)
	default:
		fmt.Fprintf(s.Err, "%s: %s\n", what, url)
	}
	fmt.Fprintln(s.Out, url)
}

// printedIn returns the streams with everything printed in a language.
func (s *streams) printedIn(l lang.Lang) *streams {
	in := *s
	in.Out, in.Err = reports.LinesIn(s.Out, l), reports.LinesIn(s.Err, l)
	return &in
}

// sink passes on what a command prints, and keeps the first error: what a command has found is worth nothing if nobody
// gets to read it, as on a full disk.
type sink struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// outputError returns the error of a command, or that of its output if that was lost and the command would not fail for
// it.
func (s *sink) outputError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said exitError
	if s.err != nil && (err == nil || errors.As(err, &said)) {
		return s.err
	}
	return err
}

func isTerminal(f *os.File) (bool, int) {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return false, 0
	}
	width, _, err := term.GetSize(fd)
	if err != nil {
		return true, 0
	}
	return true, width
}

// follower shows the progress of runs on stderr: one live line on a terminal, plain lines elsewhere.
type follower struct {
	bar  *reports.Progress
	lang lang.Lang
}

// look is how progress is shown.
type look struct {
	color, quiet bool
	lang         lang.Lang
}

// followRuns prints how many scenarios will run and what each run judges, and starts the progress display. If quiet, it
// does neither, and the follower is silent.
func followRuns(s *streams, total int, abouts []string, as look) *follower {
	l := as.lang
	if as.quiet {
		return &follower{lang: l}
	}
	if len(abouts) == 1 {
		fmt.Fprintln(s.Err, l.Say("%s of %s", l.Count(total, "scenario"), abouts[0]))
	} else {
		fmt.Fprintln(s.Err, l.Count(total, "scenario"))
		for _, about := range abouts {
			fmt.Fprintf(s.Err, "  %s\n", about)
		}
	}
	o := reports.ProgressOptions{TTY: s.ErrTTY, Total: total, Color: as.color && s.Color, Width: s.ErrWidth, Lang: l}
	f := &follower{reports.NewProgress(s.Err, o), l}
	f.bar.Start()
	return f
}

// Planned implements runner.Observer. follow has printed the total already.
func (f *follower) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (f *follower) ScenarioDone(sc reports.Scenario) {
	if f.bar != nil {
		f.bar.ScenarioDone(sc)
	}
}

// ScenarioWithdrawn implements runner.Withdrawer.
func (f *follower) ScenarioWithdrawn(sc reports.Scenario) {
	if f.bar != nil {
		f.bar.ScenarioWithdrawn(sc)
	}
}

// ShowWaits implements runner.WaitObserver.
func (f *follower) ShowWaits(longest func() string) {
	if f.bar != nil {
		f.bar.ShowWaits(longest)
	}
}

// Shrinking implements runner.Shrinker.
func (f *follower) Shrinking(lines int) {
	f.printNote(f.lang.Say("a random sequence of %s breaks a clause; looking for a shorter one",
		f.lang.Count(lines, "line")))
}

// tellInterrupt prints a message as soon as an interrupt arrives. The returned function stops watching for it.
func (f *follower) tellInterrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != errChanged {
			f.printNote(f.lang.Say("interrupted: ending the run; interrupt again to exit at once"))
		}
	})
}

// printNote prints a line.
func (f *follower) printNote(text string) {
	if f.bar != nil {
		f.bar.Note(text)
	}
}

// removeLine removes the live line.
func (f *follower) removeLine() {
	if f.bar != nil {
		f.bar.Stop()
	}
}
