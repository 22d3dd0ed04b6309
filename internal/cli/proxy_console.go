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
	"parley/transport/transcript"
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

// watched is stand, or pipe, with a console, whose first session shows what passes. It goes the way of parley simulate
// --to: a command is reached as a WebSocket server. The exit code is that of a command.
func (o proxyOptions) watched(ctx context.Context, opts proxy.Options, bad *faults, s *streams,
	live *liveView) (code int, err error) {
	door, err := o.consoleDoor()
	if err != nil {
		return 0, err
	}
	command, end, err := o.wire(&opts, s)
	if err != nil {
		return 0, err
	}
	defer end()
	b := &between{o: opts}
	b.o.Handle = nil
	name := steps.Name(opts.Protocol)
	c := counterpart.Options{Protocol: name, As: partyBefore(name), TypeOf: typesOf(name)}
	if bad != nil {
		c.Faults = bad.x
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
		return 0, err
	}
	if _, err = shown.OpenPlay(ctx, console.PlayOptions{Protocol: name, As: c.As, To: o.to}); err != nil {
		return 0, o.unstarted(err)
	}
	defer passing.Close()
	var certificate *tls.Certificate
	if opts.TLS != nil {
		certificate = &opts.TLS.Certificates[0]
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	page, served, err := door.raise(ctx, shown, certificate, s)
	if err != nil {
		return 0, err
	}
	live.follow(b.stats)
	if command == nil {
		fmt.Fprintf(s.Out, "%s\n%s\n", passing.URL(), page)
	} else {
		fmt.Fprintln(s.Out, page)
		code, err = command.Run(ctx, passing.URL())
		stop()
	}
	err = errors.Join(err, <-served, b.close())
	tellUnjudged(b.stats(), s)
	return code, err
}

// wire starts the command, if there is one, as the server to which the traffic goes; nil otherwise.
func (o *proxyOptions) wire(opts *proxy.Options, s *streams) (w *proxy.Wired, end func(), err error) {
	if len(o.command) == 0 {
		return nil, func() {}, nil
	}
	if w, err = proxy.Wire(o.speaking(s)); err != nil {
		return nil, nil, o.unfound(err)
	}
	o.to = w.URL()
	opts.To, opts.Record = o.to, overPipe(w, opts.Record)
	return w, w.Kill, nil
}

// overPipe has records kept as those of a command's stdin and stdout: the WebSocket is the proxy's own affair.
func overPipe(w *proxy.Wired,
	keep func(transcript.Record, *transcript.Redactor)) func(transcript.Record, *transcript.Redactor) {
	if keep == nil {
		return nil
	}
	return func(r transcript.Record, redact *transcript.Redactor) {
		switch {
		case r.Kind == transcript.Open && r.Dir == transcript.Sent:
			r.Label, r.Bytes = overStdio, nil
		case r.Kind == transcript.Open:
			r.Label, r.Status, r.Bytes = "a new process", 0, nil
		case r.Kind == transcript.Closed:
			r.Dir, r.Status, r.Label = transcript.Received, 0, w.Ended("the target ended")
		}
		if r.Kind != transcript.Comment { // pings
			keep(r, redact)
		}
	}
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
