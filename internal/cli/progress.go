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

// look is how progress is shown.
type look struct {
	color, quiet bool
	lang         lang.Lang
}

// follow prints how many scenarios will run and what each run judges, and starts the progress display. If quiet, it
// does neither, and the follower is silent.
func follow(s *streams, total int, abouts []string, as look) *follower {
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

// Shrinking implements runner.Shrinker.
func (f *follower) Shrinking(lines int) {
	f.note(f.lang.Say("a random sequence of %s breaks a clause; looking for a shorter one",
		f.lang.Count(lines, "line")))
}

// tellInterrupt prints a message as soon as an interrupt arrives. The returned function stops watching for it.
func (f *follower) tellInterrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != errChanged {
			f.note(f.lang.Say("interrupted: ending the run; interrupt again to exit at once"))
		}
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
