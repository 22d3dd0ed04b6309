package main

import (
	"context"
	"fmt"

	"parley/reports"
)

// follower shows the progress of a run on stderr: one live line on a terminal, plain lines elsewhere.
type follower struct {
	s       *streams
	about   string // what runs against what
	color   bool
	started chan struct{} // closed once the run is planned
	bar     *reports.Progress
}

func follow(s *streams, about string, color bool) *follower {
	return &follower{s: s, about: about, color: color, started: make(chan struct{})}
}

// Planned implements runner.Observer.
func (f *follower) Planned(total int) {
	fmt.Fprintf(f.s.Err, "%s of %s\n", counted(total, "scenario"), f.about)
	f.bar = reports.NewProgress(f.s.Err, reports.ProgressOptions{TTY: f.s.ErrTTY, Total: total, Color: f.color && f.s.Color, Width: f.s.ErrWidth})
	f.bar.Start()
	close(f.started)
}

// ScenarioDone implements runner.Observer.
func (f *follower) ScenarioDone(sc reports.Scenario) { f.bar.ScenarioDone(sc) }

// tellInterrupt says that an interrupt was heard, as soon as it is. The returned function ends the waiting.
func (f *follower) tellInterrupt(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		select {
		case <-f.started:
			f.bar.Note("interrupted: the run is being ended; interrupt again to end at once")
		default:
		}
	})
}

// stop takes the live line away.
func (f *follower) stop() {
	if f.bar != nil {
		f.bar.Stop()
	}
}
