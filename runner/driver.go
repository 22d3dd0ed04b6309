package runner

import (
	"fmt"

	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
)

// kept is a driver that stays open after the run.
type kept struct{ driver.Driver }

func (kept) Close() error { return nil }

func newDriver(name string, protocol steps.Protocol, o Options) (closingDriver, error) {
	switch name {
	case sse.Name:
		return sse.NewTLS(o.Profile.TLSConfig()), nil
	case ws.Name:
		return overWS(protocol, o.Profile), nil
	case stdio.Name:
		return stdio.New(), nil
	case browser.Name:
		if o.Browser != nil {
			return kept{o.Browser}, nil
		}
		return browser.New(browserOptions(o.Profile)), nil
	case r3labs.Name:
		return r3labs.NewTLS(o.Profile.TLSConfig()), nil
	}
	return nil, &UsageError{Msg: fmt.Sprintf("driver %q is unknown; known: sse, ws, stdio, browser, r3labs, all", name)}
}

// overWS returns the WebSocket driver for the target of a profile.
func overWS(protocol steps.Protocol, p *target.Profile) *ws.Driver {
	d := ws.New(protocol.Subprotocols(p)...)
	d.TLS = p.TLSConfig()
	return d
}

// browserOptions returns the options of the browser for the page of a profile.
func browserOptions(p *target.Profile) browser.Options {
	return browser.Options{Command: p.Reach().Browser, TLS: p.TLSConfig(), Header: p.Header()}
}

// environment returns what the scenarios over a driver share.
func (r *run) environment(d *driverRun) *steps.Env {
	env := &steps.Env{Profile: r.o.Profile, Role: r.role, Driver: d.d, Ledger: r.ledger, Brain: r.brain,
		Strict: r.o.Strict, Redact: r.redact, Person: r.o.Person}
	if r.pages != nil {
		env.Pages = r.pages
	}
	return env
}
