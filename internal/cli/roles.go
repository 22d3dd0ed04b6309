package cli

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/runner"
	"parley/target"
)

// everyRole selects all roles that targets of a protocol can have.
const everyRole = "all"

// roled reports whether targets of a protocol can have several roles. Only then is the role worth mentioning.
func roled(protocol string) bool { return len(suite.Roles(protocol)) > 1 }

// titled returns a protocol's name, with the role of its target if there are several.
func titled(protocol, role string) string {
	if roled(protocol) {
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
	return unique(out)
}

// knownRoles rejects a role that none of the protocols has.
func knownRoles(asked, protocols []string) error {
	var known []string
	for _, p := range protocols {
		known = append(known, suite.Roles(p)...)
	}
	if known = unique(known); len(known) > 1 {
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
		return usagef("--role: unknown role %q of %s (%sknown: %s)", r, words.Either(unique(protocols)), meant,
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

// as sets the role of a target instead of that in its profile; "" keeps it. Call it before making the launcher. Keys
// with a meaning in one role only are dropped or rejected as when a profile is read.
func as(p *target.Profile, role string) error {
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
	return !roled(protocol) || slices.Contains(p.Tags, "@"+role)
}
