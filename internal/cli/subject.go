package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/llm"
	"parley/internal/words"
	"parley/runner"
	"parley/runner/tags"
	"parley/target"
)

// subject is a target to be tested.
type subject struct {
	profile  *target.Profile
	launcher target.Launcher // nil: by the profile
	brain    *llm.Brain      // of an in-process target; nil for others
	bare     bool            // only a URL is known
	bundled  bool            // one of the suite's own
	renew    func(*subject)  // sets profile, launcher and brain for a further run; nil: they are kept
}

// subjectsOf returns the subjects that --target, --protocol and --role select: one target, or the bundled ones in
// each requested role. A protocol that has none of these roles is included in its first one.
func subjectsOf(name string, protocols, roles []string) ([]*subject, error) {
	if name != "" {
		s, err := subjectOf(name, protocols, roles)
		return []*subject{s}, err
	}
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	if len(protocols) == 0 {
		protocols = bundle.Protocols()
	}
	if len(protocols) == 0 {
		return nil, usagef("--target is missing: this program has no bundled target (name yours)")
	}
	if err := knownRoles(roles, protocols); err != nil {
		return nil, err
	}
	var out []*subject
	for _, protocol := range withoutDuplicates(protocols) {
		mine := rolesAmong(protocol, roles)
		if len(mine) == 0 {
			mine = suite.Roles(protocol)[:1]
		}
		for _, role := range mine {
			t := bundle.For(suite.Kinds(), protocol, role)
			if t == nil {
				return nil, usagef("--protocol %s: it has no bundled target (name yours with --target)", protocol)
			}
			out = append(out, &subject{profile: t.Profile, launcher: t.Launcher, brain: t.Brain, bundled: true})
		}
	}
	return out, nil
}

// subjectOf makes a subject of a target: a URL, a page, or a profile. A profile sets the protocol, and the role
// unless one is named. A URL has the first protocol unless one is named. A file that is a page has the page protocol.
func subjectOf(name string, protocols, roles []string) (*subject, error) {
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	protocols, name = withoutDuplicates(protocols), asURL(name)
	if kind, isPage := suite.Kinds().OfPage(name); isPage {
		return pageSubject(kind, name, protocols, roles)
	}
	if !strings.Contains(name, "://") {
		if isProgram(name) {
			return nil, usagef("%s is a program, and a target is a URL or a profile (parley init --help says how to write one "+
				"that starts it)", name)
		}
		p, err := suite.Kinds().Load(name)
		if err != nil {
			return nil, err
		}
		s := &subject{profile: p}
		if err := s.checkProtocols(protocols); err != nil {
			return nil, err
		}
		role, err := oneRole(p.Protocol, roles)
		if err == nil {
			err = setRole(p, role)
		}
		if err != nil {
			return nil, err
		}
		s.launcher = target.NewLauncher(p)
		return s, nil
	}
	protocol := suite.Kinds()[0].Protocol
	switch {
	case len(protocols) > 1:
		return nil, usagef("--protocol: a URL is judged by one protocol at a time, but %s are given (choose one)",
			strings.Join(protocols, ", "))
	case len(protocols) == 1:
		protocol = protocols[0]
	}
	p, err := suite.Kinds().ForURL(protocol, name)
	if err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	role, err := oneRole(protocol, roles)
	switch {
	case err != nil:
		return nil, err
	case role != "" && slices.Contains(p.Kind().Dials, role):
		return nil, usagef("--role %s: such a target connects to the harness and has no URL (give a profile with a command "+
			"that starts it, or with %s, to which it connects by itself: parley init --protocol %s --role %[1]s writes one)",
			role, p.Reach().ListenKey, protocol)
	}
	return &subject{profile: p, bare: true}, setRole(p, role)
}

// isProgram reports whether a file is evidently a program, not a profile.
func isProgram(name string) bool {
	known := []string{".py", ".js", ".mjs", ".cjs", ".ts", ".go", ".rb", ".rs", ".java", ".jar", ".sh", ".exe", ".php"}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && slices.Contains(known, strings.ToLower(filepath.Ext(name)))
}

// pageSubject makes a subject of a page: a folder, the file of a page, or a file: URL.
func pageSubject(kind target.Kind, name string, protocols, roles []string) (*subject, error) {
	p, err := kind.ForPage(name)
	if err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	s := &subject{profile: p, bare: true}
	for _, protocol := range protocols {
		if protocol != p.Protocol {
			return nil, usagef("--protocol %s: %s is a page, which speaks %s (leave --protocol out, or give another --target)",
				protocol, name, p.Protocol)
		}
	}
	if _, err := oneRole(p.Protocol, roles); err != nil {
		return nil, err
	}
	return s, nil
}

// profileSource names the origin of the subject's profile in messages.
func (s *subject) profileSource() string {
	if s.profile.Path != "" {
		return s.profile.Path
	}
	return s.profile.Name
}

// checkProtocols checks the requested protocols against the subject's own.
func (s *subject) checkProtocols(protocols []string) error {
	for _, name := range protocols {
		if name != s.profile.Protocol {
			return usagef("--protocol %s: %s speaks %s (leave --protocol out, or give another --target)", name,
				s.profileSource(),
				s.profile.Protocol)
		}
	}
	return nil
}

// knownProtocols rejects unknown protocols.
func knownProtocols(names []string) error {
	known := suite.Names()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return unknownProtocol("--protocol", name, known)
		}
	}
	return nil
}

// unknownProtocol is the mistake to name a protocol that does not exist, in a flag or an argument.
func unknownProtocol(where, name string, known []string) error {
	meant := ""
	if near := words.Near(name, known, 1); len(near) > 0 {
		meant = fmt.Sprintf("did you mean %q? ", near[0])
	}
	return usagef("%s: unknown protocol %q (%sknown: %s)", where, name, meant, strings.Join(known, ", "))
}

// dropUnselected drops the subjects for which a tag expression selects nothing. If it selects nothing at all, or is
// invalid, they stay, and the run reports the error. If it selects something only in another role, tagged returns an
// error.
func dropUnselected(subjects []*subject, expr string) ([]*subject, error) {
	sel, err := tags.Parse(expr)
	if err != nil || expr == "" {
		return subjects, nil
	}
	var out []*subject
	var elsewhere error
	for _, s := range subjects {
		protocol, mine := s.profile.Protocol, s.profile.Role
		roles, err := selectedRoles(protocol, sel)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(roles, mine):
			out = append(out, s)
		case len(roles) > 0:
			elsewhere = usagef("--tags: %s selects no scenario of %s in the role %s (it selects some for --role %s)",
				expr, protocol, mine, words.Either(roles))
		}
	}
	if len(out) == 0 {
		return subjects, elsewhere
	}
	return out, nil
}

// selectedRoles returns the roles in which a selection selects scenarios of a protocol.
func selectedRoles(protocol string, sel tags.Expr) ([]string, error) {
	all, err := scenariosOf(protocol)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, role := range suite.Roles(protocol) {
		if slices.ContainsFunc(all, func(p runner.Planned) bool {
			return inRole(protocol, role, p) && sel.Match(p.Marks())
		}) {
			out = append(out, role)
		}
	}
	return out, nil
}

// withoutDuplicates removes duplicates.
func withoutDuplicates(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
