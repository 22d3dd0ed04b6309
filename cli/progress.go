package cli

import (
	"context"
	"fmt"

	"parley/internal/words"
	"parley/reports"
)

// follower shows the progress of runs on stderr: one live line on a terminal, plain lines elsewhere.
type follower struct{ bar *reports.Progress }

// follow prints how many scenarios will run and what each run judges, and starts the progress display. If quiet, it
// does neither, and the follower is silent.
func follow(s *streams, total int, abouts []string, color, quiet bool) *follower {
	if quiet {
		return &follower{}
	}
	if len(abouts) == 1 {
		fmt.Fprintf(s.Err, "%s of %s\n", words.Counted(total, "scenario"), abouts[0])
	} else {
		fmt.Fprintf(s.Err, "%s\n", words.Counted(total, "scenario"))
		for _, about := range abouts {
			fmt.Fprintf(s.Err, "  %s\n", about)
		}
	}
	o := reports.ProgressOptions{TTY: s.ErrTTY, Total: total, Color: color && s.Color, Width: s.ErrWidth}
	f := &follower{reports.NewProgress(s.Err, o)}
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

// Shrinking implements runner.Shrinker.
func (f *follower) Shrinking(lines int) {
	f.note(fmt.Sprintf("a random sequence of %s breaks a clause; looking for a shorter one",
		words.Counted(lines, "line")))
}

// tellInterrupt prints a message as soon as an interrupt arrives. The returned function stops watching for it.
func (f *follower) tellInterrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if context.Cause(ctx) == errChanged {
			return
		}
		f.note("interrupted: ending the run; interrupt again to exit at once")
	})
}

// note prints a line.
func (f *follower) note(text string) {
	if f.bar != nil {
		f.bar.Note(text)
	}
}

// stop removes the live line.
func (f *follower) stop() {
	if f.bar != nil {
		f.bar.Stop()
	}
}
