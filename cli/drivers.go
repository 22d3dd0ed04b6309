package cli

import (
	"slices"
	"strings"

	"parley/driver/browser"
	"parley/driver/r3labs"
	"parley/driver/sse"
	"parley/driver/stdio"
	"parley/driver/ws"
	"parley/target"
)

// allDrivers is every driver that --driver may name.
var allDrivers = []string{sse.Name, ws.Name, stdio.Name, browser.Name, r3labs.Name}

// everyDriver names all that a subject declares.
const everyDriver = "all"

// bareDrivers are those by which the target of a bare URL may be tested, of which the user's word is taken: all that
// the protocol has and that take a URL.
func bareDrivers(k target.Kind) []string {
	out := slices.DeleteFunc(slices.Clone(k.Drivers), func(d string) bool { return d == stdio.Name })
	if slices.Contains(out, sse.Name) {
		out = append(out, r3labs.Name)
	}
	return out
}

// usual are the drivers over which a subject is judged where none are asked for. A bundled target over stdio is the
// same one in processes of its own, and shows nothing new.
func (s *subject) usual() []string {
	all := s.profile.Drivers
	if s.bundled && len(all) > 1 {
		return slices.DeleteFunc(slices.Clone(all), func(d string) bool { return d == stdio.Name })
	}
	return all
}

// drivers are those that a subject can be tested over: what its profile declares, and beside sse the interop driver,
// which reads the same streams.
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

// share gives each subject the drivers of those that were asked for which it has; without any these are its usual ones.
// A driver that none of them has is a mistake, and so is a subject that has none of the drivers: it would be left out
// unnoticed.
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
			return nil, usagef("--driver %s: %s has %s alone (leave it out: --protocol %s)", strings.Join(asked, ","),
				s.profile.Protocol,
				strings.Join(s.drivers(), ", "), strings.Join(having(subjects, asked), " --protocol "))
		}
		out = append(out, mine)
	}
	return out, nil
}

// among are the drivers of those that were asked for which a subject has.
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

// someoneHas refuses a driver that nobody knows, or that no subject has.
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

// having are the protocols of the subjects that have one of the drivers.
func having(subjects []*subject, asked []string) []string {
	var out []string
	for _, s := range subjects {
		if len(s.among(asked)) > 0 {
			out = append(out, s.profile.Protocol)
		}
	}
	return unique(out)
}
