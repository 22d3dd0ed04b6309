package main

import (
	"fmt"
	"slices"
	"strings"

	"parley/features"
	"parley/internal/nearest"
	"parley/model"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/runner/tags"
	"parley/target"
)

// subject is what is to be tested.
type subject struct {
	profile  *target.Profile
	launcher target.Launcher // nil: by the profile
	brain    *model.Brain    // of a target within this process; nil for others
	bare     bool            // nothing but a URL is known of it
}

// subjectsOf are what --target and --protocol name together: one target, or the bundled ones.
func subjectsOf(name string, protocols []string) ([]*subject, error) {
	if name != "" {
		s, err := subjectOf(name, protocols)
		return []*subject{s}, err
	}
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	if len(protocols) == 0 {
		protocols = bundled.Protocols()
	}
	var out []*subject
	for _, protocol := range unique(protocols) {
		t := bundled.For(protocol, "")
		if t == nil {
			return nil, usagef("--protocol %s: there is no bundled target of it (name yours with --target)", protocol)
		}
		out = append(out, &subject{profile: t.Profile, launcher: t.Launcher, brain: t.Brain})
	}
	return out, nil
}

// subjectOf makes a subject of a target, which is a URL or the file of a profile. A file says which protocol the target
// speaks; a URL does not: it is agent-select's unless one protocol is named.
func subjectOf(name string, protocols []string) (*subject, error) {
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	protocols = unique(protocols)
	if !strings.Contains(name, "://") {
		p, err := target.Load(name)
		if err != nil {
			return nil, err
		}
		s := &subject{profile: p, launcher: target.NewLauncher(p)}
		return s, s.speaks(protocols)
	}
	protocol := target.Default().Protocol
	switch {
	case len(protocols) > 1:
		return nil, usagef("--protocol: a URL is judged by one protocol at a time, and here are %s (choose one)",
			strings.Join(protocols, ", "))
	case len(protocols) == 1:
		protocol = protocols[0]
	}
	p, err := target.ForURLOf(protocol, name)
	if err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	return &subject{profile: p, bare: true}, nil
}

// source is how messages speak of where the subject's profile comes from.
func (s *subject) source() string {
	if s.profile.Path != "" {
		return s.profile.Path
	}
	return s.profile.Name
}

// speaks checks the protocols that were asked for against the subject's own.
func (s *subject) speaks(protocols []string) error {
	for _, name := range protocols {
		if name != s.profile.Protocol {
			return usagef("--protocol %s: %s speaks %s (leave --protocol out, or give another --target)", name, s.source(), s.profile.Protocol)
		}
	}
	return nil
}

// knownProtocols refuses what is no protocol of the suite.
func knownProtocols(names []string) error {
	known := runner.Protocols()
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		meant := ""
		if near := nearest.Words(name, known, 1); len(near) > 0 {
			meant = fmt.Sprintf("did you mean %q? ", near[0])
		}
		return usagef("--protocol: unknown protocol %q (%sknown: %s)", name, meant, strings.Join(known, ", "))
	}
	return nil
}

// tagged leaves out the subjects of whose protocol a tag expression selects nothing. Where it selects nothing at all, or is
// no expression, they stay: the run will say so.
func tagged(subjects []*subject, expr string) ([]*subject, error) {
	sel, err := tags.Parse(expr)
	if err != nil || expr == "" || len(subjects) == 1 {
		return subjects, nil
	}
	var out []*subject
	for _, s := range subjects {
		all, err := runner.Scenarios(features.FS, s.profile.Protocol)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(p runner.Planned) bool { return sel.Match(p.Tags) }) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return subjects, nil
	}
	return out, nil
}

// unique drops repetitions.
func unique(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
