package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// findProtocol looks at a server for the protocol that it speaks, prints a line about each, and returns the protocol
// and the URL to probe. If no protocol fits, or several do, that is an error.
func (l linkOptions) findProtocol(ctx context.Context, given string, s *streams) (protocol, at string, err error) {
	all, err := l.identify(ctx, given)
	if err != nil {
		return "", "", err
	}
	for _, one := range all {
		fmt.Fprintln(s.Err, escapeControl(steps.Name(one.Protocol)+": "+one.Says))
	}
	found, err := decideProtocol(all, given)
	if err != nil {
		return "", "", err
	}
	return steps.Name(found.Protocol), cmp.Or(found.URL, given), nil
}

// nameProtocol returns the protocol by which to judge a URL for which none is named: the one that its server speaks. A
// line on stderr says so if it is not the first of the suite. Several that fit are an error. If none can be told, as
// the server refuses or does not answer, it is the first, with which a command then says what it meets there.
func (l linkOptions) nameProtocol(ctx context.Context, target *string, protocols []string, s *streams) ([]string,
	error) {
	given := asURL(*target)
	if _, isPage := suite.Kinds().OfPage(given); len(protocols) > 0 || isPage || len(suite.All) == 1 ||
		!strings.Contains(given, "://") {
		return protocols, nil
	}
	all, err := l.identify(ctx, given)
	if err != nil {
		return nil, interruptedOr(ctx, nil)
	}
	found, err := decideProtocol(all, given)
	var several *runner.UsageError
	switch {
	case errors.As(err, &several):
		return nil, err
	case err != nil:
		return protocols, nil
	}
	name := steps.Name(found.Protocol)
	if name != suite.Kinds()[0].Protocol {
		fmt.Fprintf(s.Err, "%s: judged as %s, which %s speaks (--protocol names another)\n", program, name,
			transcript.MaskURLs(given))
	}
	*target = cmp.Or(found.URL, given)
	return []string{name}, nil
}

// nameOneProtocol is nameProtocol for a command with one --protocol.
func (l linkOptions) nameOneProtocol(ctx context.Context, target, protocol *string, s *streams) error {
	found, err := l.nameProtocol(ctx, target, givenList(*protocol), s)
	if err == nil && len(found) > 0 {
		*protocol = found[0]
	}
	return err
}

// identify looks at a server for every protocol of the suite.
func (l linkOptions) identify(ctx context.Context, given string) ([]runner.Suspect, error) {
	p, err := profileReaching(given)
	if err != nil {
		return nil, err
	}
	if err := l.applyTo(p); err != nil {
		return nil, err
	}
	run, err := target.NewLauncher(p).Launch(ctx, target.LaunchOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = run.Stop(context.WithoutCancel(ctx)) }()
	return runner.Identify(ctx, suite, p, run.BaseURL(), socketPath(given))
}

// decideProtocol returns the protocol that a server speaks: the one that was heard, or, if none was, the one whose
// default place opens; a page alone is not enough.
func decideProtocol(all []runner.Suspect, given string) (runner.Suspect, error) {
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
		return runner.Suspect{}, usagef("%d protocols fit what is at %s (choose one: --protocol %s)", len(names),
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

// profileReaching returns a profile that reaches a URL, of the first protocol that takes it and has servers.
func profileReaching(given string) (*target.Profile, error) {
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
