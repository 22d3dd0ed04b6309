package cli

import (
	"fmt"
	"slices"
	"strings"

	"parley/target"
	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
)

// allDrivers is every driver that --driver may name.
var allDrivers = []string{sse.Name, ws.Name, stdio.Name, browser.Name, r3labs.Name}

// everyDriver selects all drivers that a subject declares.
const everyDriver = "all"

// bareDrivers returns the drivers that the user may choose for a bare URL: all of the protocol that take a URL.
func bareDrivers(k target.Kind) []string {
	out := slices.DeleteFunc(slices.Clone(k.Drivers), func(d string) bool { return d == stdio.Name })
	if slices.Contains(out, sse.Name) {
		out = append(out, r3labs.Name)
	}
	return out
}

// usual returns the drivers over which a subject is judged by default. For a bundled target this excludes stdio,
// which runs the same target in separate processes and shows nothing new.
func (s *subject) usual() []string {
	all := s.profile.Drivers
	if s.bundled && len(all) > 1 {
		return slices.DeleteFunc(slices.Clone(all), func(d string) bool { return d == stdio.Name })
	}
	return all
}

// drivers returns the drivers available for a subject: those of its profile and, with sse, the interop driver, which
// reads the same streams.
func (s *subject) drivers() []string {
	out := slices.Clone(s.profile.Drivers)
	if slices.Contains(out, sse.Name) {
		out = append(out, r3labs.Name)
	}
	return out
}

// has reports whether a subject can be tested over a driver.
func (s *subject) has(driver string) bool {
	return slices.Contains(s.drivers(), driver) || s.bare && slices.Contains(bareDrivers(s.profile.Kind()), driver)
}

// share assigns to each subject those of the requested drivers that it has; without any, its usual ones. A driver
// that no subject has is an error. So is a subject with none of the drivers, which would otherwise be left out
// silently.
func share(subjects []*subject, asked []string) ([][]string, error) {
	for _, d := range asked {
		if err := someoneHas(subjects, d); err != nil {
			return nil, err
		}
	}
	var out [][]string
	for _, s := range subjects {
		mine := s.usual()
		if len(asked) > 0 {
			mine = s.among(asked)
		}
		if len(mine) == 0 {
			return nil, usagef("--driver %s: %s has only %s (leave it out: --protocol %s)", strings.Join(asked, ","),
				s.profile.Protocol,
				strings.Join(s.drivers(), ", "), strings.Join(having(subjects, asked), " --protocol "))
		}
		out = append(out, mine)
	}
	return out, nil
}

// among returns those of the requested drivers that a subject has.
func (s *subject) among(asked []string) []string {
	var out []string
	for _, d := range asked {
		switch {
		case d == everyDriver:
			out = append(out, s.drivers()...)
		case s.has(d):
			out = append(out, d)
		}
	}
	return unique(out)
}

// someoneHas rejects a driver that is unknown, or that no subject has.
func someoneHas(subjects []*subject, d string) error {
	known := append(slices.Clone(allDrivers), everyDriver)
	switch {
	case !slices.Contains(known, d):
		return usagef("--driver: unknown driver %q%s", d, suggest(d, known, "known: "+strings.Join(known, ", ")))
	case d == everyDriver, slices.ContainsFunc(subjects, func(s *subject) bool { return s.has(d) }):
		return nil
	}
	var sources, declared []string
	for _, s := range subjects {
		sources, declared = append(sources, s.source()), append(declared, s.drivers()...)
	}
	return usagef("--driver: %s declares no driver %s (declared: %s)", strings.Join(sources, ", "), d,
		strings.Join(unique(declared), ", "))
}

// untried says which drivers of bare URLs are not judged, because nobody has asked for them and a URL declares none.
func untried(subjects []*subject, asked []string) (out []string) {
	for _, s := range subjects {
		if !s.bare || len(asked) > 0 {
			continue
		}
		var more []string
		for _, d := range bareDrivers(s.profile.Kind()) {
			if d != r3labs.Name && !slices.Contains(s.profile.Drivers, d) {
				more = append(more, d)
			}
		}
		if len(more) > 0 {
			all := strings.Join(append(slices.Clone(s.profile.Drivers), more...), ",")
			out = append(out, fmt.Sprintf("%s was not tried: a URL alone is judged over %s (add --driver %s, or drivers to a "+
				"profile)", strings.Join(more, ", "), strings.Join(s.profile.Drivers, ", "), all))
		}
	}
	return out
}

// having returns the protocols of the subjects that have one of the drivers.
func having(subjects []*subject, asked []string) []string {
	var out []string
	for _, s := range subjects {
		if len(s.among(asked)) > 0 {
			out = append(out, s.profile.Protocol)
		}
	}
	return unique(out)
}
