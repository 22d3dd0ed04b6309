package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/diagnosis"
	"parley/driver/browser"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// runOptions are the flags of parley run.
type runOptions struct {
	protocols, drivers, roles []string
	target, tags, baseline    string
	writeBaseline             string
	targetVersion             string
	features                  []string
	faults                    string
	out, format               string
	strict, allowIncomplete   bool
	verbose, noColor          bool
	concurrency, explore      int
	exploring                 bool // --explore was given
	cutPoints                 bool
	differential              bool
	suite                     string // the version or digest that must judge
	seed                      int64
	deadline                  time.Duration
}

func runCommand(s *streams) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run [TARGET] [ID…]",
		Short: "Judge a target: the bundled ones, or yours",
		Long: `Judge a target by the suite: TARGET is what --target names. Without one, parley run judges the bundled targets,
one per protocol and up to two at once; --protocol chooses among them. A profile names the protocol of its target; a
URL is judged as ` + suite.Kinds()[0].Protocol + ` unless --protocol or an ID says otherwise. An ID is that of a
clause or a scenario, and only these are run, as with --tags.

` + aboutKinds() + `
--role chooses the roles in which bundled targets are judged, each in a run of its own; all means every role.
Your own target is judged in the role that its profile or --role names. Protocols without roles are not
affected.

All runs of one command share one report, one verdict (the worst) and one exit code. The report is printed and
written to --out: results.json (always), junit.xml, report.html, and a transcript per scenario. --format json
alone prints only the JSON. Progress goes to stderr.

A server that sends nothing of the protocol is not judged: one line says what was found instead (it asks for
credentials, speaks another protocol, or is silent) and what to do, and the exit code is 3.

A protocol or role for which --tags selects nothing is left out. Each protocol is judged over those of the
drivers in --driver that it has, or over all of its drivers with --driver all; it is an error if it has none of
them.

An interrupt (Ctrl-C) ends the run and writes the findings so far; a second one exits at once.`,
		Example: `  parley run
  parley run localhost:3000
  parley run my.yaml AS-080 AS-4.1-06
` + runExamples() + `
  parley run --target my.yaml --driver all --strict
  parley run --target my.yaml --explore 200 --seed 7
  parley run --target my.yaml --tags '@AS-080 and not @exclusive'
  parley run --target my.yaml --features my.feature
  parley run --differential mine.yaml bundled`,
		Args: func(c *cobra.Command, args []string) error {
			if o.differential {
				return nil // compare counts them
			}
			return o.plain(args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.exploring = c.Flags().Changed("explore")
			if o.differential {
				return compare(c.Context(), o, args, s)
			}
			return run(c.Context(), o, s)
		},
	}
	o.declare(c.Flags())
	return c
}

// aboutKinds describes the targets of each protocol, in a paragraph each.
func aboutKinds() (text string) {
	for _, kind := range suite.Kinds() {
		if kind.About != "" {
			text += kind.About + "\n\n"
		}
	}
	return text
}

// runExamples returns the examples of the protocols.
func runExamples() string {
	var lines []string
	for _, kind := range suite.Kinds() {
		for _, flags := range kind.Runs {
			lines = append(lines, "  parley run "+flags)
		}
	}
	return strings.Join(lines, "\n")
}

// declare defines the flags of a run.
func (o *runOptions) declare(f *pflag.FlagSet) {
	f.StringArrayVar(&o.protocols, "protocol", nil,
		"`PROTOCOL` to judge by; may be repeated (default that of the target; all without --target)")
	f.StringVar(&o.target, "target", "",
		"profile `FILE|URL` of the target, or the folder of a page (default the bundled targets)")
	f.StringVar(&o.targetVersion, "target-version", "",
		"`VERSION` of the target, for the reports that compare versions")
	f.StringSliceVar(&o.drivers, "driver", nil,
		"`DRIVER` to test over: sse, ws, stdio, browser, r3labs, or all; may be repeated "+
			"(default those that the target declares; all adds r3labs to sse)")
	f.StringSliceVar(&o.roles, "role", nil,
		"`ROLE` of the target: server, client, host, relay, agent, or all; may be repeated without --target "+
			"(default that of the profile; without one, the first role of the protocol: server, client or host)")
	f.StringArrayVar(&o.features, "features", nil,
		"run the scenarios of `FILE|DIR` instead of the suite's; with --features suite, besides them; may be repeated; "+
			"such a run never certifies")
	f.StringVar(&o.faults, "faults", "",
		"inject the faults in `FILE` between the harness and the target; such a run never certifies")
	f.StringVar(&o.tags, "tags", "",
		"run only scenarios whose tags match `EXPR`, such as 'AS-042 and not @exclusive', @MUST or @4.1; makes the run "+
			"incomplete")
	f.BoolVar(&o.strict, "strict", false,
		"count a broken SHOULD as a failure, and read conflicting clauses strictly")
	f.IntVar(&o.concurrency, "concurrency", 0, "run `N` scenarios in parallel (default what the profile allows)")
	f.StringVar(&o.baseline, "baseline", "",
		"`FILE` of clauses that are known to fail: if they fail and nothing else does, "+
			"the verdict is as-expected, exit 0; rows of protocols that are not run are ignored")
	f.StringVar(&o.writeBaseline, "write-baseline", "",
		"write `FILE`, a baseline of all clauses that fail; it must not exist yet")
	f.BoolVar(&o.allowIncomplete, "allow-incomplete", false, "exit 0 if nothing failed, even if not everything was tested")
	f.IntVar(&o.explore, "explore", 0,
		"run `N` random sequences after the scenarios, and shrink the first one that "+
			"breaks a clause; --tags @explored runs only these")
	f.BoolVar(&o.cutPoints, "cut-points", false,
		"after the scenarios, cut a connection after each record of a course, by reset, close, FIN and kill, and judge "+
			"what follows; --tags @cut runs only this")
	f.BoolVar(&o.differential, "differential", false,
		"run two targets under the same scenarios and list where they differ: --differential A B, each a FILE|URL, "+
			"bundled, or the name of a mutant")
	f.StringVar(&o.suite, "suite", "",
		"judge by the suite with this `VERSION` or digest, or not at all: refused unless this program has it")
	f.DurationVar(&o.deadline, "deadline", 0,
		"end the run after `TIME`, such as 5m, whatever the targets do; what is not judged by then is not tested "+
			"(default 30m, or twice limits.scenario if that is longer)")
	f.Int64Var(&o.seed, "seed", 0, "seed `NUMBER` of the random sequences")
	f.StringVar(&o.out, "out", "parley-results", "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"report every failure in full, observations, and clauses that do not apply")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
}

// run judges the selected targets, and writes the results.
func run(ctx context.Context, o runOptions, s *streams) error {
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	runs, left, err := o.runs()
	if err != nil {
		return err
	}
	if o.deadline < 0 {
		return flagged(&runner.UsageError{Msg: "--deadline must be more than 0"})
	}
	if err := o.checkWriteBaseline(); err != nil {
		return err
	}
	total, err := runner.Count(runs...)
	if err != nil {
		return flagged(err)
	}
	if err := prepareOut(o.out); err != nil {
		return err
	}
	f := follow(s, total, abouts(runs), !o.noColor)
	for i := range runs {
		runs[i].Observer = f
	}
	unhook := f.tellInterrupt(ctx)
	limited, cancel := runner.WithDeadline(ctx, o.deadline, runs...)
	defer cancel()
	res, err := runner.RunAll(limited, runs...)
	unhook()
	f.stop()
	if err != nil {
		return err
	}
	makeRoom()
	noteLeft(res, left)
	for i := range res.Runs {
		res.Runs[i].Target.Version = o.targetVersion
	}
	diagnosis.Tell(res)
	if err := errors.Join(o.write(asked, res, s), o.keepKnown(res, s)); err != nil {
		return err
	}
	for _, text := range left {
		fmt.Fprintln(s.Err, text)
	}
	if res.Exit != verdict.ExitConformant {
		return exitError{res.Exit}
	}
	return nil
}

// runs returns the runner's options for each target, and what is left out; the error says what is wrong with the
// flags.
func (o runOptions) runs() (runs []runner.Options, left []string, err error) {
	if err := errors.Join(o.checkExplore(), hasSuite(o.suite)); err != nil {
		return nil, nil, err
	}
	subjects, err := subjectsOf(o.target, o.protocols, o.roles)
	if err == nil && !o.exploring && !o.cutPoints { // the selection may match only random sequences or cuts
		subjects, err = tagged(subjects, o.tags)
	}
	if err != nil {
		return nil, nil, err
	}
	named := o.target != "" || len(o.protocols) > 0
	subjects, pages := o.withoutPages(subjects, named)
	drivers, err := share(subjects, o.drivers)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case o.concurrency < 0:
		return nil, nil, usagef("--concurrency: cannot run %d scenarios in parallel (give 1 or more)", o.concurrency)
	case o.out == "":
		return nil, nil, usagef("--out: no folder (name one, such as parley-results)")
	}
	baselines, err := loadBaseline(o.baseline)
	if err != nil {
		return nil, nil, err
	}
	own, beside, err := ownFeatures(o.features)
	if err == nil && len(own) > 0 && len(subjects) > 1 {
		err = usagef("--features: which protocol do they test? (name it by --protocol, or give a --target)")
	}
	if err != nil {
		return nil, nil, err
	}
	for i, sub := range subjects {
		runs = append(runs, runner.Options{Own: own, Beside: beside,
			Protocols: suite, Profile: sub.profile, Launcher: sub.launcher, Brain: sub.brain,
			Role:    sub.profile.Role,
			Drivers: drivers[i], Tags: o.tags, Strict: o.strict, AllowIncomplete: o.allowIncomplete, Concurrency: o.concurrency,
			Seed: o.seed, Explore: o.explore, CutPoints: o.cutPoints,
			Baseline: o.baselineOf(baselines, sub.profile.Protocol), Out: o.out, Again: o.again(sub.profile.Protocol)})
	}
	if err := o.misbehave(runs); err != nil {
		return nil, nil, err
	}
	runs, left, err = leaveOut(runs, named, func(r runner.Options) error { return missingBrowser(r.Profile) },
		func(r runner.Options) string { return r.Profile.Protocol })
	return runs, append(left, pages...), err
}

// misbehave puts gates with the faults of --faults in front of the targets.
func (o runOptions) misbehave(runs []runner.Options) error {
	if o.faults == "" {
		return nil
	}
	for i := range runs {
		r := &runs[i]
		p := r.Profile
		for _, d := range r.Drivers {
			if d == target.Stdio || d == browser.Name {
				return usagef("--faults: the harness has no socket to %s over the driver %s "+
					"(choose another --driver or --protocol)", p.Protocol, d)
			}
		}
		if p.Dials() {
			return usagef("--faults: the %s of %s connects to the harness (choose another --role or --protocol)", p.Role,
				p.Protocol)
		}
		f, err := readFaults(o.faults, p.Protocol)
		if err != nil {
			return err
		}
		if r.Launcher == nil {
			r.Launcher = target.NewLauncher(p)
		}
		r.Launcher, r.Faults = faultyLauncher{r.Launcher, f.x.Handle}, f.told
	}
	return nil
}

// withoutPages leaves out pages if other drivers but no protocol were asked for, and says so: pages run only in a
// browser.
func (o runOptions) withoutPages(subjects []*subject, named bool) (kept []*subject, left []string) {
	if named || len(o.drivers) == 0 || slices.Contains(o.drivers, everyDriver) ||
		slices.Contains(o.drivers, browser.Name) {
		return subjects, nil
	}
	for _, s := range subjects {
		if len(s.among(o.drivers)) == 0 && slices.Contains(s.profile.Drivers, browser.Name) && len(subjects) > 1 {
			left = append(left, fmt.Sprintf("%s was not run: a page is judged in a browser, and --driver %s was asked for",
				s.profile.Protocol, strings.Join(o.drivers, ",")))
			continue
		}
		kept = append(kept, s)
	}
	return kept, left
}

// checkExplore rejects --explore without a positive number, and --explore or --cut-points without a protocol.
func (o runOptions) checkExplore() error {
	switch {
	case o.exploring && o.explore < 1:
		return usagef("--explore: cannot run %d random sequences (give 1 or more)", o.explore)
	case o.cutPoints && o.target == "" && len(o.protocols) == 0:
		return usagef("--cut-points: which protocol? (name it by --protocol)")
	case o.exploring && o.target == "" && len(o.protocols) == 0:
		return usagef("--explore: which protocol? (name it by --protocol)")
	}
	return nil
}

// abouts says for each run what is judged, and in which role if there are several.
func abouts(runs []runner.Options) []string {
	var out []string
	for _, o := range runs {
		out = append(out, fmt.Sprintf("%s against %s over %s", titled(o.Profile.Protocol, o.Profile.Role), o.Profile.Name,
			strings.Join(o.Drivers, ", ")))
	}
	return out
}

// again returns the command line that repeats the run. The runner adds the role, if there are several, and a
// failure's driver and tags.
func (o runOptions) again(protocol string) string {
	words := []string{program, "run", "--protocol", protocol}
	if o.target != "" {
		words = append(words, "--target", shellWord(o.target))
	}
	if o.exploring {
		words = append(words, "--explore", strconv.Itoa(o.explore))
	}
	if o.cutPoints {
		words = append(words, "--cut-points")
	}
	for _, name := range o.features {
		words = append(words, "--features", shellWord(name))
	}
	if o.faults != "" {
		words = append(words, "--faults", shellWord(o.faults))
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

// shellWord quotes a word for a shell if necessary.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// flagged names the flag at fault when a run is rejected.
func flagged(err error) error {
	var usage *runner.UsageError
	if errors.As(err, &usage) && strings.HasPrefix(usage.Msg, "tag expression") {
		return fmt.Errorf("--tags: %w", err)
	}
	if errors.As(err, &usage) && strings.Contains(usage.Msg, "cannot be explored") {
		return fmt.Errorf("--explore: %w", err)
	}
	if errors.As(err, &usage) && strings.Contains(usage.Msg, "can be cut at every point") {
		return fmt.Errorf("--cut-points: %w", err)
	}
	return err
}

// prepareOut creates the results folder, and removes the reports of an earlier run.
func prepareOut(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usagef("--out: %s is a file (name a folder)", dir)
	}
	if err := ownFiles(dir, nil); err != nil {
		return err
	}
	if err := runner.PrepareOut(dir); err != nil {
		return usagef("--out: %v", err)
	}
	if err := removeFiles(dir); err != nil {
		return usagef("--out: %v", err)
	}
	return nil
}

// write writes the results, and prints the report: on the console, or as JSON if only that is asked for. It prints the
// report even if the files could not be written, as on a full disk.
func (o runOptions) write(asked []string, r *reports.Results, s *streams) error {
	unwritten := errors.Join(writeFiles(o.out, append([]string{jsonFormat}, asked...), r, o.out), summarize(asked, r))
	return errors.Join(o.print(asked, r, unwritten == nil, s), annotated(asked, r, s), unwritten)
}

// print prints the report, or only the verdict if the report is in files.
func (o runOptions) print(asked []string, r *reports.Results, written bool, s *streams) error {
	if !written {
		o.out = "" // there is nothing to refer to
	}
	switch {
	case slices.Contains(asked, consoleFormat):
		return s.writeOut(consoleFormat, r, reports.ConsoleOptions{Dir: o.out, Verbose: o.verbose, Color: !o.noColor})
	case len(asked) == 1 && asked[0] == jsonFormat:
		if err := s.writeOut(jsonFormat, r, reports.ConsoleOptions{}); err != nil {
			return err
		}
	}
	if written {
		fmt.Fprintf(s.Err, "%s · exit %d · results in %s\n", r.Verdict, r.Exit, o.out)
	} else {
		fmt.Fprintf(s.Err, "%s · the results could not be written\n", r.Verdict)
	}
	return nil
}
