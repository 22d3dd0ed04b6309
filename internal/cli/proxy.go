package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/unixurl"
	"parley/internal/words"
	"parley/reports"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// proxyOptions are the flags of parley proxy.
type proxyOptions struct {
	protocol, profile   string
	listen, to          string
	roles               []string
	out, format         string
	for_                time.Duration
	cert, key, token    string
	open                bool
	link                linkOptions // with the server
	strict, verbose     bool
	noColor             bool
	recording, faults   string
	console, consoleKey string // address, and token
	command             []string
}

func proxyCommand(s *streams) *cobra.Command {
	var o proxyOptions
	c := &cobra.Command{
		Use:   "proxy --to URL | -- COMMAND",
		Short: "Stand between a client and a server, and judge the traffic",
		Long: `Stand between a real client and a real server, pass on every byte, and judge the traffic. The client connects
to the address on the first line of stdout; its requests, event streams and WebSockets go on to --to. With a
command after -- the proxy starts it and stands between it and its own stdin and stdout, line by line.

It judges every clause that observed traffic can decide, of both sides where the protocol has clauses of both,
and says before it starts which these are. A clause passes only if the traffic showed that it is kept. Clauses
that need an act of the harness are not tested. Such results never certify.

With --console it also serves the page of parley simulate, whose URL is the second line: it shows each message with
its judgements, and holds the messages that you choose, so that you can edit, drop, repeat or delay them. With a
command its URL is a line of its own on stderr.

It ends with Ctrl-C, after --for, or with the command, and writes results.json, junit.xml, report.html and the
transcripts to --out, as parley run does. Credentials in requests are redacted there.

Exit codes: 1 a MUST is broken · 0 something was judged, and no MUST is broken · 5 nothing was judged, since
no traffic showed a clause · 2 wrong usage · 3 the address or the command could not be started. With a
command, its own exit code unless that is 0.`,
		Example: `  parley proxy --to http://localhost:3000 --listen 127.0.0.1:3001
  parley proxy --to ws://localhost:3000/chat/ws --protocol PROTOCOL --for 10m
  parley proxy --protocol PROTOCOL -- ./my-server --stdio`,
		Args: func(c *cobra.Command, args []string) error {
			if at := c.ArgsLenAtDash(); at > 0 || at < 0 && len(args) > 0 {
				return usagef("%s takes no arguments, found %q (a command follows --)", c.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.command = args
			if c.ArgsLenAtDash() >= 0 && len(args) == 0 {
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

// declareFlags defines the flags.
func (o *proxyOptions) declareFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "",
		"`PROTOCOL` to judge by (default that of the profile, else "+suite.Kinds()[0].Protocol+")")
	f.StringVar(&o.to, "to", "", "`URL` of the server")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`ADDR` for clients, where port 0 is a free one")
	f.StringSliceVar(&o.roles, "role", nil,
		"`ROLE` to judge; may be repeated (default the first one of each side that the protocol has)")
	f.StringVar(&o.profile, "profile", "",
		"profile `FILE` with the server's names of messages and fields, as for parley run --target")
	f.DurationVar(&o.for_, "for", 0, "end after `TIME`, such as 10m (default at Ctrl-C)")
	f.StringVar(&o.cert, "cert", "", "listen with https: PEM `FILE` of the certificate")
	f.StringVar(&o.key, "key", "", "PEM `FILE` of its key")
	f.StringVar(&o.token, "token", "", "`TOKEN` that every client needs; the server does not see it")
	f.BoolVar(&o.open, "open", false, "let other machines in without --token or TLS")
	o.link.declareBeside(f)
	f.BoolVar(&o.strict, "strict", false, "count a broken SHOULD as a failure")
	f.StringVar(&o.out, "out", "parley-results", "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.StringVar(&o.recording, "record", "", "record the traffic in `FILE`, message by message")
	f.StringVar(&o.faults, "faults", "", "inject the faults in `FILE` into the traffic; clients are then not judged")
	f.StringVar(&o.console, "console", "", "show the traffic on a page at `ADDR`; it can hold and edit messages")
	f.StringVar(&o.consoleKey, "console-token", "", "`TOKEN` that the page needs")
	f.BoolVar(&o.verbose, "verbose", false, "report every failure in full, observations, and clauses that do not apply")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
}

// runProxy passes on and judges until ctx or the time ends.
func (o proxyOptions) runProxy(ctx context.Context, s *streams) error {
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	opts, collect, err := o.checkFlags()
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
	recorded, err := o.recordTraffic(&opts)
	if err != nil {
		return err
	}
	o.announceClauses(opts, collect, s)
	live := newLiveView(s, len(opts.Roles) > 1)
	opts.Found, opts.Event = live.printFinding, live.printEvent
	opts.Ended = addEnded(collect, s)
	if o.for_ > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.for_)
		defer stop()
	}
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
	bad.reportEffects(res, s.Err)
	if err != nil {
		fmt.Fprintf(s.Err, "%s: %v\n", program, err)
		res.Exit = verdict.ExitHarness
	}
	if code != 0 {
		res.Exit = code
	}
	return o.writeReports(asked, res, s)
}

// addEnded adds what has ended to the results, and says once why not all monitors judged a role.
func addEnded(collect *runner.Passive, s *streams) func(proxy.Ended) {
	said := map[[2]string]bool{}
	return func(e proxy.Ended) {
		if about := [2]string{e.Role.Name, e.Partly}; e.Partly != "" && !said[about] {
			said[about] = true
			fmt.Fprintf(s.Err, "%s: of the %s: %s\n", program, e.Role.Name, e.Partly)
		}
		collect.Add(seenTraffic(e))
	}
}

// seenTraffic is traffic that has ended, for the results.
func seenTraffic(e proxy.Ended) runner.Observed {
	return runner.Observed{Role: e.Role.Name, Conn: e.Conn, T: e.T, Judged: e.Judged, Failures: e.Failures,
		Whole: e.Whole, Partly: e.Partly, Duration: e.Duration, Redact: e.Redact}
}

// writeReports writes the reports. The exit code of results.json is one that a run can have.
func (o proxyOptions) writeReports(asked []string, res *reports.Results, s *streams) error {
	code := res.Exit
	if !slices.Contains([]int{0, 1, 2, 3, 4, 5, 130}, code) {
		res.Exit = verdict.ExitConformant
		if res.Verdict == verdict.NonConformant {
			res.Exit = verdict.ExitNonConformant
		}
	}
	ro := runOptions{out: o.out, verbose: o.verbose, noColor: o.noColor}
	if err := ro.writeResults(asked, res, s); err != nil {
		return err
	}
	if code != verdict.ExitConformant {
		return exitError{code}
	}
	return nil
}

// listenUntil listens until ctx ends.
func (o proxyOptions) listenUntil(ctx context.Context, opts proxy.Options, s *streams, live *liveView) error {
	p, err := proxy.Open(opts)
	if err != nil {
		return o.openError(err)
	}
	fmt.Fprintln(s.Out, p.URL())
	live.followTraffic(p.Stats)
	<-ctx.Done()
	err = p.Close()
	tellUnjudged(p.Stats(), s)
	return err
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

// checkFlags checks the flags, and returns what they ask for.
func (o *proxyOptions) checkFlags() (proxy.Options, *runner.Passive, error) {
	var none proxy.Options
	p, profile, err := o.judgedProtocol()
	if err != nil {
		return none, nil, err
	}
	out := proxy.Options{Protocol: p, Profile: profile, Strict: o.strict, Listen: o.listen, To: o.to, Token: o.token}
	if err := o.checkAddresses(&out); err != nil {
		return none, nil, err
	}
	if err := knownRoles(o.roles, []string{steps.Name(p)}); err != nil {
		return none, nil, err
	}
	if slices.Contains(o.roles, everyRole) {
		o.roles = steps.Roles(p)
	}
	if out.Roles, err = proxy.RolesOf(p, o.roles); err != nil {
		return none, nil, usagef("--role: %v", err)
	}
	if o.faults != "" { // what clients get is not what the server has sent
		out.Roles = slices.DeleteFunc(out.Roles, func(r proxy.Role) bool { return r.Side == proxy.Client })
		if len(out.Roles) == 0 {
			return none, nil, usagef("--faults: clients are not judged then (name the --role of a server, or leave it out)")
		}
	}
	var names []string
	for _, r := range out.Roles {
		names = append(names, r.Name)
	}
	collect, err := runner.NewPassive(runner.PassiveOptions{Protocols: suite, Profile: profile, URL: o.to, Roles: names,
		Insecure: out.ToTLS != nil && out.ToTLS.InsecureSkipVerify, Strict: o.strict, Out: o.out,
		Explain: program + " explain", Shown: proxy.EndedBy})
	if _, bad := o.consoleDoor(); bad != nil {
		err = bad
	}
	return out, collect, err
}

// judgedProtocol returns the protocol, and the profile that has the names on the wire.
func (o *proxyOptions) judgedProtocol() (steps.Protocol, *target.Profile, error) {
	if err := knownProtocols(givenList(o.protocol)); err != nil {
		return nil, nil, err
	}
	var profile *target.Profile
	if o.profile != "" {
		var err error
		if profile, err = suite.Kinds().Load(o.profile); err != nil {
			return nil, nil, err
		}
		if o.protocol != "" && o.protocol != profile.Protocol {
			return nil, nil, usagef("--protocol %s: %s speaks %s (leave --protocol out)", o.protocol, o.profile,
				profile.Protocol)
		}
		o.protocol = profile.Protocol
	}
	if o.protocol == "" {
		o.protocol = suite.Kinds()[0].Protocol
	}
	p, err := suite.Find(o.protocol)
	if err != nil {
		return nil, nil, err
	}
	kind := p.Kind()
	if err := o.checkTo(kind); err != nil {
		return nil, nil, err
	}
	if profile == nil {
		profile = kind.New()
		profile.Protocol, profile.Name = o.protocol, "what is behind the proxy"
		if o.to != "" {
			profile.URL, profile.Name = o.to, transcript.MaskURLs(o.to)
			if kind.Locate != nil && !slices.Contains(kind.Drivers, target.Browser) {
				kind.Locate(profile) // a URL may have the path of the socket
			}
			o.to = profile.URL
		} else {
			profile.Name = o.command[0]
		}
	}
	return p, profile, nil
}

// checkTo checks where the traffic goes.
func (o *proxyOptions) checkTo(kind target.Kind) error {
	switch {
	case len(o.command) > 0 && o.to != "":
		return usagef("--to: the traffic goes to a command or to a URL, not to both (leave one out)")
	case len(o.command) > 0 && !slices.Contains(kind.Drivers, target.Stdio):
		return usagef("--: %s is not spoken on stdin and stdout (give --to URL)", o.protocol)
	case len(o.command) > 0:
		for _, f := range []struct{ name, value string }{{"--cert", o.cert}, {"--key", o.key}, {"--token", o.token},
			{o.link.firstGiven(), o.link.firstGiven()}} {
			if f.value != "" {
				return usagef("%s: before a command nobody listens (leave it out)", f.name)
			}
		}
		return nil
	case o.to == "" && slices.Contains(kind.Drivers, target.Stdio):
		return usagef("--to is missing: the URL of the server (or a command after --)")
	case o.to == "":
		return usagef("--to is missing: the URL of the server")
	}
	if unixurl.Is(o.to) {
		if _, _, err := unixurl.Split(o.to); err != nil {
			return usagef("--to: %q is not the URL of a unix socket (write it like unix:///run/server.sock)", o.to)
		}
		return nil
	}
	u, err := url.Parse(o.to)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return usagef("--to: %q is not the URL of a server (write it like http://localhost:3000)", o.to)
	}
	return nil
}

// checkAddresses checks the flags about addresses and TLS.
func (o *proxyOptions) checkAddresses(out *proxy.Options) error {
	if len(o.command) > 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usagef("--listen: %v (write it like 127.0.0.1:8124)", err)
	}
	withTLS := o.cert != "" || o.key != ""
	switch {
	case withTLS && o.cert == "":
		return usagef("--key: there is no --cert")
	case withTLS && o.key == "":
		return usagef("--cert: there is no --key")
	case !isLoopback(host) && !o.open && (o.token == "" || !withTLS):
		return usagef("--listen %s: other machines could reach it (give --token, --cert and --key, or say --open)", o.listen)
	}
	if withTLS {
		pair, err := target.Pair(o.cert, o.key)
		if err != nil {
			return usagef("--%v", err)
		}
		out.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return o.toServer(out)
}

// toServer puts the flags about the connections to the server into the options.
func (o *proxyOptions) toServer(out *proxy.Options) error {
	var err error
	if out.ToTLS, err = o.link.tlsConfig(); err != nil {
		return err
	}
	if out.ToTLS == nil {
		out.ToTLS = out.Profile.TLSConfig()
	}
	for _, text := range o.link.headers {
		if err := addHeader(out.Profile, text); err != nil {
			return err
		}
		name, _, _ := strings.Cut(text, ":")
		if out.Header == nil {
			out.Header = http.Header{}
		}
		out.Header.Set(strings.TrimSpace(name), out.Profile.Headers[strings.TrimSpace(name)])
	}
	return nil
}

// announceClauses says which clauses can be judged.
func (o proxyOptions) announceClauses(opts proxy.Options, collect *runner.Passive, s *streams) {
	for _, r := range opts.Roles {
		judged, not := collect.Judgeable(r.Name)
		what := titleWithRole(o.protocol, r.Name)
		if len(judged) == 0 {
			fmt.Fprintf(s.Err, "%s: judges nothing of the %v: all %d clauses need the harness to act\n", what, r.Side, len(not))
			continue
		}
		fmt.Fprintf(s.Err, "%s: judges %s of the %v (%s); %d need the harness to act\n", what,
			words.Counted(len(judged), "clause"), r.Side, strings.Join(judged, " "), len(not))
	}
}
