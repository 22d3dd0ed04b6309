package suitetest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/features/verdict"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps/protocols"
	"parley/target"
)

// Seen collects the judgements of the proxies in front of a run's targets.
type Seen struct {
	t    testing.TB
	o    proxy.Options
	role string

	again sync.Map // proxy → its recordedAgain

	mu     sync.Mutex
	Conns  int64               // proxied connections
	Kept   map[string]bool     // clauses that passed
	Broken map[string][]string // clause → findings
}

// Through puts a proxy in front of each target of a run. Targets that connect are called with the proxy's address. Only
// targets reached over sockets are supported.
func Through(t *testing.T, o runner.Options) (runner.Options, *Seen) {
	t.Helper()
	p, err := protocols.All.Find(o.Profile.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	role := o.Profile.Role
	if o.Role != "" {
		role = o.Role
	}
	if role == "" {
		role = protocols.All.Roles(o.Profile.Protocol)[0]
	}
	roles, err := proxy.RolesOf(p, []string{role})
	if err != nil {
		t.Fatal(err)
	}
	s := &Seen{t: t, role: role, Kept: map[string]bool{}, Broken: map[string][]string{},
		o: proxy.Options{Protocol: p, Profile: o.Profile, Roles: roles}}
	s.o.Ended = s.noteEnded
	if slices.Equal(p.Kind().Drivers, []string{target.Browser}) {
		if o.Browser == nil {
			o.Browser = Browser(t)
		}
		o.Browser, o.Protocols = &throughBrowser{o.Browser, s}, protocols.All
		return o, s
	}
	inner := o.Launcher
	if inner == nil {
		inner = target.NewLauncher(o.Profile)
	}
	o.Launcher = &throughLauncher{inner, s}
	o.Protocols = protocols.All
	drivers := o.Drivers
	if len(drivers) == 0 {
		drivers = o.Profile.Drivers
	}
	if len(drivers) == 0 {
		drivers = p.Kind().Drivers
	}
	o.Drivers = slices.DeleteFunc(slices.Clone(drivers), func(d string) bool { return d == target.Stdio })
	if o.Again == "" {
		o.Again = "parley run"
	}
	return o, s
}

func (s *Seen) noteEnded(e proxy.Ended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range e.Judged {
		s.Kept[j.Clause] = s.Kept[j.Clause] || j.Outcome == verdict.Passed
	}
	for _, f := range e.Failures {
		if f.Outcome != verdict.Failed && f.Outcome != verdict.Warned {
			continue
		}
		var near []string
		for r := range e.T.From(max(0, f.At-30)) {
			if r.N > f.At+3 {
				break
			}
			near = append(near, r.Line(300))
		}
		s.Broken[f.Clause] = append(s.Broken[f.Clause], fmt.Sprintf("%s: record %d: want %s, got %s\n%s", f.Monitor, f.At,
			f.Expected, f.Observed, strings.Join(near, "\n")))
	}
}

// Found reports whether any of the clauses was found broken.
func (s *Seen) Found(clauses ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(clauses, func(id string) bool { return len(s.Broken[id]) > 0 })
}

// openProxy opens a proxy in front of an address.
func (s *Seen) openProxy(to string) (*proxy.Proxy, error) {
	o, again := s.o, &recordedAgain{}
	o.To = to
	if err := again.watch(&o); err != nil {
		return nil, err
	}
	p, err := proxy.Open(o)
	if err == nil {
		s.again.Store(p, again)
	}
	return p, err
}

// closeProxy ends a proxy, which then judges the traffic.
func (s *Seen) closeProxy(p *proxy.Proxy) {
	stats := p.Stats()
	if err := p.Close(); err != nil {
		s.t.Error(err)
	}
	if again, ok := s.again.LoadAndDelete(p); ok {
		again.(*recordedAgain).compare(s.t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Conns += stats.Conns
}

// throughLauncher launches targets behind proxies.
type throughLauncher struct {
	target.Launcher
	seen *Seen
}

// Launch implements target.Launcher.
func (l *throughLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	in, err := l.Launcher.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	if c, ok := in.(target.Caller); ok {
		return &called{in, c, l.seen}, nil
	}
	p, err := l.seen.openProxy(in.BaseURL())
	if err != nil {
		_ = in.Stop(ctx)
		return nil, err
	}
	out := &through{Running: in, seen: l.seen, proxy: p}
	if speaker, ok := in.(target.Speaker); ok {
		return &talking{out, speaker}, nil
	}
	return out, nil
}

// through is a target behind a proxy.
type through struct {
	target.Running
	seen  *Seen
	proxy *proxy.Proxy
	once  sync.Once
}

type talking struct {
	*through
	target.Speaker
}

// BaseURL implements target.Running.
func (r *through) BaseURL() string { return r.proxy.URL() }

// Exited implements target.Exiter.
func (r *through) Exited() <-chan struct{} {
	if e, ok := r.Running.(target.Exiter); ok {
		return e.Exited()
	}
	return nil
}

// ExitErr implements target.Exiter.
func (r *through) ExitErr() error {
	if e, ok := r.Running.(target.Exiter); ok {
		return e.ExitErr()
	}
	return nil
}

// Stop implements target.Running.
func (r *through) Stop(ctx context.Context) error {
	err := r.Running.Stop(ctx)
	r.once.Do(func() { r.seen.closeProxy(r.proxy) })
	return err
}

// called is a target that connects, through a proxy for each call.
type called struct {
	target.Running
	caller target.Caller
	seen   *Seen
}

// Call implements target.Caller.
func (r *called) Call(ctx context.Context, o target.CallOptions) (target.Called, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	p, err := r.seen.openProxy(u.Scheme + "://" + u.Host)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(p.URL())
	if err != nil {
		return nil, err
	}
	u.Host = at.Host
	o.URL = u.String()
	in, err := r.caller.Call(ctx, o)
	if err != nil {
		r.seen.closeProxy(p)
		return nil, err
	}
	return &calledThrough{Called: in, seen: r.seen, proxy: p}, nil
}

type calledThrough struct {
	target.Called
	seen  *Seen
	proxy *proxy.Proxy
	once  sync.Once
}

// Stop implements target.Called.
func (c *calledThrough) Stop(ctx context.Context) error {
	err := c.Called.Stop(ctx)
	c.once.Do(func() { c.seen.closeProxy(c.proxy) })
	return err
}
