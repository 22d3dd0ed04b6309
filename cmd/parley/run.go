package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"parley/reports"
	"parley/runner"
	"parley/verdict"
)

// runOptions are the flags of parley run.
type runOptions struct {
	protocols, drivers           []string
	target, role, tags, baseline string
	out, format                  string
	strict, allowIncomplete      bool
	verbose, noColor             bool
	concurrency                  int
	seed                         int64
}

func runCommand(s *streams) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run",
		Short: "Judge a target: the bundled server, or yours",
		Long: `Judge a target by the suite. Without --target it is the bundled server.

The report is printed, and everything is kept in --out: results.json (always written), junit.xml, report.html, and the
transcript of every scenario. --format json alone prints nothing but the JSON; progress goes to stderr.

An interrupt ends the run, and what was found so far is written; a second one ends it at once.`,
		Example: `  parley run --target http://localhost:3000
  parley run --target my.yaml --driver all --strict
  parley run --target my.yaml --tags '@AS-080 and not @exclusive'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o, s) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.protocols, "protocol", nil, "`PROTOCOL` to judge by; may be repeated (default that of the target)")
	f.StringVar(&o.target, "target", "", "profile `FILE|URL` of the target (default the bundled server)")
	f.StringSliceVar(&o.drivers, "driver", nil, "`DRIVER` to test over: sse, ws, r3labs, or all; may be repeated (default what the target\ndeclares; all adds r3labs to that, where sse is declared)")
	f.StringVar(&o.role, "role", "", "`ROLE` of the target; agent-select knows the server only")
	f.StringVar(&o.tags, "tags", "", "tag `EXPR` of the scenarios to run, such as '@AS-042 and not @exclusive'; makes the run incomplete")
	f.BoolVar(&o.strict, "strict", false, "count a broken SHOULD as a failure, and read conflicting clauses by their strict reading")
	f.IntVar(&o.concurrency, "concurrency", 0, "run `N` scenarios side by side (default what the profile allows)")
	f.StringVar(&o.baseline, "baseline", "", "`FILE` of the clauses that are known to fail")
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "exit 0 where nothing failed but not everything was tested")
	f.Int64Var(&o.seed, "seed", 0, "`NUMBER` that the nonces of the run are made of")
	f.StringVar(&o.out, "out", "parley-results", "`DIR` for the results, made where it is missing")
	f.StringVar(&o.format, "format", formatNames(), "reports to write, a comma-separated `LIST`")
	f.BoolVar(&o.verbose, "verbose", false, "report every failure in full, observations, and what is not applicable")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
	return c
}

// run judges a target and writes what it found.
func run(ctx context.Context, o runOptions, s *streams) error {
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	ro, err := o.runner()
	if err != nil {
		return err
	}
	if err := runner.Check(ro); err != nil {
		return flagged(err)
	}
	if err := prepareOut(o.out); err != nil {
		return err
	}
	f := follow(s, fmt.Sprintf("%s against %s over %s", ro.Profile.Protocol, ro.Profile.Name, strings.Join(ro.Drivers, ", ")), !o.noColor)
	ro.Observer = f
	unhook := f.tellInterrupt(ctx)
	res, err := runner.Run(ctx, ro)
	unhook()
	f.stop()
	if err != nil {
		return err
	}
	if err := o.write(asked, res, s); err != nil {
		return err
	}
	if res.Exit != verdict.ExitConformant {
		return exitError{res.Exit}
	}
	return nil
}

// runner makes the runner's options, or says what is wrong with the flags.
func (o runOptions) runner() (runner.Options, error) {
	sub, err := subjectOf(o.target)
	if err != nil {
		return runner.Options{}, err
	}
	if err := sub.speaks(o.protocols); err != nil {
		return runner.Options{}, err
	}
	drivers, err := sub.drivers(o.drivers)
	if err != nil {
		return runner.Options{}, err
	}
	switch {
	case o.role != "" && o.role != "server":
		return runner.Options{}, usagef("--role: %s has no role %q (known: server)", sub.profile.Protocol, o.role)
	case o.concurrency < 0:
		return runner.Options{}, usagef("--concurrency: %d scenarios side by side cannot be (give 1 or more)", o.concurrency)
	case o.out == "":
		return runner.Options{}, usagef("--out: no folder (name one, such as parley-results)")
	}
	baseline, err := loadBaseline(o.baseline)
	if err != nil {
		return runner.Options{}, err
	}
	return runner.Options{Profile: sub.profile, Launcher: sub.launcher, Brain: sub.brain, Drivers: drivers, Tags: o.tags,
		Strict: o.strict, AllowIncomplete: o.allowIncomplete, Concurrency: o.concurrency, Seed: o.seed, Baseline: baseline,
		Out: o.out, Again: o.again(sub.profile.Protocol)}, nil
}

// again is the command line that runs the same again; the runner adds the driver and the tags of a failure.
func (o runOptions) again(protocol string) string {
	words := []string{"parley", "run", "--protocol", protocol}
	if o.target != "" {
		words = append(words, "--target", shellWord(o.target))
	}
	if o.strict {
		words = append(words, "--strict")
	}
	if o.seed != 0 {
		words = append(words, "--seed", strconv.FormatInt(o.seed, 10))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`\A[\w@%+=:,./-]+\z`)

// shellWord quotes a word for a shell, where it must be.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// flagged says which flag a refused run is about.
func flagged(err error) error {
	var usage *runner.UsageError
	if errors.As(err, &usage) && strings.HasPrefix(usage.Msg, "tag expression") {
		return fmt.Errorf("--tags: %w", err)
	}
	if errors.As(err, &usage) && strings.HasPrefix(usage.Msg, "baseline") {
		return fmt.Errorf("--baseline: %w", err)
	}
	return err
}

// loadBaseline reads a baseline; "" gives none.
func loadBaseline(path string) (*verdict.Baseline, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--baseline: %v", err)
	}
	baseline, err := verdict.ParseBaseline(b)
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		return nil, usagef("%s:%d:%d: %s", path, p.Line, p.Column, at.GetMessage())
	}
	if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return baseline, nil
}

// prepareOut makes the folder for results, without the reports of an earlier run.
func prepareOut(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file (name a folder)", dir)
	}
	if err := runner.PrepareOut(dir); err != nil {
		return usagef("--out: %v", err)
	}
	if err := removeFiles(dir); err != nil {
		return usagef("--out: %v", err)
	}
	return nil
}

// write keeps the results, and prints the report: on the console, or as JSON where nothing else is asked for.
func (o runOptions) write(asked []string, r *reports.Results, s *streams) error {
	if err := writeFiles(o.out, append([]string{jsonFormat}, asked...), r); err != nil {
		return err
	}
	switch {
	case slices.Contains(asked, consoleFormat):
		return s.writeOut(consoleFormat, r, reports.ConsoleOptions{Dir: o.out, Verbose: o.verbose, Color: !o.noColor})
	case len(asked) == 1 && asked[0] == jsonFormat:
		if err := s.writeOut(jsonFormat, r, reports.ConsoleOptions{}); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Err, "%s · exit %d · results in %s\n", r.Verdict, r.Exit, o.out)
	return nil
}
