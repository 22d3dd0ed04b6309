package runner

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/deadline"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
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

	env        *steps.Env
	judges     steps.Judges
	judgesOnce sync.Once

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
	stop, err := r.launchTarget(ctx)
	if err != nil {
		r.closeRun()
		return nil, err
	}
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { deadline.Watch(watching) })
	end := func() { stop(); r.closeRun(); unwatch(); watch.Wait() }

	d := r.drivers[0]
	l := &Live{Protocol: r.protocol, Role: r.role, Driver: d.name, URL: r.shared.BaseURL(), Redactor: r.redact,
		Nonce: fmt.Sprintf("live-%s-%x", d.name, r.salt)}
	env := r.newEnvironment(d)
	env.Keep = &transcript.Keep{}
	l.env = env
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

// keptDriver is a driver that stays open after the run.
type keptDriver struct{ driver.Driver }

func (keptDriver) Close() error { return nil }

func newDriver(name string, protocol steps.Protocol, o Options) (closingDriver, error) {
	switch name {
	case sse.Name:
		return sse.NewTLS(o.Profile.TLSConfig()), nil
	case sse.PostName:
		return sse.Posts{Driver: sse.NewTLS(o.Profile.TLSConfig())}, nil
	case ws.Name:
		return overWS(protocol, o.Profile), nil
	case stdio.Name:
		return stdio.New(), nil
	case browser.Name:
		if o.Browser != nil {
			return keptDriver{o.Browser}, nil
		}
		return browser.New(browserOptions(o.Profile)), nil
	case r3labs.Name:
		return r3labs.NewTLS(o.Profile.TLSConfig()), nil
	}
	return nil, &UsageError{Msg: fmt.Sprintf("driver %q is unknown; known: sse, ws, stdio, post, browser, r3labs, all",
		name)}
}

// overWS returns the WebSocket driver for the target of a profile.
func overWS(protocol steps.Protocol, p *target.Profile) *ws.Driver {
	d := ws.New(protocol.Subprotocols(p)...)
	d.TLS = p.TLSConfig()
	return d
}

// browserOptions returns the options of the browser for the page of a profile.
func browserOptions(p *target.Profile) browser.Options {
	return browser.Options{Command: p.Reach().Browser, TLS: p.TLSConfig(), Header: p.Header()}
}

// newEnvironment returns what the scenarios over a driver share.
func (r *run) newEnvironment(d *driverRun) *steps.Env {
	env := &steps.Env{Profile: r.o.Profile, Role: r.role, Driver: d.d, Ledger: r.ledger, Brain: r.brain,
		Strict: r.o.Strict, Redact: r.redact, Person: r.o.Person, Waits: r.waits.toShow(r)}
	if r.pages != nil {
		env.Pages = r.pages
	}
	return env
}

// Steps returns the step texts of every scenario of a protocol, by scenario id.
func Steps(fsys fs.FS, p steps.Protocol) (map[string][]string, error) {
	protocol := steps.Name(p)
	planned, err := Scenarios(fsys, p)
	if err != nil {
		return nil, err
	}
	features, err := godog.TestSuite{Name: protocol, Options: &godog.Options{FS: fsys,
		Paths: []string{protocol}}}.RetrieveFeatures()
	if err != nil {
		return nil, fmt.Errorf("read features of %s: %w", protocol, err)
	}
	byKey := map[string][]string{}
	for _, f := range features {
		for _, p := range f.Pickles {
			for _, s := range p.Steps {
				byKey[pickleKey(p)] = append(byKey[pickleKey(p)], s.Text)
			}
		}
	}
	out := make(map[string][]string, len(planned))
	for _, p := range planned {
		out[p.ID] = byKey[p.key]
	}
	return out, nil
}
