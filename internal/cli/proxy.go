package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/target"
)

// proxyOptions are the flags of parley proxy.
type proxyOptions struct {
	judgingOptions
	listen, to          string
	for_                time.Duration
	cert, key, token    string
	remote              bool
	link                linkOptions // with the server
	recording, faults   string
	console, consoleKey string // address, and token
	command             []string
	spans               spansOptions
}

func proxyCommand(s *streams) *cobra.Command {
	var o proxyOptions
	c := &cobra.Command{
		Use:   "proxy TARGET | -- COMMAND",
		Short: "Stand between a client and a server, and judge the traffic",
		Long: `Stand between a real client and a real server, pass on every byte, and judge the traffic. The client connects
to the address on the first line of stdout; its requests, event streams and WebSockets go on to
TARGET, a URL or a profile that has one. With a command after -- the proxy starts it and stands between it and its own
stdin and stdout, line by line.

Details:

It judges every clause that observed traffic can decide, of both sides where the protocol has clauses of both,
and says before it starts how many these are. A clause passes only if the traffic showed that it is kept. Clauses
that need an act of the harness are not tested. Such results never certify.

On a terminal it shows a line for each message with its judgement, and takes keys: ? lists them. They inspect, filter,
pause, hold messages back, copy and export. Elsewhere it prints lines.

With --console it also serves the page of parley simulate, whose URL is the second line: it shows each message with
its judgements, and holds the messages that you choose, so that you can edit, drop, repeat or delay them. With a
command its URL is a line of its own on stderr.

With --otlp-endpoint each exchange is also sent as a span of OpenTelemetry, as docs/recording-format.md says.

It ends with Ctrl-C, after --for, or with the command, and writes results.json, junit.xml, report.html and the
transcripts to --out, as parley run does. Credentials in requests are redacted there.

Exit codes: 1 a MUST is broken · 0 something was judged, and no MUST is broken · 5 nothing was judged, since
no traffic showed a clause · 2 wrong usage · 3 the address or the command could not be started. With a
command, its own exit code unless that is 0.`,
		Example: `  parley proxy http://localhost:3000 --listen 127.0.0.1:3001
  parley proxy ws://localhost:3000/chat/ws --protocol PROTOCOL --for 10m
  parley proxy --protocol PROTOCOL -- ./my-server --stdio`,
		Args: func(c *cobra.Command, args []string) error {
			if at := c.ArgsLenAtDash(); at >= 0 {
				args, o.command = args[:at], args[at:]
			}
			return oneTarget(c, args, &o.to)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if c.ArgsLenAtDash() >= 0 && len(o.command) == 0 {
				return usagef("--: which command? (write it after --)")
			}
			if c.Flags().Changed("for") && o.for_ <= 0 {
				return usagef("--for: %v is no time to listen (give one such as 10m)", o.for_)
			}
			return o.runProxy(c.Context(), s)
		},
	}
	o.declareFlags(c)
	return c
}

// runProxy passes on and judges until ctx or the time ends.
func (o proxyOptions) runProxy(ctx context.Context, s *streams) error {
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	opts, collect, err := o.checkFlags(ctx, s)
	if err != nil {
		return err
	}
	bad, err := o.injectFaults(&opts, s)
	if err == nil {
		err = prepareOut(o.out)
	}
	if err != nil {
		return err
	}
	if len(o.command) > 0 { // stdout belongs to the command
		s = &streams{In: s.In, Out: s.Err, Err: s.Err, OutTTY: s.ErrTTY, ErrTTY: s.ErrTTY, OutWidth: s.ErrWidth,
			ErrWidth: s.ErrWidth, Color: s.Color, pipe: s.Out}
	}
	recorded, sent, err := o.keepTraffic(&opts, s)
	if err != nil {
		return err
	}
	defer sent()
	o.announceClauses(opts.Roles, collect, s.Err)
	live := newLiveView(s, len(opts.Roles) > 1)
	opts.Found, opts.Event = live.printFound, live.printEvent
	live.screen = o.openScreen(&opts, collect, s)
	opts.Ended = addEnded(collect, s)
	ctx, stop := o.untilTime(ctx)
	defer stop()
	code := 0
	switch {
	case o.console != "":
		code, err = o.runWithConsole(ctx, opts, bad, s, live)
	case len(o.command) > 0:
		code, err = o.runPipe(ctx, opts, s, live)
	default:
		err = o.listenUntil(ctx, opts, s, live)
	}
	live.stopLine()
	err = errors.Join(err, recorded())
	var start *target.StartError
	var usage *runner.UsageError
	if errors.As(err, &start) || errors.As(err, &usage) {
		return err
	}
	res := collect.Results()
	noteHeld(res, live.screen)
	bad.reportEffects(res, s.Err)
	if err != nil {
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		res.Exit = verdict.ExitHarness
	}
	o.settle(res, code)
	return o.writeReports(asked, res, s)
}

// keepTraffic has what passes recorded and timed, and sent as spans, if the flags say so. recorded ends the former, and
// sent the latter.
func (o proxyOptions) keepTraffic(opts *proxy.Options, s *streams) (recorded func() error, sent func(), err error) {
	if err = o.spans.checkEndpoint(); err == nil { // before a file is made
		recorded, err = o.recordTraffic(opts)
	}
	if err != nil {
		return nil, nil, err
	}
	if sent, err = o.sendSpans(opts, s); err != nil {
		return nil, nil, errors.Join(err, recorded())
	}
	timed, err := o.watchLimits(opts)
	if err != nil {
		return nil, nil, errors.Join(err, recorded())
	}
	written := recorded
	return func() error { timed(); return written() }, sent, nil
}

// untilTime ends a context when the time of --for is over.
func (o proxyOptions) untilTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.for_ <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, o.for_)
}

// addEnded adds what has ended to the results, and says why not all monitors judged a role.
func addEnded(collect *runner.Passive, s *streams) func(proxy.Ended) {
	tell := tellPartly(s)
	return func(e proxy.Ended) {
		tell(e)
		collect.Add(seenTraffic(e))
	}
}

// tellPartly says once why not all monitors judged a role.
func tellPartly(s *streams) func(proxy.Ended) {
	said := map[[2]string]bool{}
	return func(e proxy.Ended) {
		if about := [2]string{e.Role.Name, e.Partly}; e.Partly != "" && !said[about] {
			said[about] = true
			fmt.Fprintf(s.Err, "%s: of the %s: %s\n", program, e.Role.Name, e.Partly)
		}
	}
}

// seenTraffic is traffic that has ended, for the results.
func seenTraffic(e proxy.Ended) runner.Observed {
	return runner.Observed{Role: e.Role.Name, Conn: e.Conn, T: e.T, Judged: e.Judged, Failures: e.Failures,
		Whole: e.Whole, Partly: e.Partly, Duration: e.Duration, Redact: e.Redact}
}

// listenUntil listens until ctx ends.
func (o proxyOptions) listenUntil(ctx context.Context, opts proxy.Options, s *streams, live *liveView) error {
	p, err := proxy.Open(opts)
	if err != nil {
		return o.openError(err)
	}
	o.announceAddress(opts, p.URL(), s)
	if live.screen != nil {
		err = o.watchScreen(ctx, live.screen, p)
	} else {
		live.followTraffic(p)
		<-ctx.Done()
	}
	err = errors.Join(err, p.Close())
	tellUnjudged(p.Stats(), s)
	return err
}

// announceAddress says where clients connect: the base URL, and what that means in the protocol.
func (o proxyOptions) announceAddress(opts proxy.Options, base string, s *streams) {
	s.printURL("base URL for your clients", base)
	fmt.Fprintf(s.Err, "your clients connect to: %s\n", words.Either(endpointsOf(opts.Protocol, opts.Profile, base)))
}

// openError is the error of a proxy that could not be opened.
func (o proxyOptions) openError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return describeListenError("--listen", o.listen, err)
	}
	return &target.StartError{Command: []string{program, "proxy"}, Reason: "cannot be started", Err: err}
}

// tellUnjudged says how many connections nobody has judged.
func tellUnjudged(stats proxy.Stats, s *streams) {
	if stats.Unjudged > 0 {
		fmt.Fprintf(s.Err, "%s passed, and nobody judged them: they came faster than connections are judged\n",
			words.Counted(int(stats.Unjudged), "connection"))
	}
}

// runPipe stands before a command until it ends.
func (o proxyOptions) runPipe(ctx context.Context, opts proxy.Options, s *streams, live *liveView) (int, error) {
	if opts.Handle != nil {
		return o.runFaultyPipe(ctx, opts, s, live)
	}
	code, err := proxy.Pipe(ctx, opts, o.describeCommand(s))
	return code, o.commandError(err)
}

// describeCommand says which command speaks, and to whom.
func (o proxyOptions) describeCommand(s *streams) proxy.PipeOptions {
	return proxy.PipeOptions{Command: o.command, In: s.In, Out: s.pipe, Err: s.Err}
}

// commandError is the error of a command, which may not be there.
func (o proxyOptions) commandError(err error) error {
	if missing := describeStartError(o.command[0], err); err != nil && missing != nil {
		return missing
	}
	return err
}
