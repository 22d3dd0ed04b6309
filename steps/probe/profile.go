package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/steps"
	"parley/target"
)

// Options configure a probe.
type Options struct {
	// Protocol is the target's protocol. It must be a Probing.
	Protocol steps.Protocol

	// Role is the role of a target that connects to the harness; if "", the probe finds it out.
	Role string

	// URL is that of a running target, or names a page if the protocol has pages. If "", Command starts the target.
	URL string

	// Command starts a target that connects to the harness or speaks over stdin and stdout. Without a URL and a command
	// there is nothing to probe, and the profile is one to fill in.
	Command []string

	// Counterpart launches the peer of a target that connects to the harness: a correct server of its protocol. It may be
	// nil.
	Counterpart target.Launcher

	// File is where the profile will be written. Profile does not write it.
	File string

	// Prepare, if not nil, completes the profile with which a running target is probed; Head are the lines of the written
	// profile that say the same.
	Prepare func(p *target.Profile) error
	Head    []string

	// Say is called with each progress line for the user. It may be nil.
	Say func(text string)

	// Recognise returns an error if a server visibly does not speak the protocol. Explain returns an error if it did not
	// speak the protocol during the whole probe. Both may be nil.
	Recognise, Explain func(ctx context.Context, p *target.Profile, base string) error
}

// Profile probes a target and returns the text of its profile. It stops what it started. A wrong URL or page is a
// *target.ProfileError, a target that cannot be started a *target.StartError.
func Profile(ctx context.Context, o Options) (string, error) {
	p, ok := o.Protocol.(Probing)
	if !ok {
		return "", fmt.Errorf("%s has no probe", steps.Name(o.Protocol))
	}
	guide, s := p.Init(), NewSession(o.Protocol, nil, nil)
	s.say, s.Counterpart = o.Say, o.Counterpart
	var err error
	if s.File, err = filepath.Abs(o.File); err != nil {
		return "", err
	}
	if o.URL != "" {
		return ofServer(ctx, s, guide, o)
	}
	return ofCommand(ctx, s, guide, o)
}

// ofServer probes a running server, or a page.
func ofServer(ctx context.Context, s *Session, g Guide, o Options) (string, error) {
	kind := o.Protocol.Kind()
	find := kind.ForURL
	if kind.ForPage != nil {
		find = kind.ForPage
	}
	var err error
	if s.Profile, err = find(o.URL); err != nil {
		return "", err
	}
	s.head = o.Head
	if o.Prepare != nil {
		if err := o.Prepare(s.Profile); err != nil {
			return "", err
		}
	}
	s.Exact = strings.HasPrefix(o.URL, "ws")
	end, err := s.launchTarget(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	base := s.Target.BaseURL()
	if o.Recognise != nil {
		if err := o.Recognise(ctx, s.Profile, base); err != nil {
			return "", err
		}
	}
	s.waiting = true
	text, err := g.Profile(ctx, s)
	if err == nil && s.waiting && ctx.Err() == nil && o.Explain != nil {
		return "", o.Explain(ctx, s.Profile, base)
	}
	return text, err
}

// ofCommand probes the target that a command starts, if there is one.
func ofCommand(ctx context.Context, s *Session, g Guide, o Options) (string, error) {
	var err error
	if s.Dir, err = os.Getwd(); err != nil {
		return "", err
	}
	s.Profile = o.Protocol.Kind().New()
	s.Profile.Dir = s.Dir
	if o.Role != "" {
		s.Profile.Role = o.Role
	}
	if !s.Profile.Dials() {
		s.Profile.Drivers = []string{target.Stdio}
	}
	if len(o.Command) == 0 {
		return g.Profile(ctx, s)
	}
	s.Profile.Name = programOf(o.Command)
	s.Profile.Command = &target.Command{Run: o.Command, Stop: target.Duration{Duration: 2 * time.Second}}
	end, err := s.launchTarget(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	return g.Profile(ctx, s)
}

// launchTarget starts or reaches the target.
func (s *Session) launchTarget(ctx context.Context) (end func(), err error) {
	FirstLook(&s.Profile.Limits)
	s.Target, err = target.NewLauncher(s.Profile).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return nil, err
	}
	return func() { _ = s.Target.Stop(context.WithoutCancel(ctx)) }, nil
}

// FirstLook shortens the limits that are at their defaults. A probe tries, one after the other, many things that a
// target need not have, and no verdict depends on what it misses.
func FirstLook(l *target.Limits) {
	standard := target.DefaultLimits()
	for _, limit := range []struct {
		now      *target.Duration
		standard target.Duration
		shorter  time.Duration
	}{
		{&l.Event, standard.Event, 4 * time.Second},
		{&l.Turn, standard.Turn, 10 * time.Second},
		{&l.HTTP, standard.HTTP, 5 * time.Second},
		{&l.Open, standard.Open, 5 * time.Second},
	} {
		if *limit.now == limit.standard {
			limit.now.Duration = limit.shorter
		}
	}
}
