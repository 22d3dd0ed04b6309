package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"parley/simulator/console"
	"parley/simulator/counterpart"
	"parley/simulator/proxy"
	"parley/steps"
)

// consoleDoor checks the flags of the console, and returns what serves it; nil without one.
func (o *proxyOptions) consoleDoor() (*simulateOptions, error) {
	if o.console == "" {
		if o.consoleKey != "" {
			return nil, usagef("--console-token: there is no --console")
		}
		return nil, nil
	}
	host, _, err := net.SplitHostPort(o.console)
	switch {
	case err != nil:
		return nil, usagef("--console: %v (write it like 127.0.0.1:8125)", err)
	case !loopback(host) && !o.open && (o.consoleKey == "" || o.cert == ""):
		const mend = "give --console-token, --cert and --key, or say --open"
		return nil, usagef("--console %s: other machines could reach it (%s)", o.console, mend)
	}
	return &simulateOptions{serveOptions: serveOptions{addr: o.console, token: o.consoleKey, cert: o.cert, key: o.key,
		insecure: o.open}}, nil
}

// watched is stand with a console, whose first session shows what passes. It goes the way of parley simulate --to.
func (o proxyOptions) watched(ctx context.Context, opts proxy.Options, bad *faults, s *streams, live *liveView) error {
	door, err := o.consoleDoor()
	if err != nil {
		return err
	}
	b := &between{o: opts}
	b.o.Handle = nil
	name := steps.Name(opts.Protocol)
	c := counterpart.Options{Protocol: name, As: partyBefore(name), TypeOf: typesOf(name)}
	if bad != nil {
		c.Faults = bad.x.Decide
	}
	offers := door.console()
	var passing console.Player
	play := offers.Play
	offers.Play = func(session context.Context, p console.PlayOptions) (_ console.Player, err error) {
		if passing != nil { // somebody has begun another session on the page
			return play(session, p)
		}
		b.found = p.Found
		passing, err = b.play(context.WithoutCancel(ctx), c)
		return watchedPlay{passing}, err
	}
	shown, err := console.New(offers)
	if err != nil {
		return err
	}
	if _, err = shown.OpenPlay(ctx, console.PlayOptions{Protocol: name, As: c.As, To: o.to}); err != nil {
		return o.unstarted(err)
	}
	defer passing.Close()
	var certificate *tls.Certificate
	if opts.TLS != nil {
		certificate = &opts.TLS.Certificates[0]
	}
	page, served, err := door.raise(ctx, "proxy", shown, certificate, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s\n%s\n", passing.URL(), page)
	live.follow(b.stats)
	err = errors.Join(<-served, b.close())
	tellUnjudged(b.stats(), s)
	return err
}

// partyBefore is the party that stands before a server of the protocol.
func partyBefore(protocol string) string {
	for _, p := range bundle.Find(protocol).Parties() {
		if !p.Client {
			return p.As
		}
	}
	return "server"
}

// watchedPlay is the play of a proxy on its page. The end of the session is not the end of the proxy: all passes on.
type watchedPlay struct{ console.Player }

// Close implements console.Player.
func (p watchedPlay) Close() {
	auto := string(counterpart.Auto)
	for typ := range p.State().Types {
		_ = p.SetMind(context.Background(), auto, typ) // auto is always possible
	}
	_ = p.SetMind(context.Background(), auto)
}
