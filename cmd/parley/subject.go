package main

import (
	"fmt"
	"slices"
	"strings"

	"parley/driver/r3labs"
	"parley/driver/sse"
	"parley/driver/ws"
	"parley/model"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/target"
)

// subject is what is to be tested.
type subject struct {
	profile  *target.Profile
	launcher target.Launcher // nil: by the profile
	brain    *model.Brain    // of a target within this process; nil for others
	bare     bool            // nothing but a URL is known of it
}

// subjectOf makes a subject of what --target names: a URL, the file of a profile, or the bundled target.
func subjectOf(name string) (*subject, error) {
	switch {
	case name == "":
		brain := model.New()
		return &subject{profile: bundled.Profile(), launcher: &bundled.Launcher{Brain: brain}, brain: brain}, nil
	case strings.Contains(name, "://"):
		p, err := target.ForURL(name)
		if err != nil {
			return nil, fmt.Errorf("--target: %w", err)
		}
		return &subject{profile: p, bare: true}, nil
	}
	p, err := target.Load(name)
	if err != nil {
		return nil, err
	}
	return &subject{profile: p, launcher: target.NewLauncher(p)}, nil
}

// allDrivers is every driver that --driver may name.
var allDrivers = []string{sse.Name, ws.Name, r3labs.Name}

// everyDriver names all that the subject declares.
const everyDriver = "all"

// drivers are those of a run. What a profile does not declare is refused; of a bare URL the user's word is taken. The
// interop driver reads the same streams as sse does.
func (s *subject) drivers(asked []string) ([]string, error) {
	if len(asked) == 0 {
		return s.profile.Drivers, nil
	}
	declared := slices.Clone(s.profile.Drivers)
	if slices.Contains(declared, sse.Name) {
		declared = append(declared, r3labs.Name)
	}
	var out []string
	for _, d := range asked {
		switch {
		case d == everyDriver:
			out = append(out, declared...)
		case !slices.Contains(allDrivers, d):
			return nil, usagef("--driver: unknown driver %q%s", d,
				suggest(d, append(slices.Clone(allDrivers), everyDriver), "known: "+strings.Join(allDrivers, ", ")+", "+everyDriver))
		case !s.bare && !slices.Contains(declared, d):
			return nil, usagef("--driver: %s declares no driver %s (declared: %s)", s.source(), d, strings.Join(declared, ", "))
		default:
			out = append(out, d)
		}
	}
	return unique(out), nil
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
		if _, err := runner.Protocol(name); err != nil {
			return fmt.Errorf("--protocol: %w", err)
		}
		if name != s.profile.Protocol {
			return usagef("--protocol %s: %s speaks %s (leave --protocol out, or give another --target)", name, s.source(), s.profile.Protocol)
		}
	}
	return nil
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
