package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/transcript"
)

// Live is a live session with a target: steps on demand, judged as in a run. Safe for concurrent use.
type Live struct {
	*steps.Live
	Protocol steps.Protocol
	Role     string // "" if the protocol has none
	Driver   string
	URL      string // "" if the target connects to the harness
	Nonce    string // part of the names that the harness generates
	Redactor *transcript.Redactor

	once  sync.Once
	close func()
	last  steps.Result
}

// liveFor bounds a live session.
const liveFor = 7 * 24 * time.Hour

// OpenLive launches the target of o over the first of its drivers, and begins a session with it. Options that select,
// repeat or report are ignored. The error is a *UsageError, an error of target.Launcher, or that of a scenario that
// cannot run. The session lasts until ctx ends or Close is called.
func OpenLive(ctx context.Context, o Options) (*Live, error) {
	profile := *o.Profile
	profile.Limits.Scenario.Duration = liveFor
	o.Profile, o.Tags, o.Explore, o.Baseline = &profile, "", 0, nil
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	stop, err := r.launch(ctx)
	if err != nil {
		r.close()
		return nil, err
	}
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { deadline.Watch(watching) })
	end := func() { stop(); r.close(); unwatch(); watch.Wait() }

	d := r.drivers[0]
	l := &Live{Protocol: r.protocol, Role: r.role, Driver: d.name, URL: r.shared.BaseURL(), Redactor: r.redact,
		Nonce: fmt.Sprintf("live-%s-%x", d.name, r.salt)}
	env := r.environment(d)
	env.Keep = &transcript.Keep{}
	l.Live, err = steps.OpenLive(ctx, &steps.Suite{Protocol: r.protocol, Env: env,
		Begin: func(context.Context, *godog.Scenario) steps.Slot { return steps.Slot{Run: r.shared, Nonce: l.Nonce} }})
	if err != nil {
		end()
		return nil, err
	}
	l.close = end
	return l, nil
}

// Close ends the session and the target, and returns the result of the session as a scenario. It keeps the part of
// the transcript that is in memory. It may be called again.
func (l *Live) Close() steps.Result {
	l.once.Do(func() {
		l.last = l.Live.Close()
		l.close()
		_ = l.Transcript().Close() // its file is no longer needed
	})
	return l.last
}
