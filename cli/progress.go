package cli

import (
	"context"
	"fmt"

	"parley/reports"
	"parley/reports/lang"
)

// follower shows the progress of runs on stderr: one live line on a terminal, plain lines elsewhere.
type follower struct {
	bar  *reports.Progress
	lang lang.Lang
}

// follow prints how many scenarios will run and what each run judges, and starts the progress display.
func follow(s *streams, total int, abouts []string, color bool, l lang.Lang) *follower {
	if len(abouts) == 1 {
		fmt.Fprintln(s.Err, l.Say("%s of %s", l.Count(total, "scenario"), abouts[0]))
	} else {
		fmt.Fprintln(s.Err, l.Count(total, "scenario"))
		for _, about := range abouts {
			fmt.Fprintf(s.Err, "  %s\n", about)
		}
	}
	o := reports.ProgressOptions{TTY: s.ErrTTY, Total: total, Color: color && s.Color, Width: s.ErrWidth, Lang: l}
	f := &follower{reports.NewProgress(s.Err, o), l}
	f.bar.Start()
	return f
}

// Planned implements runner.Observer. follow has printed the total already.
func (f *follower) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (f *follower) ScenarioDone(sc reports.Scenario) { f.bar.ScenarioDone(sc) }

// Shrinking implements runner.Shrinker.
func (f *follower) Shrinking(lines int) {
	f.bar.Note(f.lang.Say("a random sequence of %s breaks a clause; looking for a shorter one",
		f.lang.Count(lines, "line")))
}

// tellInterrupt prints a message as soon as an interrupt arrives. The returned function stops watching for it.
func (f *follower) tellInterrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		f.bar.Note(f.lang.Say("interrupted: ending the run; interrupt again to exit at once"))
	})
}

// stop removes the live line.
func (f *follower) stop() { f.bar.Stop() }
