package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/cut"
	"parley/simulator/console"
	"parley/simulator/counterpart"
	"parley/simulator/proxy"
	"parley/simulator/trafficview"
	"parley/steps"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// liveView shows what passes: findings and connections in lines and, on a terminal, one line that counts. It is safe
// for concurrent use.
type liveView struct {
	s      *streams
	roles  bool              // there are several
	screen *trafficview.View // shows the traffic instead; nil: nothing does
	done   chan struct{}
	work   sync.WaitGroup

	mu    sync.Mutex
	shown bool // the counting line is there
	told  int  // connections that were printed
}

// maxTold bounds the connections that are printed; all are counted.
const maxTold = 1000

func newLiveView(s *streams, roles bool) *liveView {
	return &liveView{s: s, roles: roles, done: make(chan struct{})}
}

// printLine prints a line above the counting one.
func (v *liveView) printLine(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clearLine()
	fmt.Fprintln(v.s.Err, text)
}

func (v *liveView) clearLine() {
	if v.shown {
		fmt.Fprint(v.s.Err, "\r\x1b[K")
		v.shown = false
	}
}

// printFound prints a finding in what passes.
func (v *liveView) printFound(f proxy.Found) { v.printFinding("", f) }

// printFinding prints a finding, behind where it is.
func (v *liveView) printFinding(where string, f proxy.Found) {
	what := f.Clause
	if v.roles {
		what += " (" + f.Role + ")"
	}
	v.printLine(strings.TrimSpace(fmt.Sprintf("%s%s %s: %s", where, f.Outcome, what,
		cut.Head(strings.Join(strings.Fields(f.Observed), " "), 200))))
}

// printEvent prints that a connection opens or ends.
func (v *liveView) printEvent(e proxy.Event) {
	v.mu.Lock()
	v.told++
	told := v.told
	v.mu.Unlock()
	switch {
	case v.s.ErrTTY || told > maxTold: // the counting line has it
	case e.Open:
		v.printLine(fmt.Sprintf("%s opens: %s", e.Conn, withoutQuery(e.Text)))
	default:
		v.printLine(fmt.Sprintf("%s ended: %s", e.Conn, cut.Head(e.Text, 100)))
	}
}

// withoutQuery returns a request without its query, which may have secrets.
func withoutQuery(text string) string {
	head, rest, found := strings.Cut(text, "?")
	if _, kind, more := strings.Cut(rest, " "); found && more {
		return head + " " + kind
	}
	return head
}

// followTraffic shows on a terminal what has passed, and what is owed the longest, every second.
func (v *liveView) followTraffic(traffic trafficview.Traffic) {
	if !v.s.ErrTTY {
		return
	}
	v.work.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		before := int64(0)
		for {
			select {
			case <-v.done:
				return
			case <-tick.C:
			}
			now := traffic.Stats()
			text := fmt.Sprintf("%d open of %d connections · %d messages, %d/s · %d findings", now.Open, now.Conns,
				now.Messages, now.Messages-before, now.Broken)
			before = now.Messages
			if owed, count := traffic.Owed(); count > 0 {
				text += fmt.Sprintf(" · %d owed: %s", count, trafficview.DebtLine(owed[0], time.Now()))
			}
			v.showCount(text)
		}
	})
}

// showCount shows a text as the counting line, on a terminal.
func (v *liveView) showCount(text string) {
	if !v.s.ErrTTY {
		return
	}
	if v.s.ErrWidth > 1 {
		text = cut.Head(text, v.s.ErrWidth-1)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clearLine()
	fmt.Fprint(v.s.Err, text)
	v.shown = true
}

// clearCount clears the counting line.
func (v *liveView) clearCount() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clearLine()
}

// stopLine ends the counting line.
func (v *liveView) stopLine() {
	close(v.done)
	v.work.Wait()
	v.clearCount()
}

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
	case !isLoopback(host) && !o.remote && (o.consoleKey == "" || o.cert == ""):
		const mend = "give --console-token, --tls-cert and --tls-key, or say --allow-remote"
		return nil, usagef("--console %s: other machines could reach it (%s)", o.console, mend)
	}
	return &simulateOptions{serveOptions: serveOptions{addr: o.console, token: o.consoleKey, cert: o.cert, key: o.key,
		remote: o.remote}}, nil
}

// runWithConsole is stand, or pipe, with a console, whose first session shows what passes. It goes the way of parley
// simulate --upstream: a command is reached as a WebSocket server. The exit code is that of a command.
func (o proxyOptions) runWithConsole(ctx context.Context, opts proxy.Options, bad *faults, s *streams,
	live *liveView) (code int, err error) {
	door, err := o.consoleDoor()
	if err != nil {
		return 0, err
	}
	command, end, err := o.startCommand(&opts, s)
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
	offers := door.consoleOptions()
	var passing console.Player
	play := offers.Play
	offers.Play = func(session context.Context, p console.PlayOptions) (_ console.Player, err error) {
		if passing != nil { // somebody has begun another session on the page
			return play(session, p)
		}
		b.found = p.Found
		passing, err = b.openPlay(context.WithoutCancel(ctx), c)
		return watchedPlay{passing}, err
	}
	shown, err := console.New(offers)
	if err != nil {
		return 0, err
	}
	if _, err = shown.OpenPlay(ctx, console.PlayOptions{Protocol: name, As: c.As, To: o.to}); err != nil {
		return 0, o.openError(err)
	}
	defer passing.Close()
	var certificate *tls.Certificate
	if opts.TLS != nil {
		certificate = &opts.TLS.Certificates[0]
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	page, served, err := door.serveConsole(ctx, shown, certificate, s)
	if err != nil {
		return 0, err
	}
	live.followTraffic(b)
	if command == nil {
		o.announceAddress(opts, passing.URL(), s)
		s.printURL("page", page)
	} else {
		s.printURL("page", page)
		code, err = command.Run(ctx, passing.URL())
		stop()
	}
	err = errors.Join(err, <-served, b.closeAll())
	tellUnjudged(b.Stats(), s)
	return code, err
}

// startCommand starts the command, if there is one, as the server to which the traffic goes; nil otherwise.
func (o *proxyOptions) startCommand(opts *proxy.Options, s *streams) (w *proxy.CommandSocket, end func(), err error) {
	if len(o.command) == 0 {
		return nil, func() {}, nil
	}
	if w, err = proxy.StartCommandSocket(o.describeCommand(s)); err != nil {
		return nil, nil, o.commandError(err)
	}
	o.to = w.URL()
	opts.To, opts.Record = o.to, overPipe(w, opts.Record)
	return w, w.Kill, nil
}

// overPipe has records kept as those of a command's stdin and stdout: the WebSocket is the proxy's own affair.
func overPipe(w *proxy.CommandSocket,
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

// injectFaults has the faults of --faults happen to what passes; nil if there are none.
func (o proxyOptions) injectFaults(opts *proxy.Options, s *streams) (*faults, error) {
	if o.faults == "" {
		return nil, nil
	}
	f, err := readFaults(o.faults, o.protocol)
	if err != nil {
		return nil, err
	}
	if len(o.command) > 0 {
		if err := f.set.OverPipe(f.file); err != nil {
			return nil, usagef("%v", err)
		}
	}
	warnOfFaults(s.Err, f.set, f.file, o.protocol)
	opts.Handle = f.x.Handle
	return f, nil
}

// runFaultyPipe is pipe with faults. The command is reached as a WebSocket server, so that what changes messages
// between sockets stands before it. The exit code is that of the command.
func (o proxyOptions) runFaultyPipe(ctx context.Context, opts proxy.Options, s *streams,
	live *liveView) (code int, err error) {
	command, end, err := o.startCommand(&opts, s)
	if err != nil {
		return 0, err
	}
	defer end()
	opts.Listen = "127.0.0.1:0"
	p, err := proxy.Open(opts)
	if err != nil {
		return 0, o.openError(err)
	}
	live.followTraffic(p)
	code, err = command.Run(ctx, strings.Replace(p.URL(), "http", "ws", 1))
	return code, errors.Join(err, p.Close())
}

// recordTraffic has what passes written to --record, each message at once, so that a killed proxy leaves a recording
// too. The returned function ends it, and returns the first error.
func (o proxyOptions) recordTraffic(opts *proxy.Options) (end func() error, err error) {
	if o.recording == "" {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(o.recording, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, usagef("--record: %s exists (name another file)", o.recording)
	}
	if err != nil {
		return nil, usagef("--record: %v", err)
	}
	h := recording.Header{Protocol: steps.Name(opts.Protocol), URL: o.to, Began: time.Now(),
		By: program + " " + suite.Version, Redacted: true}
	recorded := opts.Roles
	if server := (&between{o: *opts}).judgedRoles(proxy.Server); o.console != "" && len(server) > 0 {
		recorded = server // what the client got may be something else
	}
	if first, err := proxy.RolesOf(opts.Protocol, nil); err == nil &&
		!slices.Equal(roleNames(first), roleNames(recorded)) {
		h.Role = strings.Join(roleNames(recorded), ", ") // a recording of the first of each side names none
	}
	if len(o.command) > 0 {
		h.Driver = overStdio // which a replay starts a process for
	}
	w, err := recording.NewWriter(f, h, nil)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	opts.Record = func(r transcript.Record, redact *transcript.Redactor) {
		r.Bytes, r.Label, r.Type = redact.Bytes(r.Bytes), redact.String(r.Label), redact.String(r.Type)
		err = errors.Join(err, w.Add(r))
	}
	return func() error { return errors.Join(err, f.Close()) }, nil
}
