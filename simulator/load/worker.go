package load

import (
	"context"
	"fmt"
	"time"

	"parley/internal/llm"
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
	p, err := t.Source.makeProfile(w.Protocols.Kinds(), bundled)
	if err != nil {
		return nil, err
	}
	if t.Role != "" && t.Role != p.Role {
		p = p.Clone()
		p.Role = t.Role
	}
	o := t.workerOptions(w.Protocols, p)
	o.Hosts = w.Hosts
	if err := o.checkOptions(); err != nil {
		return nil, err
	}
	r, err := newRun(o, t.Part)
	if err != nil {
		return nil, err
	}
	r.brain, r.target = o.Brain, elsewhere{base: t.Base}
	if err := r.prepareSessions(ctx); err != nil {
		return nil, err
	}
	return &Worker{r}, nil
}

// Close ends a worker that does not run.
func (w *Worker) Close() { w.r.judge.judgeRest(1) }

// Run carries out the part. If ctx ends, the part ends early. The last report counts; the error says that it is not the
// whole truth, as evidence was not taken.
func (w *Worker) Run(ctx context.Context, link Link) (last Report, err error) {
	r := w.r
	r.o.claim = link.Claim
	shown := 0
	report := func() (Report, error) { // evidence goes first: a report counts only what was shown
		out := r.reportMeasured()
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
	r.driveSessions(ctx, func(int) bool { return link.Opened(ctx, r.reportMeasured()) })
	if last, err = report(); err != nil {
		return last, err
	}
	if v := r.judge.last; v != nil {
		err = link.Show(shownOf(v, true))
	}
	return last, err
}

// reportMeasured reports what the run has done so far.
func (r *run) reportMeasured() Report {
	out := Report{At: r.elapsed(), Phase: r.phase.Load().(string), Open: r.countConnected(), Opened: int(r.ready.Load()),
		Sent: r.sent.Load(), Received: r.received.Load(), Unfinished: r.unfinished.Load(),
		Lag: time.Duration(r.lag.Load()), Rested: r.rested.Load(), Peak: r.memory.ownPeak()}
	r.meter.addToReport(&out)
	r.judge.addToReport(&out)
	return out
}

// elsewhere is a target that somebody else has started. Only its base URL is used.
type elsewhere struct {
	target.Running
	base string
}

// BaseURL implements target.Running.
func (e elsewhere) BaseURL() string { return e.base }

// Part is what one of several workers does of a load: it has the sessions N, N+Of, N+2·Of and so on, and the acts that
// arrive at them. All parts together do the same, at the same times, as one process that does everything.
type Part struct {
	N  int `json:"n"` // from 0
	Of int `json:"of"`
}

// sessionShare returns how many of the sessions of the load are those of the part.
func (p Part) sessionShare(sessions int) int { return (sessions - p.N + p.Of - 1) / p.Of }

// actShare returns how many acts of a schedule arrive at the part's sessions.
func (p Part) actShare(s schedule, sessions int) (n int64) {
	for all := s.countActs(); all > 0; all -= sessions {
		n += int64(max(p.sessionShare(min(all, sessions)), 0))
	}
	return n
}

// Task is a part of a load, for a worker elsewhere.
type Task struct {
	Part   Part   `json:"part"`
	Source Source `json:"source"`
	Base   string `json:"base"` // base URL of the target
	Role   string `json:"role"`
	Driver string `json:"driver"`
	Strict bool   `json:"strict,omitempty"`
	Known  bool   `json:"known,omitempty"` // the answers of the target's model are known

	Sessions int           `json:"sessions"` // of the whole load, as Rate and Opening are
	Rate     float64       `json:"rate"`
	Opening  float64       `json:"opening"`
	Duration time.Duration `json:"duration"`
	Timeout  time.Duration `json:"timeout"`
	Shape    Shape         `json:"shape"`
	Salt     string        `json:"salt"`
}

// workerTask returns the task of a worker.
func (r *run) workerTask(n, of int) Task {
	return Task{Part: Part{n, of}, Source: r.o.Source, Base: r.target.BaseURL(), Role: r.o.Profile.Role,
		Driver: r.o.Driver, Strict: r.o.Strict, Known: r.brain != nil, Sessions: r.o.Sessions,
		Rate: r.o.Rate, Opening: r.o.Opening, Duration: r.o.Duration,
		Timeout: r.o.Timeout, Shape: r.o.Shape, Salt: r.salt}
}

// workerOptions returns what a worker does for the task.
func (t Task) workerOptions(protocols *steps.Protocols, p *target.Profile) Options {
	o := Options{Protocols: protocols, Profile: p, Driver: t.Driver, Strict: t.Strict, Sessions: t.Sessions, Rate: t.Rate,
		Opening: t.Opening, Duration: t.Duration, Timeout: t.Timeout, Shape: t.Shape, Salt: t.Salt}
	if t.Known {
		o.Brain = llm.NewUnrecorded() // its answers are known; what it is asked is not of interest
	}
	return o.withDefaults()
}

// MaxSource bounds the file of a Source.
const MaxSource = 256 << 10

// Source says where a worker finds the profile of the target. A worker starts nothing, and calls no hook.
type Source struct {
	Protocol string `json:"protocol,omitempty"` // that of the bundled server, or of a URL
	URL      string `json:"url,omitempty"`      // as given by the user; with Protocol
	Name     string `json:"name,omitempty"`     // of the file
	YAML     []byte `json:"yaml,omitempty"`     // the file
	Dir      string `json:"dir,omitempty"`      // its folder, to which the paths in it refer

	Env map[string]string `json:"env,omitempty"` // the values of ${NAME} in the file

	// What was said beside the file or the URL: headers, and keys of tls with absolute paths.
	Headers map[string]string `json:"headers,omitempty"`
	TLS     *target.TLS       `json:"tls,omitempty"`
}

// makeProfile makes the profile, as makePlainProfile does.
func (s Source) makeProfile(kinds target.Kinds, bundled func(protocol string) *target.Profile) (*target.Profile,
	error) {
	p, err := s.makePlainProfile(kinds, bundled)
	if err != nil {
		return nil, err
	}
	for name, value := range s.Headers {
		if err := p.SetHeader(name, value); err != nil {
			return nil, err
		}
	}
	if s.TLS != nil {
		err = p.UseTLS(*s.TLS)
	}
	return p, err
}

// makePlainProfile makes the profile without what was said beside it. bundled returns that of the bundled server of a
// protocol; nil if there is none.
func (s Source) makePlainProfile(kinds target.Kinds, bundled func(protocol string) *target.Profile) (*target.Profile,
	error) {
	switch {
	case len(s.YAML) > 0:
		return kinds.ParseIn(s.YAML, s.Name, s.Dir, func(name string) (string, bool) {
			value, ok := s.Env[name]
			return value, ok
		})
	case s.URL != "":
		return kinds.ForURL(s.Protocol, s.URL)
	}
	if p := bundled(s.Protocol); p != nil {
		return p, nil
	}
	return nil, usagef("--protocol %s: the worker has no bundled server", s.Protocol)
}
