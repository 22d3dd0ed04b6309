package main

import (
	"slices"
	"strings"

	"parley/driver/browser"
	"parley/driver/r3labs"
	"parley/driver/sse"
	"parley/driver/stdio"
	"parley/driver/ws"
	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
)

// allDrivers is every driver that --driver may name.
var allDrivers = []string{sse.Name, ws.Name, stdio.Name, browser.Name, r3labs.Name}

// everyDriver names all that a subject declares.
const everyDriver = "all"

// bareDrivers are those by which the target of a bare URL may be tested: of it the user's word is taken.
var bareDrivers = map[string][]string{
	agentselect.Protocol:    {sse.Name, ws.Name, r3labs.Name},
	agentclient.Protocol:    {browser.Name},
	sessionchat.Protocol:    {ws.Name},
	sessionruntime.Protocol: {ws.Name},
	externalagent.Protocol:  {ws.Name},
}

// usualDrivers are those over which the bundled target of a protocol is judged where none are asked for; of a protocol that is
// not here these are all that it declares.
var usualDrivers = map[string][]string{
	sessionruntime.Protocol: {ws.Name}, // over stdio it is the same orchestrator, in processes of its own
}

// usual are the drivers over which a subject is judged where none are asked for.
func (s *subject) usual() []string {
	if usual := usualDrivers[s.profile.Protocol]; s.bundled && usual != nil {
		return usual
	}
	return s.profile.Drivers
}

// drivers are those that a subject can be tested over: what its profile declares, and beside sse the interop driver, which
// reads the same streams.
func (s *subject) drivers() []string {
	out := slices.Clone(s.profile.Drivers)
	if slices.Contains(out, sse.Name) {
		out = append(out, r3labs.Name)
	}
	return out
}

// has tells whether a subject can be tested over a driver.
func (s *subject) has(driver string) bool {
	return slices.Contains(s.drivers(), driver) || s.bare && slices.Contains(bareDrivers[s.profile.Protocol], driver)
}

// share gives each subject the drivers of those that were asked for which it has; without any these are its usual ones. A driver that none of them has is a mistake, and so is a subject that has none of the drivers: it would be
// left out unnoticed.
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
			return nil, usagef("--driver %s: %s has %s alone (leave it out: --protocol %s)", strings.Join(asked, ","), s.profile.Protocol,
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
