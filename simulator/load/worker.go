package load

import (
	"context"
	"fmt"
	"time"

	"parley/steps"
	"parley/target"
)

// Worker carries out one part of a load that a coordinator elsewhere has begun.
type Worker struct{ r *run }

// Workshop is what a worker has of its own.
type Workshop struct {
	Protocols *steps.Protocols
	Bundled   func(protocol string) *target.Profile // of a bundled server; nil if there is none
	Hosts     []string                              // beyond loopback that whoever runs the worker admits as targets
}

// Link is how a worker speaks with its coordinator.
type Link struct {
	// Opened announces that the sessions are open or have failed to open, waits for all other workers, and reports
	// whether acts are to arrive.
	Opened func(ctx context.Context, r Report) bool

	// Report and Show are called from one goroutine at a time. A report that gets lost does no harm: the next one has
	// all that it had.
	Report func(Report)
	Show   func(Shown) error

	// Claim is steps.Claims.Elsewhere.
	Claim func(steps.Claim) bool
}

// NewWorker makes the worker of a task. The error says why it cannot be carried out here, and is a *runner.UsageError
// or a *target.ProfileError if whoever began the load can mend that.
func NewWorker(ctx context.Context, t Task, w Workshop) (*Worker, error) {
	if t.Part.Of < 1 || t.Part.N < 0 || t.Part.N >= t.Part.Of || t.Part.N >= t.Sessions {
		return nil, usagef("a worker has part %d of %d of %d sessions", t.Part.N, t.Part.Of, t.Sessions)
	}
	bundled := w.Bundled
	if bundled == nil {
		bundled = func(string) *target.Profile { return nil }
	}
	p, err := t.Source.profile(w.Protocols.Kinds(), bundled)
	if err != nil {
		return nil, err
	}
	if t.Role != "" && t.Role != p.Role {
		p = p.Clone()
		p.Role = t.Role
	}
	o := t.options(w.Protocols, p)
	o.Hosts = w.Hosts
	if err := o.check(); err != nil {
		return nil, err
	}
	r, err := newRun(o, t.Part)
	if err != nil {
		return nil, err
	}
	r.brain, r.target = o.Brain, elsewhere{base: t.Base}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	return &Worker{r}, nil
}

// Close ends a worker that does not run.
func (w *Worker) Close() { w.r.judge.close(1) }

// Run carries out the part. If ctx ends, the part ends early. The last report counts; the error says that it is not the
// whole truth, as evidence was not taken.
func (w *Worker) Run(ctx context.Context, link Link) (last Report, err error) {
	r := w.r
	r.o.claim = link.Claim
	shown := 0
	report := func() (Report, error) { // evidence goes first: a report counts only what was shown
		out := r.measured()
		for _, s := range r.judge.evidenceFrom(shown) {
			if err := link.Show(s); err != nil {
				return out, fmt.Errorf("show how a clause is broken: %w", err)
			}
			shown++
		}
		return out, nil
	}
	r.also = func(stop <-chan struct{}) {
		tick := time.NewTicker(progress)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if now, err := report(); err == nil {
				link.Report(now)
			}
		}
	}
	r.drive(ctx, func(int) bool { return link.Opened(ctx, r.measured()) })
	if last, err = report(); err != nil {
		return last, err
	}
	if v := r.judge.last; v != nil {
		err = link.Show(shownOf(v, true))
	}
	return last, err
}

// measured reports what the run has done so far.
func (r *run) measured() Report {
	out := Report{At: r.now(), Phase: r.phase.Load().(string), Open: r.opened(), Opened: int(r.ready.Load()),
		Sent: r.sent.Load(), Received: r.received.Load(), Unfinished: r.unfinished.Load(),
		Lag: time.Duration(r.lag.Load()), Rested: r.rested.Load(), Peak: r.memory.most()}
	r.meter.report(&out)
	r.judge.report(&out)
	return out
}

// elsewhere is a target that somebody else has started. Only its base URL is used.
type elsewhere struct {
	target.Running
	base string
}

// BaseURL implements target.Running.
func (e elsewhere) BaseURL() string { return e.base }
