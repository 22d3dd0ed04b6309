package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports/diagnosis"
	"parley/runner"
	"parley/target"
	"parley/transport/driver/browser"
)

func runCommand(s *streams) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run [TARGET] [ID…]",
		Short: "Judge a target: the bundled ones, or yours",
		Long: `Judge a target by the suite: a URL, a profile, or the folder of a page; without one, the bundled targets. The
protocol is that of the profile, or the one that the server at the URL speaks. An ID is that of a clause or a scenario:
only these are run. The report is printed and written to --out: results.json (always), junit.xml, report.html, and a
transcript per scenario.

Details:

Without a target the bundled ones are judged, one per protocol and up to two at once; --protocol chooses among them.

` + aboutKinds() + `
--role chooses the roles in which bundled targets are judged, each in a run of its own; all means every role.
Your own target is judged in the role that its profile or --role names. Protocols without roles are not
affected.

All runs of one command share one report, one verdict (the worst) and one exit code. --format json alone prints
only the JSON. Progress goes to stderr.

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
			return o.takePlainArgs(args)
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.spoken, err = parseLang(o.lang); err != nil {
				return err
			}
			o.exploring = c.Flags().Changed("explore")
			o.tellProfileHere(s)
			if o.differential {
				return compareTargets(c.Context(), o, args, s)
			}
			return judgeRepeatedly(c.Context(), o, s)
		},
	}
	o.declareFlags(c.Flags())
	return c
}

// usualProfile is the file that parley init writes.
const usualProfile = "target.yaml"

// tellProfileHere says that the bundled targets are judged though a profile lies in the folder.
func (o runOptions) tellProfileHere(s *streams) {
	if o.target != "" || o.differential || o.quiet {
		return
	}
	if info, err := os.Stat(usualProfile); err == nil && info.Mode().IsRegular() {
		fmt.Fprintf(s.Err, nameProgram("the bundled targets are judged, not %s here (parley run %[1]s judges that)\n"),
			usualProfile)
	}
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

// judgeRepeatedly judges the selected targets once, or again and again.
func judgeRepeatedly(ctx context.Context, o runOptions, s *streams) (err error) {
	if o.protocols, err = o.link.nameProtocol(ctx, &o.target, o.protocols, s); err != nil {
		return err
	}
	if o.watch {
		return o.watchAndRun(ctx, s)
	}
	return judgeTargets(ctx, o, s)
}

// judgeTargets judges the selected targets, and writes the results, unless errChanged ends ctx.
func judgeTargets(ctx context.Context, o runOptions, s *streams) error {
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	runs, left, err := o.runnerOptions()
	if err != nil {
		return o.nothingSelected(err)
	}
	if o.deadline < 0 {
		return nameFlag(&runner.UsageError{Msg: "--deadline must be more than 0"})
	}
	if err := o.checkWriteBaseline(); err != nil {
		return err
	}
	total, err := runner.Count(runs...)
	if err != nil {
		return nameFlag(o.nothingSelected(err))
	}
	if err := prepareOut(o.out); err != nil {
		return err
	}
	f := followRuns(s.forPeople(asked), total, o.describeRuns(runs),
		look{color: !o.noColor, quiet: o.quiet, lang: o.spoken})
	person := target.NewLines(s.In)
	for i := range runs {
		runs[i].Observer, runs[i].Person = f, person
	}
	unhook := f.tellInterrupt(ctx)
	limited, cancel := runner.WithDeadline(ctx, o.deadline, runs...)
	defer cancel()
	res, err := runner.RunAll(limited, runs...)
	unhook()
	f.removeLine()
	if err != nil || context.Cause(ctx) == errChanged {
		return err
	}
	makeRoom()
	noteLeft(res, left)
	for i := range res.Runs {
		res.Runs[i].Target.Version = o.targetVersion
	}
	diagnosis.Tell(res)
	for _, text := range left {
		if !o.quiet {
			fmt.Fprintln(s.forPeople(asked).Err, text)
		}
	}
	if err := errors.Join(o.writeResults(asked, res, s), o.keepKnown(res, s)); err != nil {
		return err
	}
	if res.Exit != verdict.ExitConformant {
		return exitError{res.Exit}
	}
	return nil
}

// runnerOptions returns the runner's options for each target, and what is left out; the error says what is wrong with
// the flags.
func (o runOptions) runnerOptions() (runs []runner.Options, left []string, err error) {
	if err := errors.Join(o.checkExplore(), hasSuite(o.suite), o.knownIDs()); err != nil {
		return nil, nil, err
	}
	subjects, err := subjectsOf(o.target, o.protocols, o.roles)
	if err == nil {
		err = o.link.applyAll(subjects)
	}
	if err == nil && !o.exploring && !o.cutPoints { // the selection may match only random sequences or cuts
		subjects, err = dropUnselected(subjects, o.tags)
	}
	if err != nil {
		return nil, nil, err
	}
	named := o.target != "" || len(o.protocols) > 0
	subjects, pages := o.withoutPages(subjects, named)
	drivers, err := shareDrivers(subjects, o.drivers)
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
	shard, failFast, err := o.shardToRun()
	if err != nil {
		return nil, nil, err
	}
	for i, sub := range subjects {
		runs = append(runs, runner.Options{Own: own, Beside: beside,
			Protocols: suite, Profile: sub.profile, Launcher: sub.launcher, Brain: sub.brain,
			Role:    sub.profile.Role,
			Drivers: drivers[i], Tags: o.tags, Strict: o.strict, AllowIncomplete: o.allowIncomplete, Concurrency: o.concurrency,
			Seed: o.seed, Explore: o.explore, CutPoints: o.cutPoints, Shard: shard, FailFast: failFast,
			Baseline: o.baselineOf(baselines, sub.profile.Protocol), Out: o.out,
			Again: o.repeatCommand(sub.profile.Protocol)})
	}
	if err := o.injectFaults(runs); err != nil {
		return nil, nil, err
	}
	runs, left, err = leaveOut(runs, named, func(r runner.Options) error { return missingBrowser(r.Profile) },
		func(r runner.Options) string { return r.Profile.Protocol })
	return runs, slices.Concat(left, pages, describeUntried(subjects, o.drivers)), err
}

// shardToRun returns the shard that is run, and what ends the runs at their first failure; nil for nothing.
func (o runOptions) shardToRun() (shard runner.Shard, failFast *runner.FailFast, err error) {
	if o.quiet && o.verbose {
		return shard, nil, usagef("--quiet: --verbose asks for the opposite (leave one out)")
	}
	if o.shard != "" {
		if shard, err = runner.ParseShard(o.shard); err != nil {
			return shard, nil, fmt.Errorf("--shard: %w", err)
		}
	}
	if o.failFast {
		failFast = &runner.FailFast{}
	}
	return shard, failFast, nil
}

// injectFaults puts gates with the faults of --faults in front of the targets.
func (o runOptions) injectFaults(runs []runner.Options) error {
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
		r.Launcher, r.Faults = faultyLauncher{r.Launcher, p.TLSConfig(), f.x.Handle}, f.toldEffects
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
		if len(s.driversAmong(o.drivers)) == 0 && slices.Contains(s.profile.Drivers, browser.Name) &&
			len(subjects) > 1 {
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

// describeRuns says for each run what is judged, and in which role if there are several.
func (o runOptions) describeRuns(runs []runner.Options) []string {
	var out []string
	for _, r := range runs {
		out = append(out, o.spoken.Say("%s against %s over %s", titleWithRole(r.Profile.Protocol, r.Profile.Role),
			r.Profile.Name,
			strings.Join(r.Drivers, ", ")))
	}
	return out
}

// repeatCommand returns the command line that repeats the run. The runner adds the role, if there are several, and a
// failure's driver and tags.
func (o runOptions) repeatCommand(protocol string) string {
	words := []string{program, "run", "--protocol", spelled(protocol)}
	if o.target != "" {
		words = append(words, "--target", shellWord(o.target))
	}
	words = append(words, o.link.givenFlags()...)
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
	return strings.Join(append(words, "--out", shellWord(repeatFolder(o.out))), " ")
}

// repeatFolder returns where a part of a run is repeated, so that its results do not replace those of the whole run.
func repeatFolder(out string) string {
	if out == "" || filepath.Base(out) == repeated {
		return cmp.Or(out, repeated)
	}
	return filepath.Join(out, repeated)
}

// repeated is the folder of repeated parts within that of the results.
const repeated = "again"

// shellWord quotes a word for a shell if necessary.
var shellWord = words.Shell

// nameFlag names the flag at fault when a run is rejected.
func nameFlag(err error) error {
	var usage *runner.UsageError
	if errors.As(err, &usage) && strings.HasPrefix(usage.Msg, "tag expression") {
		return fmt.Errorf("--tags: %w", err)
	}
	if errors.As(err, &usage) && strings.Contains(usage.Msg, "cannot be explored") {
		return fmt.Errorf("--explore: %w", err)
	}
	if errors.As(err, &usage) && strings.HasPrefix(usage.Msg, "a shard is") {
		return fmt.Errorf("--shard: %w", err)
	}
	if errors.As(err, &usage) && strings.Contains(usage.Msg, "can be cut at every point") {
		return fmt.Errorf("--cut-points: %w", err)
	}
	return err
}
