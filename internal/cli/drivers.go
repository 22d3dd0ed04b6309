package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
)

// allDrivers is every driver that --driver may name.
var allDrivers = []string{sse.Name, ws.Name, stdio.Name, sse.PostName, browser.Name, r3labs.Name}

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

// usualDrivers returns the drivers over which a subject is judged by default. For a bundled target this excludes stdio,
// which runs the same target in separate processes and shows nothing new.
func (s *subject) usualDrivers() []string {
	all := s.profile.Drivers
	if s.bundled && len(all) > 1 {
		return slices.DeleteFunc(slices.Clone(all), func(d string) bool { return d == stdio.Name })
	}
	return all
}

// availableDrivers returns the drivers available for a subject: those of its profile and, with sse, the interop driver,
// which reads the same streams.
func (s *subject) availableDrivers() []string {
	out := slices.Clone(s.profile.Drivers)
	if slices.Contains(out, sse.Name) {
		out = append(out, r3labs.Name)
	}
	return out
}

// hasDriver reports whether a subject can be tested over a driver.
func (s *subject) hasDriver(driver string) bool {
	return slices.Contains(s.availableDrivers(), driver) || s.bare &&
		slices.Contains(bareDrivers(s.profile.Kind()), driver)
}

// shareDrivers assigns to each subject those of the requested drivers that it has; without any, its usual ones. A
// driver that no subject has is an error. So is a subject with none of the drivers, which would otherwise be left out
// silently.
func shareDrivers(subjects []*subject, asked []string) ([][]string, error) {
	for _, d := range asked {
		if err := someoneHas(subjects, d); err != nil {
			return nil, err
		}
	}
	var out [][]string
	for _, s := range subjects {
		mine := s.usualDrivers()
		if len(asked) > 0 {
			mine = s.driversAmong(asked)
		}
		if len(mine) == 0 {
			return nil, usagef("--driver %s: %s has only %s (leave it out: --protocol %s)", strings.Join(asked, ","),
				s.profile.Protocol,
				strings.Join(s.availableDrivers(), ", "),
				strings.Join(protocolsHaving(subjects, asked), " --protocol "))
		}
		out = append(out, mine)
	}
	return out, nil
}

// driversAmong returns those of the requested drivers that a subject has.
func (s *subject) driversAmong(asked []string) []string {
	var out []string
	for _, d := range asked {
		switch {
		case d == everyDriver:
			out = append(out, s.availableDrivers()...)
		case s.hasDriver(d):
			out = append(out, d)
		}
	}
	return withoutDuplicates(out)
}

// someoneHas rejects a driver that is unknown, or that no subject has.
func someoneHas(subjects []*subject, d string) error {
	known := append(slices.Clone(allDrivers), everyDriver)
	switch {
	case !slices.Contains(known, d):
		return usagef("--driver: unknown driver %q%s", d, suggestWord(d, known, "known: "+strings.Join(known, ", ")))
	case d == everyDriver, slices.ContainsFunc(subjects, func(s *subject) bool { return s.hasDriver(d) }):
		return nil
	}
	var sources, declared []string
	for _, s := range subjects {
		sources, declared = append(sources, s.profileSource()), append(declared, s.availableDrivers()...)
	}
	return usagef("--driver: %s declares no driver %s (declared: %s)", strings.Join(sources, ", "), d,
		strings.Join(withoutDuplicates(declared), ", "))
}

// describeUntried says which drivers of bare URLs are not judged, because nobody has asked for them and a URL declares
// none.
func describeUntried(subjects []*subject, asked []string) (out []string) {
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

// protocolsHaving returns the protocols of the subjects that have one of the drivers.
func protocolsHaving(subjects []*subject, asked []string) []string {
	var out []string
	for _, s := range subjects {
		if len(s.driversAmong(asked)) > 0 {
			out = append(out, s.profile.Protocol)
		}
	}
	return withoutDuplicates(out)
}

// withoutBrowser says why a page protocol that was not asked for by name is left out.
func withoutBrowser(protocol string) string {
	return protocol + " was not run: no Chromium found (Debian: apt-get install chromium)"
}

// missingBrowser returns an error if the target is or has a page and there is no browser to drive it. The error
// determines the exit code.
func missingBrowser(p *target.Profile) error {
	if !slices.Contains(p.Drivers, browser.Name) && p.Reach().Page == "" {
		return nil
	}
	_, err := browser.Find(p.Reach().Browser)
	var missing *browser.MissingError
	if errors.As(err, &missing) {
		missing.Key = p.Reach().BrowserKey
	}
	return err
}

// leaveOut keeps what can be judged on this machine, and says what is left out. It returns an error if something was
// asked for by name or nothing remains.
func leaveOut[T any](all []T, named bool, missing func(T) error, protocol func(T) string) (kept []T, left []string,
	err error) {
	for _, one := range all {
		switch why := missing(one); {
		case why == nil:
			kept = append(kept, one)
		case named:
			return nil, nil, why
		default:
			left, err = withoutDuplicates(append(left, withoutBrowser(protocol(one)))), why
		}
	}
	if len(kept) > 0 {
		err = nil
	}
	return kept, left, err
}

// noteLeft adds what was left out to the notes of the last run, just before the summary.
func noteLeft(r *reports.Results, left []string) {
	if len(r.Runs) == 0 {
		return
	}
	last := &r.Runs[len(r.Runs)-1]
	for _, text := range left {
		last.Notes = append(last.Notes, reports.Note{Kind: "harness", Text: text})
	}
}

// everyRole selects all roles that targets of a protocol can have.
const everyRole = "all"

// hasRoles reports whether targets of a protocol can have several roles. Only then is the role worth mentioning.
func hasRoles(protocol string) bool { return len(suite.Roles(protocol)) > 1 }

// titleWithRole returns a protocol's name, with the role of its target if there are several.
func titleWithRole(protocol, role string) string {
	if hasRoles(protocol) {
		return protocol + " " + role
	}
	return protocol
}

// rolesAmong returns those of the requested roles that targets of a protocol can have; nil if it has none of them.
func rolesAmong(protocol string, asked []string) []string {
	var out []string
	for _, r := range asked {
		switch known := suite.Roles(protocol); {
		case r == everyRole:
			out = append(out, known...)
		case slices.Contains(known, r):
			out = append(out, r)
		}
	}
	return withoutDuplicates(out)
}

// knownRoles rejects a role that none of the protocols has.
func knownRoles(asked, protocols []string) error {
	var known []string
	for _, p := range protocols {
		known = append(known, suite.Roles(p)...)
	}
	if known = withoutDuplicates(known); len(known) > 1 {
		known = append(known, everyRole)
	}
	for _, r := range asked {
		if r == everyRole || slices.Contains(known, r) {
			continue
		}
		meant := ""
		if near := words.Near(r, known, 1); len(near) > 0 {
			meant = fmt.Sprintf("did you mean %q? ", near[0])
		}
		return usagef("--role: unknown role %q of %s (%sknown: %s)", r, words.Either(withoutDuplicates(protocols)),
			meant,
			strings.Join(known, ", "))
	}
	return nil
}

// oneRole returns the role requested for a target; "" if none was.
func oneRole(protocol string, asked []string) (string, error) {
	if err := knownRoles(asked, []string{protocol}); err != nil {
		return "", err
	}
	roles := rolesAmong(protocol, asked)
	switch len(roles) {
	case 0:
		return "", nil
	case 1:
		return roles[0], nil
	}
	return "", usagef("--role: a target has one role at a time, but %s are given (choose one)", strings.Join(roles, ", "))
}

// setRole sets the role of a target instead of that in its profile; "" keeps it. Call it before making the launcher.
// Keys with a meaning in one role only are dropped or rejected as when a profile is read.
func setRole(p *target.Profile, role string) error {
	if role == "" || role == p.Role {
		return nil
	}
	wrong := func(msg, mend string) error {
		return fmt.Errorf("--role %s: %w", role, &target.ProfileError{File: p.Path, Msg: msg, Mend: mend})
	}
	p.Role = role
	switch cmd := p.Command; {
	case p.Dials() && cmd == nil && p.Reach().Listen == "":
		return wrong("nothing to test",
			"give a command that starts the agent, or "+p.Reach().ListenKey+", to which it connects by itself")
	case p.Dials() && cmd != nil && (cmd.Ready.Path != "" || cmd.Ready.Log != ""):
		return wrong("command.ready: an agent is ready once it has joined", p.Reach().ReadyMend)
	case p.Dials():
		p.URL = "" // it connects to the harness
	case p.URL == "" && cmd == nil:
		return wrong("nothing to test", "give the url of a running target, or a command that starts one")
	case p.URL == "":
		p.URL = "http://127.0.0.1:{port}"
	}
	if err := p.CheckSections(); err != nil {
		return fmt.Errorf("--role %s: %w", role, err)
	}
	return nil
}

// inRole reports whether a scenario applies to targets of a role.
func inRole(protocol, role string, p runner.Planned) bool {
	return !hasRoles(protocol) || slices.Contains(p.Tags, "@"+role)
}
