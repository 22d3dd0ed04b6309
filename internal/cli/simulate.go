package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/faultrule"
	"parley/internal/input"
	"parley/internal/jsonform"
	scripting "parley/internal/script"
	"parley/internal/words"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/simulator/console"
)

// simulateOptions are the flags of parley simulate.
type simulateOptions struct {
	serveOptions
	protocol, target string
	faults           string
	play             console.PlayOptions
	open             bool
}

func simulateCommand(s *streams) *cobra.Command {
	var o simulateOptions
	c := &cobra.Command{
		Use:   "simulate [TARGET]",
		Short: "Play any party of a protocol, on a page or over HTTP",
		Long: `Play any party of a protocol. The first line on stdout is the URL of a page, from which sessions are begun:
with a target, in the steps of the features, judged as in a run; or as the other side of your own program. Tests
in any language do the same over HTTP: see /api/v1/openapi.yaml at that URL.

With a target or --protocol a session with that target has begun by then; with --as, a play of that party, and
the second line is the URL where your program reaches it.

  auto     the bundled target answers
  ask      the bundled target answers, and you decide on each of its messages
  script   a script answers: a ready one by its name, or a file of your own
  mutant   the bundled target answers with a fault: parley mutants --list --protocol PROTOCOL lists them

With --upstream your own server answers in place of the bundled one, and ask holds messages in both directions, so that
you can look at them, and edit, drop, repeat or delay them.

It runs until interrupted. With --token every request needs the header "Authorization: Bearer TOKEN"; open the page
with ?token=TOKEN once. An address that other machines can reach requires --token and TLS.

Exit codes: 0 interrupted · 2 wrong usage · 3 the address, the target or the party could not be started.`,
		Example: `  parley simulate --open
  parley simulate http://localhost:3000
  parley simulate --as server --mind ask
  parley simulate --as server --mind ask --upstream http://localhost:3000`,
		Args: func(c *cobra.Command, args []string) error { return oneTarget(c, args, &o.target) },
		RunE: func(c *cobra.Command, _ []string) error {
			o.listening = c.Flags().Changed("console")
			return o.runSimulate(c.Context(), s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "",
		"`PROTOCOL` of the target or the party (default that of the party, or "+suite.Kinds()[0].Protocol+")")
	f.StringVar(&o.target, "target", "", "`TARGET` of a session that begins at once: a URL, or the file of a profile")
	f.StringVar(&o.play.As, "as", "", "`PARTY` to play for your program, such as server")
	f.StringVar(&o.play.Mind, "mind", "",
		"who decides for the party: `MIND` is auto, ask, script or mutant (default as the other flags imply, or auto)")
	f.StringVar(&o.play.Mutant, "mutant", "", "give the party the fault `NAME`")
	f.StringVar(&o.play.Script, "script", "", "`NAME|FILE` of the script that the party follows")
	f.StringVar(&o.play.Listen, "listen", "",
		"`ADDR` where the party listens (default 127.0.0.1:0, where 0 is a free port)")
	f.StringVar(&o.play.Connect, "connect", "", "`URL` of your program, for a party that connects to it")
	f.StringVar(&o.play.To, "upstream", "",
		"`URL` of your own server, which answers in place of the bundled one; ask then holds both directions")
	f.StringVar(&o.faults, "faults", "", "`FILE` of faults of what passes between your program and the party")
	f.StringVar(&o.addr, "console", "127.0.0.1:0", "`ADDR` of the page and the API")
	f.StringVar(&o.token, "token", "", "`TOKEN` that every request needs")
	f.StringVar(&o.cert, "tls-cert", "", "serve https: PEM `FILE` of the certificate")
	f.StringVar(&o.key, "tls-key", "", "PEM `FILE` of its key")
	f.BoolVar(&o.remote, "allow-remote", false, "let other machines in without --token or TLS")
	f.BoolVar(&o.open, "open", false, "open the page in the browser")
	return c
}

// runSimulate serves the console until ctx ends.
func (o simulateOptions) runSimulate(ctx context.Context, s *streams) error {
	certificate, err := o.vetFlags(s)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	offers := o.consoleOptions()
	offers.Warn = func(text string) { fmt.Fprintf(s.Err, "%s: %s\n", program, text) }
	c, err := console.New(offers)
	if err != nil {
		return err
	}
	page, served, err := o.serveConsole(ctx, c, certificate, s)
	if err != nil {
		return err
	}
	at, err := o.beginSessions(ctx, c, s)
	if err != nil {
		interrupted := ctx.Err() != nil // which is how it ends, however early
		stop()
		if ended := <-served; interrupted {
			return ended
		}
		return err
	}
	s.printURL("page", page)
	if at != "" {
		s.printURL("base URL of the "+o.play.As, at)
	}
	if o.open {
		if err := openPage(page, o.token); err != nil {
			fmt.Fprintf(s.Err, "%s: the browser cannot be opened (open %s): %v\n", program, page, err)
		}
	}
	err = <-served
	o.reportPlays(c, s)
	return err
}

// reportPlays says at the end what the plays have found, and what their faults have done.
func (o simulateOptions) reportPlays(c *console.Console, s *streams) {
	for _, p := range c.Plays() {
		file := "faults"
		if p.Session.As == o.play.As && o.faults != "" {
			file = filepath.ToSlash(o.faults)
		}
		for _, f := range p.Faults {
			fmt.Fprintln(s.Err, reports.Fault{File: file, Line: f.Line, Name: f.Name, Met: f.Met, Fired: f.Fired}.Text())
		}
		if p.Session.Unjudged != "" {
			continue
		}
		for _, f := range p.Findings {
			fmt.Fprintf(s.Err, "%s %s: %s\n", f.Outcome, f.Clause, cut.Line(f.Observed, 200))
		}
		fmt.Fprintf(s.Err, "%s: session %s: %s in %s\n", program, p.Session.ID, words.Counted(len(p.Findings), "finding"),
			words.Counted(p.Session.Records, "record"))
	}
}

// serveConsole serves a console until ctx ends. It returns the URL of its page, and a channel that gets the error of
// serving, once all sessions have ended. If it cannot, it ends the sessions.
func (o simulateOptions) serveConsole(ctx context.Context, c *console.Console, certificate *tls.Certificate,
	s *streams) (page string, served <-chan error, err error) {
	listener, err := listenAt("--console", o.addr)
	if err != nil {
		c.Close()
		return "", nil, err
	}
	page = "http://" + listener.Addr().String()
	if certificate != nil {
		page, listener = "https://"+listener.Addr().String(), secureListener(listener, *certificate)
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	server := &http.Server{Handler: o.requireToken(c, listener.Addr(), certificate != nil),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	over := make(chan error, 1)
	go func() { over <- serveUntil(ctx, server, listener, launched{c}) }()
	return page, over, nil
}

// vetFlags checks the flags, and loads the certificate; nil without one.
func (o *simulateOptions) vetFlags(s *streams) (*tls.Certificate, error) {
	if o.play.As == "" {
		for _, f := range []struct{ name, value string }{{"--mind", o.play.Mind}, {"--mutant", o.play.Mutant},
			{"--script", o.play.Script}, {"--listen", o.play.Listen}, {"--connect", o.play.Connect},
			{"--upstream", o.play.To}, {"--faults", o.faults}} {
			if f.value != "" {
				return nil, usagef("%s: of which party? (name it by --as)", f.name)
			}
		}
	}
	if err := knownProtocols(givenList(o.protocol)); err != nil {
		return nil, err
	}
	if o.play.Protocol = o.protocol; o.play.As != "" && o.protocol == "" {
		o.play.Protocol = protocolOfParty(o.play.As)
	}
	if err := o.readFiles(s); err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(o.play.Listen); o.play.Listen != "" {
		switch {
		case err != nil:
			return nil, usagef("--listen: %v (write it like 127.0.0.1:9000)", err)
		case !isLoopback(host) && !o.remote:
			return nil, usagef("--listen %s: other machines could reach it (say --allow-remote if they may)", o.play.Listen)
		}
	}
	return o.checkFlags("--console", "", false)
}

// protocolOfParty is the protocol whose party is meant where none is named: the first of the suite that has it, or else
// the first.
func protocolOfParty(as string) string {
	for _, kind := range suite.Kinds() {
		if slices.Contains(partiesOf(kind.Protocol), as) {
			return kind.Protocol
		}
	}
	return suite.Kinds()[0].Protocol
}

// maxScript is the size of the largest script that is read.
const maxScript = 1 << 20

// readFiles replaces the names of files in the options of a play by their texts, and checks these.
func (o *simulateOptions) readFiles(s *streams) error {
	if o.faults != "" {
		text, err := input.Read(o.faults, maxFaults)
		if err != nil {
			return usagef("--faults: %v", err)
		}
		set, err := faultrule.Parse(filepath.ToSlash(o.faults), text)
		if err != nil {
			return &mistakenFile{err}
		}
		if o.play.As != model {
			warnOfFaults(s.Err, set, filepath.ToSlash(o.faults), o.play.Protocol)
		}
		o.play.Faults = string(text)
	}
	if !isScriptFile(o.play.Script) { // the name of a ready script, or none
		return nil
	}
	text, err := input.Read(o.play.Script, maxScript)
	if err != nil {
		return usagef("--script: %v", err)
	}
	read, err := scripting.Parse(filepath.ToSlash(o.play.Script), text)
	if err == nil {
		err = read.Plays(o.play.Protocol, o.play.As)
	}
	if err != nil {
		return &mistakenFile{err}
	}
	o.play.Script = string(text) + "\n" // a text is told from a name by its line end
	return nil
}

// isScriptFile reports whether the value of --script is a file, not the name of a ready script: a path, the name of a
// YAML file, or a file that exists.
func isScriptFile(name string) bool {
	if name == "" {
		return false
	}
	if ext := filepath.Ext(name); strings.ContainsAny(name, `/\`) || ext == ".yaml" || ext == ".yml" {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// beginSessions begins the sessions that the flags ask for, and returns where the party is reached; "" for none.
func (o simulateOptions) beginSessions(ctx context.Context, c *console.Console, s *streams) (at string, err error) {
	if err := (linkOptions{}).nameOneProtocol(ctx, &o.target, &o.protocol, s); err != nil {
		return "", sessionError(ctx, err, s)
	}
	if o.target != "" || o.protocol != "" && o.play.As == "" {
		if _, err := c.OpenTest(ctx, console.TestOptions{Protocol: o.protocol, Target: o.target}); err != nil {
			return "", sessionError(ctx, err, s)
		}
	}
	if o.play.As == "" {
		return "", nil
	}
	play, err := c.OpenPlay(ctx, o.play)
	if err != nil {
		return "", sessionError(ctx, err, s)
	}
	fmt.Fprintf(s.Err, "%s: %s\n", program, describeJudges(play, o.play.To != ""))
	if len(play.Endpoints) > 0 {
		fmt.Fprintf(s.Err, "your program connects to: %s\n", words.Either(play.Endpoints))
	}
	return play.URL, nil
}

// describeJudges says by what the program of a play is judged, and with between the server behind it.
func describeJudges(play console.Session, between bool) string {
	switch {
	case play.Unjudged != "":
		return "your program is not judged: " + play.Unjudged
	case between:
		return fmt.Sprintf("your program and your server are judged by what they send (%s), on %d clauses", play.Role,
			play.Judges)
	}
	return fmt.Sprintf("your program is judged as %s by what it sends, on %d clauses", play.Role, play.Judges)
}

// sessionError gives the error of a session that could not begin its exit code.
func sessionError(ctx context.Context, err error, s *streams) error {
	var usage *runner.UsageError
	if known := exitCode(err); errors.As(err, &usage) || ctx.Err() != nil || known != verdict.ExitHarness {
		return err
	}
	if refused, ok := errors.AsType[*console.Error](err); ok {
		return usagef("simulate: %s", refused.Text)
	}
	fmt.Fprintf(s.Err, "%s: %v\n", program, err)
	return exitError{verdict.ExitUnreachable}
}

// requireToken lets in who has the token, if there is one.
func (o simulateOptions) requireToken(c *console.Console, at net.Addr, secure bool) http.Handler {
	refuse := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_ = jsonform.WriteLine(w, map[string]string{"error": text}, jsonform.Escaped)
	}
	return rememberToken(o.token, at, secure, guardWith(o.token, c, refuse))
}

// launched is a console as serveUntil ends it.
type launched struct{ *console.Console }

var _ launch.Handler = launched{}

// Close implements launch.Handler: it waits for the sessions until ctx ends.
func (l launched) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Console.Close()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openPage opens a page in the user's browser.
func openPage(page, token string) error {
	if token != "" {
		page += "/?token=" + url.QueryEscape(token)
	}
	args := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if args == nil {
		args = []string{"xdg-open"}
	}
	command := exec.Command(args[0], append(args[1:], page)...)
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }()
	return nil
}

// serverNames returns the names by which a server at an address may be called: that of the address and, if other
// machines reach it, that of this one.
func serverNames(addr string) []string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || isLoopback(host) {
		return nil
	}
	own, err := os.Hostname()
	if err != nil {
		return []string{host}
	}
	return []string{host, own}
}
