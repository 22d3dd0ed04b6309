package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/target"
)

// usual returns the protocol of what needs no look, because only one protocol has such targets: a command, a role. It
// is the first protocol if there are several.
func (o initOptions) usual() string {
	var fit []string
	for _, kind := range suite.Kinds() {
		if o.role != "" && slices.Contains(kind.Roles, o.role) && dials(kind, o.role) ||
			o.role == "" && o.command && slices.Contains(kind.Drivers, target.Stdio) {
			fit = append(fit, kind.Protocol)
		}
	}
	if len(fit) == 1 {
		return fit[0]
	}
	return suite.Kinds()[0].Protocol
}

// find looks at a server for the protocol that it speaks, prints a line about each, and returns the protocol and the
// URL to probe. If no protocol fits, or several do, nothing can be written.
func (o initOptions) find(ctx context.Context, given string, s *streams) (protocol, at string, err error) {
	p, err := reaching(given)
	if err != nil {
		return "", "", err
	}
	if err := o.link.apply(p); err != nil {
		return "", "", err
	}
	run, err := target.NewLauncher(p).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return "", "", err
	}
	defer func() { _ = run.Stop(context.WithoutCancel(ctx)) }()
	all, err := runner.Identify(ctx, suite, p, run.BaseURL(), socketPath(given))
	if err != nil {
		return "", "", err
	}
	for _, one := range all {
		fmt.Fprintln(s.Err, printable(steps.Name(one.Protocol)+": "+one.Says))
	}
	found, err := decide(all, given)
	if err != nil {
		return "", "", err
	}
	if found.URL != "" {
		given = found.URL
	}
	return steps.Name(found.Protocol), given, nil
}

// decide returns the protocol that a server speaks: the one that was heard, or, if none was, the one whose default
// place opens; a page alone is not enough.
func decide(all []runner.Suspect, given string) (runner.Suspect, error) {
	var heard, open, page []runner.Suspect
	for _, s := range all {
		switch {
		case s.Speaks:
			heard = append(heard, s)
		case s.Opens && slices.Contains(s.Protocol.Kind().Drivers, target.Browser):
			page = append(page, s)
		case s.Opens:
			open = append(open, s)
		}
	}
	if len(heard) == 0 {
		heard = open
	}
	switch {
	case len(heard) == 1:
		return heard[0], nil
	case len(heard) > 1:
		var names []string
		for _, s := range heard {
			names = append(names, steps.Name(s.Protocol))
		}
		return runner.Suspect{}, usagef("init: %d protocols fit what is at %s (choose one: --protocol %s)", len(names),
			given,
			words.Either(names))
	case len(page) > 0:
		return runner.Suspect{}, &runner.ForeignError{Msg: fmt.Sprintf(
			"nothing at %s speaks a protocol; it serves a page: --protocol %s?", given, steps.Name(page[0].Protocol))}
	}
	mend := "name the protocol by --protocol"
	if !strings.HasPrefix(given, "unix:") {
		mend += ", or give the URL of its WebSocket, such as ws://localhost:3000/path"
	}
	return runner.Suspect{}, &runner.ForeignError{Msg: fmt.Sprintf(
		"no protocol was recognised at %s (is it the right port and base path? if it has its own paths, %s)", given, mend)}
}

// reaching returns a profile that reaches a URL, of the first protocol that takes it and has servers.
func reaching(given string) (*target.Profile, error) {
	var first error
	for _, kind := range suite.Kinds() {
		if kind.ForPage != nil {
			continue
		}
		p, err := kind.ForURL(given)
		if err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// socketPath returns the path of the URL of a WebSocket; "" if it has none, or is not one.
func socketPath(given string) string {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || strings.Trim(u.Path, "/") == "" {
		return ""
	}
	return u.EscapedPath()
}
