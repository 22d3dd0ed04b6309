package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/runner"
	"parley/simulator/load"
	"parley/steps"
	"parley/target"
)

// loadOptions are the flags of parley load.
type loadOptions struct {
	target, protocol, role, driver, shape string
	sessions                              int
	duration, timeout                     time.Duration
	rate, opening                         float64
	p50, p99, p999                        time.Duration
	errors                                string
	out, format                           string
	strict, verbose, noColor              bool
	link                                  linkOptions
	spans                                 spansOptions

	spread  func(o *load.Options, tell func(line string)) (end func(), err error) // over workers; nil: one process
	workers int                                                                   // asked for in vain
}

func loadCommand(s *streams) *cobra.Command {
	o := &loadOptions{}
	c := loadCommandOf(o, s)
	o.spans.declareFlags(c.Flags())
	c.Flags().IntVar(&o.workers, "workers", 0, "")
	_ = c.Flags().MarkHidden("workers")
	return c
}

// loadCommandOf makes the command that reads o.
func loadCommandOf(o *loadOptions, s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "load [TARGET]",
		Short: "Put a server under the load of many sessions, and judge every message",
		Long: `Put a server under the load of many sessions, and judge every message that arrives: that it belongs to its
session, comes in order and once, and that nothing is lost, beside all that parley proxy judges. TARGET is what
--target names; without one it is the bundled server of --protocol, started as a process of its own.

Details:

--sessions connections are opened and held. Then acts arrive, --rate per second over all sessions, for --duration:
switches, chats, interrupts, tool calls, reconnects. Their times are fixed in advance. An act that is due while its
session is busy waits, and its latency counts from the time at which it was due.

--shape says how the rate changes: soak holds it, ramp raises it from 0, step raises it in five equal steps, each with
figures of its own. A threshold that is exceeded fails the load: --p50, --p99, --p999, and --errors, which is 0 unless
you allow more.

With --otlp-endpoint each exchange is also sent as a span of OpenTelemetry, as docs/recording-format.md says.

The target must be on this machine. results.json has the figures as "load", beside the clauses; such results never
certify.

Exit codes: 0 nothing broken, and all thresholds kept · 1 a MUST is broken, or a threshold exceeded · 2 wrong usage ·
3 no session could be opened · 5 not everything could be judged.

parley-load, a program of its own, spreads a load over several processes.`,
		Example: `  parley load --protocol PROTOCOL --sessions 1000 --duration 30s --rate 500
  parley load --target my.yaml --sessions 200 --shape step --p99 50ms
  parley load localhost:3000 --driver ws --sessions 500 --errors 1%
  parley load --protocol PROTOCOL --role ROLE --sessions 500`,
		Args: func(c *cobra.Command, args []string) error { return oneTarget(c, args, &o.target) },
		RunE: func(c *cobra.Command, _ []string) error { return o.runLoad(c.Context(), s) },
	}
	o.declareFlags(c.Flags())
	return c
}

// declareFlags defines the flags.
func (o *loadOptions) declareFlags(f *pflag.FlagSet) {
	f.StringVar(&o.target, "target", "", "profile `FILE|URL` of the server (default the bundled one)")
	f.StringVar(&o.protocol, "protocol", "",
		"`PROTOCOL` to judge by (default that of the profile, or of what the URL speaks)")
	f.StringVar(&o.role, "role", "", "`ROLE` of the target (default that of the profile, or the first of the protocol)")
	f.StringVar(&o.driver, "driver", "", "`DRIVER` of the sessions: sse or ws (default the first of the target)")
	f.IntVar(&o.sessions, "sessions", 100, "hold `N` sessions")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "begin acts for `TIME`, once all sessions are open")
	f.Float64Var(&o.rate, "rate", 0,
		"begin `R` acts per second over all sessions (default one per session every 5s)")
	f.Float64Var(&o.opening, "open-rate", 0, "open `R` sessions per second (default 1000)")
	f.StringVar(&o.shape, "shape", string(load.Soak), "`SHAPE` of the rate: ramp, step or soak")
	f.DurationVar(&o.timeout, "timeout", 0, "an act without an answer has failed after `TIME` (default 10s)")
	f.DurationVar(&o.p50, "p50", 0, "fail if half of the acts take longer than `TIME`")
	f.DurationVar(&o.p99, "p99", 0, "fail if 1 % of the acts take longer than `TIME`")
	f.DurationVar(&o.p999, "p999", 0, "fail if 0.1 % of the acts take longer than `TIME`")
	f.StringVar(&o.errors, "errors", "0", "fail if more than `N` acts fail, or N% of them")
	f.BoolVar(&o.strict, "strict", false, "count a broken SHOULD as a failure")
	f.StringVar(&o.out, "out", "parley-results/load", "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print a line every second, and every failure in full")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	o.link.declareFlags(f)
}

// runLoad carries out the load, and writes the results.
func (o loadOptions) runLoad(ctx context.Context, s *streams) error {
	if o.workers > 0 {
		return usagef("--workers: a load of several processes is that of parley-load, a program of its own (parley-load "+
			"--workers %d, with the same flags)", o.workers)
	}
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	if err := o.link.nameOneProtocol(ctx, &o.target, &o.protocol, s); err != nil {
		return err
	}
	lo, err := o.checkFlags()
	if err != nil {
		return err
	}
	if o.out == "" {
		return usagef("--out: no folder (name one, such as parley-results)")
	}
	if err := prepareOut(o.out); err != nil {
		return err
	}
	if o.spread == nil { // its workers judge
		sent, err := o.sendSpans(&lo, s)
		if err != nil {
			return err
		}
		defer sent()
	}
	live := &loadView{s: s, each: o.verbose}
	lo.Progress, lo.Found = live.showProgress, live.printFinding
	if o.spread != nil {
		end, err := o.spread(&lo, live.printLine)
		if err != nil {
			return err
		}
		defer end()
	}
	res, err := load.Run(ctx, lo)
	live.clearLine()
	if unreachable, ok := errors.AsType[*steps.UnreachableError](err); ok {
		return whyUnreachable(ctx, lo.Profile, unreachable)
	}
	if err != nil {
		return nameFlag(err)
	}
	ro := runOptions{out: o.out, verbose: o.verbose, noColor: o.noColor}
	if err := ro.writeResults(asked, res, s); err != nil {
		return err
	}
	if res.Exit != verdict.ExitConformant {
		return exitError{res.Exit}
	}
	return nil
}

// whyUnreachable is the error of a load of which no session got ready: what answers at the URL, if it is something
// else.
func whyUnreachable(ctx context.Context, p *target.Profile, err *steps.UnreachableError) error {
	if p.URL != "" {
		if foreign := runner.Recognise(ctx, suite, p, p.URL); foreign != nil {
			return foreign
		}
	}
	return &target.StartError{Command: []string{p.Name}, Reason: "cannot be reached", Err: err.Err}
}

// checkFlags checks the flags, and returns what they ask for.
func (o loadOptions) checkFlags() (load.Options, error) {
	out := load.Options{Protocols: suite, Driver: o.driver, Sessions: o.sessions, Duration: o.duration, Rate: o.rate,
		Opening: o.opening, Timeout: o.timeout, Shape: load.Shape(o.shape), Strict: o.strict, Out: o.out,
		Explain: explaining(), Thresholds: load.Thresholds{P50: o.p50, P99: o.p99, P999: o.p999}}
	var err error
	if out.Thresholds.Errors, out.Thresholds.Percent, err = errorsAllowed(o.errors); err != nil {
		return out, err
	}
	if o.target == "" {
		if err := o.loadBundled(&out); err != nil {
			return out, err
		}
		return out, o.link.applyAll([]*subject{{bundled: true}})
	}
	sub, err := subjectOf(o.target, givenList(o.protocol), givenList(o.role))
	if err == nil {
		err = o.link.applyTo(sub.profile)
	}
	if err != nil {
		return out, err
	}
	out.Profile, out.Launcher, out.Brain = sub.profile, sub.launcher, sub.brain
	if o.spread != nil {
		out.Source, err = sourceOf(sub, asURL(o.target), o.link)
	}
	return out, err
}

// loadBundled puts the bundled server under load, which has room for the sessions, and for those that reconnect.
func (o loadOptions) loadBundled(out *load.Options) error {
	protocol := o.protocol
	if protocol == "" {
		protocol = suite.Kinds()[0].Protocol
	}
	if err := knownProtocols([]string{protocol}); err != nil {
		return err
	}
	role, err := oneRole(protocol, givenList(o.role))
	if err != nil {
		return err
	}
	sub := bundle.Separate(suite.Kinds(), protocol, role, "", max(o.sessions, 1)*5/4+100)
	if sub == nil {
		return usagef("--protocol %s: it has no bundled server (name yours with --target)",
			strings.TrimSpace(protocol+" "+role))
	}
	out.Profile, out.Launcher, out.Brain = sub.Profile, sub.Launcher, sub.Brain
	out.Source = load.Source{Protocol: protocol}
	return nil
}

// errorsAllowed reads --errors.
func errorsAllowed(text string) (n float64, percent bool, err error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err = strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || percent && n > 100 || !percent && n != float64(int64(n)) {
		return 0, false, usagef("--errors: %q is no number of errors (write it like 0, 25 or 0.5%%)", text)
	}
	return n, percent, nil
}

// loadView shows the progress of a load: a line that is replaced on a terminal, and with each a line per second.
type loadView struct {
	s    *streams
	each bool
}

func (v *loadView) showProgress(p load.Progress) {
	text := fmt.Sprintf("%6.1fs  %s  %d open  %d acts (%.0f/s)  p50 %v  p99 %v  %d errors  %d violations",
		p.Elapsed.Seconds(), p.Phase, p.Open, p.Acts, p.Rate, roundDuration(p.P50), roundDuration(p.P99), p.Errors,
		p.Violations)
	switch {
	case v.each:
		fmt.Fprintln(v.s.Err, text)
	case v.s.ErrTTY:
		fmt.Fprint(v.s.Err, "\r\x1b[K"+text)
	}
}

func roundDuration(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Microsecond)
}

// printLine prints a line.
func (v *loadView) printLine(line string) {
	v.clearLine()
	fmt.Fprintln(v.s.Err, escapeControl(line))
}

// printFinding prints the first finding on a clause.
func (v *loadView) printFinding(clause, observed string) {
	v.clearLine()
	fmt.Fprintf(v.s.Err, "%s: %s\n", clause, strings.Join(strings.Fields(observed), " "))
}

// clearLine clears the line.
func (v *loadView) clearLine() {
	if v.s.ErrTTY && !v.each {
		fmt.Fprint(v.s.Err, "\r\x1b[K")
	}
}

// Spread is what spreads loads over several processes. Package spread does; it is not imported here, so that only the
// program parley-load contains it.
type Spread struct {
	Name          string // of the program
	Long, Example string // of the load, beside those of parley load
	Worker        string // describes the worker command
	WorkerExample string

	// Child runs this process as a worker that a coordinator has started it for, and exits; otherwise it returns.
	Child func(shop load.Workshop)

	// Flags adds flags to the load command, and returns what gives a load its crew; end ends the crew.
	Flags func(f *pflag.FlagSet) func(o *load.Options, tell func(line string)) (end func(), err error)

	// Join adds flags to the worker command, and returns what carries out one task.
	Join func(f *pflag.FlagSet) func(ctx context.Context, shop load.Workshop, tell func(line string)) error
}

// MainLoad runs the command line of a program that only puts servers under load, and exits with the exit code.
func MainLoad(parts Parts, sp Spread) {
	beginProcess(parts)
	sp.Child(workerSettings())
	s := processStreams()
	s.name = sp.Name
	os.Exit(executeCommand(os.Args[1:], s, sp.rootCommand))
}

// workerSettings is what workers of this program have.
func workerSettings() load.Workshop {
	return load.Workshop{Protocols: suite, Bundled: func(protocol string) *target.Profile {
		if sub := bundle.Separate(suite.Kinds(), protocol, "", "", 0); sub != nil {
			return sub.Profile
		}
		return nil
	}}
}

// rootCommand is the load command, with the worker command below it.
func (sp Spread) rootCommand(s *streams) *cobra.Command {
	o := &loadOptions{}
	root := loadCommandOf(o, s)
	root.Use, root.Short = sp.Name+" [TARGET]", "Put a server under the load of sessions in several processes"
	root.Long, root.Example = sp.Long, sp.Example
	root.SilenceErrors, root.SilenceUsage, root.DisableFlagsInUseLine = true, true, true
	root.Version = suite.Version
	o.spread = sp.Flags(root.Flags())
	worker := &cobra.Command{Use: "worker", Short: "Carry out a part of a load that somebody else begins", Long: sp.Worker,
		Example: sp.WorkerExample, Args: noArgs}
	join := sp.Join(worker.Flags())
	worker.RunE = func(c *cobra.Command, _ []string) error {
		view := &loadView{s: s}
		return join(c.Context(), workerSettings(), view.printLine)
	}
	root.AddCommand(worker)
	return completeRoot(root, s)
}

// sourceOf returns where workers find the profile of a target, to which the flags of l have been applied.
func sourceOf(sub *subject, name string, l linkOptions) (load.Source, error) {
	p := sub.profile
	var out load.Source
	if len(l.headers) > 0 {
		out.Headers = p.Headers
	}
	if l.tlsFlag() != "" {
		t := l.tlsSection()
		for _, path := range []*string{&t.CA, &t.Cert, &t.Key} {
			if abs, err := filepath.Abs(*path); err == nil && *path != "" {
				*path = abs
			}
		}
		out.TLS = &t
	}
	if sub.bare {
		out.Protocol, out.URL = p.Protocol, name
		return out, nil
	}
	out.Name, out.Dir, out.Env = p.Path, p.Dir, map[string]string{}
	var err error
	if out.YAML, err = input.Read(p.Path, load.MaxSource); err != nil {
		return out, usagef("%s: %v (its workers get a copy of it)", p.Path, err)
	}
	_, err = suite.Kinds().ParseIn(out.YAML, out.Name, out.Dir, func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		if ok {
			out.Env[name] = value
		}
		return value, ok
	})
	return out, err
}
