package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/differential"
	"parley/internal/words"
	"parley/reports"
	"parley/runner"
)

// bundledName names the bundled target with the protocol and role of the other target.
const bundledName = "bundled"

// The files that a comparison writes to the results folder.
const (
	differentialJSON = "differential.json"
	differentialPage = "differential.md"
)

// checkDifferential rejects flags that cannot be combined with --differential.
func (o runOptions) checkDifferential(args []string) error {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--target", o.target != ""}, {"--baseline", o.baseline != ""}, {"--write-baseline", o.writeBaseline != ""},
		{"--cut-points", o.cutPoints}, {"--shard", o.shard != ""}, {"--fail-fast", o.failFast},
		{"--watch", o.watch},
		{"--allow-incomplete", o.allowIncomplete}} {
		if f.given {
			return usagef("--differential: %s applies to one target, but two are given (leave it out)", f.name)
		}
	}
	if o.deadline != 0 {
		return usagef("--differential has no --deadline (leave it out)")
	}
	if o.out == "" {
		return usagef("--out: no folder (name one, such as parley-results)")
	}
	if len(args) != 2 {
		return usagef("--differential compares two targets, not %d (name two: parley run --differential "+
			"A.yaml B.yaml)", len(args))
	}
	return nil
}

// compareTargets runs two targets under the same scenarios and lists where they differ.
func compareTargets(ctx context.Context, o runOptions, args []string, s *streams) error {
	asked, err := parseFormats(o.format)
	if err == nil {
		err = o.checkDifferential(args)
	}
	if err == nil {
		err = hasSuite(o.suite)
	}
	if err != nil {
		return err
	}
	sides, err := o.sidesToCompare(args)
	if err != nil {
		return err
	}
	plans := []runner.Options{sides[0].Options(), sides[1].Options()}
	total, err := runner.Count(plans...)
	if err != nil {
		return nameFlag(err)
	}
	if err := prepareOut(o.out); err != nil {
		return err
	}
	f := followRuns(s, total, o.describeRuns(plans), look{color: !o.noColor, quiet: o.quiet, lang: o.spoken})
	unhook := f.tellInterrupt(ctx)
	for i := range sides {
		plain := sides[i].Options
		sides[i].Options = func() runner.Options {
			r := plain()
			r.Observer = f
			return r
		}
	}
	rep, err := differential.Run(ctx, differential.Options{A: sides[0], B: sides[1], Out: o.out,
		Save: func(dir string, r *reports.Results) error {
			return writeFiles(dir, append([]string{jsonFormat}, asked...), r, dir, o.spoken)
		},
		Again: func(n int) {
			f.printNote(fmt.Sprintf("the targets differ; %s run again to confirm it", words.Counted(n, "scenario")))
		}})
	unhook()
	f.removeLine()
	if err != nil {
		return err
	}
	return o.reportDifferences(rep, asked, s)
}

// reportDifferences writes and prints the findings.
func (o runOptions) reportDifferences(rep *differential.Report, asked []string, s *streams) error {
	var unwritten error
	for name, write := range map[string]func(io.Writer, *differential.Report) error{
		differentialJSON: differential.WriteJSON, differentialPage: differential.WriteMarkdown} {
		if err := writeFile(filepath.Join(o.out, name), func(w io.Writer) error { return write(w, rep) }); err != nil {
			unwritten = errors.Join(unwritten, fmt.Errorf("write %s: %w", name, err))
		}
	}
	print := differential.WriteText
	if len(asked) == 1 && asked[0] == jsonFormat {
		print = differential.WriteJSON
	}
	if err := errors.Join(print(s.Out, rep), unwritten); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s · exit %d · results in %s\n", rep.Summary(), rep.Exit, o.out)
	if rep.Exit != verdict.ExitConformant {
		return exitError{rep.Exit}
	}
	return nil
}

// sidesToCompare returns the two targets, with the drivers that both have.
func (o runOptions) sidesToCompare(names []string) ([]differential.Side, error) {
	var both [2]*subject
	var err error
	for i, name := range names { // first those that determine their own protocol
		if !byName(name) {
			if both[i], err = subjectOf(name, o.protocols, o.roles); err == nil {
				err = o.link.applyTo(both[i].profile)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for i, name := range names {
		if both[i] == nil {
			if both[i], err = o.bundledSubject(name, both[1-i]); err != nil {
				return nil, err
			}
		}
		if why := missingBrowser(both[i].profile); why != nil {
			return nil, why
		}
	}
	a, b := both[0].profile, both[1].profile
	if a.Protocol != b.Protocol || a.Role != b.Role {
		return nil, usagef("--differential: %s is %s, and %s is %s (name two of one protocol and role)", names[0],
			titleWithRole(a.Protocol, a.Role), names[1], titleWithRole(b.Protocol, b.Role))
	}
	common, err := o.commonDrivers(names, both[:])
	if err != nil {
		return nil, err
	}
	own, beside, err := ownFeatures(o.features)
	if err != nil {
		return nil, err
	}
	var out []differential.Side
	for i, sub := range both {
		out = append(out, differential.Side{Name: names[i], Fresh: sub.bundled || sub.profile.Command != nil,
			Options: func() runner.Options {
				if sub.renew != nil {
					sub.renew(sub)
				}
				again := o
				again.target = names[i]
				return runner.Options{Own: own, Beside: beside, Protocols: suite, Profile: sub.profile, Launcher: sub.launcher,
					Brain: sub.brain, Role: sub.profile.Role, Drivers: common, Tags: o.tags, Strict: o.strict,
					Concurrency: o.concurrency, Seed: o.seed, Explore: o.explore,
					Again: again.repeatCommand(sub.profile.Protocol)}
			}})
	}
	return out, nil
}

// commonDrivers returns the drivers over which both subjects are compared: the requested ones, or else their usual
// ones.
func (o runOptions) commonDrivers(names []string, both []*subject) ([]string, error) {
	drivers, err := shareDrivers(both, o.drivers)
	if err != nil {
		return nil, err
	}
	out := commonValues(drivers[0], drivers[1])
	if len(out) == 0 && len(o.drivers) == 0 {
		out = commonValues(both[0].profile.Drivers, both[1].profile.Drivers)
	}
	if len(out) == 0 {
		return nil, usagef("--differential: %s is reached over %s, and %s over %s (name two that have a driver in common)",
			names[0], strings.Join(drivers[0], ", "), names[1], strings.Join(drivers[1], ", "))
	}
	return out, nil
}

func commonValues(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(d string) bool { return !slices.Contains(b, d) })
}

// byName reports whether a target is given by the name of a bundled one: it is neither a URL nor a file.
func byName(name string) bool {
	if strings.Contains(name, "://") || strings.ContainsRune(name, os.PathSeparator) {
		return false
	}
	_, err := os.Stat(name)
	return err != nil && !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml")
}

// bundledSubject returns the bundled target, or a mutant of it, of the protocol and role of --protocol and --role, or
// else of the other target.
func (o runOptions) bundledSubject(name string, other *subject) (*subject, error) {
	if err := knownProtocols(o.protocols); err != nil {
		return nil, err
	}
	protocols, roles := withoutDuplicates(o.protocols), o.roles
	if other != nil {
		protocols, roles = []string{other.profile.Protocol}, []string{other.profile.Role}
	}
	if len(protocols) == 0 {
		protocols = bundle.Protocols()
	}
	if err := knownRoles(roles, protocols); err != nil {
		return nil, err
	}
	var found []*subject
	for _, protocol := range protocols {
		mine := rolesAmong(protocol, roles)
		if len(mine) == 0 {
			mine = suite.Roles(protocol)
			if name == bundledName {
				mine = mine[:1]
			}
		}
		for _, role := range mine {
			if s := bundledIn(name, protocol, role); s != nil {
				found = append(found, s)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return nil, usagef("--differential: %s is neither a file, a URL, a mutant of %s nor %q (parley mutants lists the "+
			"mutants)", name, words.Either(protocols), bundledName)
	}
	var which []string
	for _, s := range found {
		which = append(which, titleWithRole(s.profile.Protocol, s.profile.Role))
	}
	return nil, usagef("--differential: %s exists for %s (choose by --protocol and --role)", name, words.Either(which))
}

// bundledIn returns the bundled target of a protocol and role, or its mutant of that name; nil if there is none.
func bundledIn(name, protocol, role string) *subject {
	launch := func(s *subject) bool {
		t := bundle.For(suite.Kinds(), protocol, role)
		if t == nil {
			return false
		}
		s.profile, s.launcher, s.brain = t.Profile, t.Launcher, t.Brain
		if name == bundledName {
			return true
		}
		all := append(bundle.Mutants(suite.Kinds(), protocol, role), bundle.CutMutants(suite.Kinds(), protocol, role)...)
		at := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == name })
		if at < 0 {
			return false
		}
		s.launcher = all[at].Launch(s.brain)
		return true
	}
	s := &subject{bundled: true, renew: func(s *subject) { launch(s) }}
	if !launch(s) {
		return nil
	}
	return s
}
