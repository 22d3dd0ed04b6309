package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/recording/scenario"
	"parley/runner"
	"parley/steps"
	"parley/target"
	"parley/verdict"
)

// maxShrink bounds the runs that look for a shorter scenario.
const maxShrink = 60

// scenarioOptions are the flags of parley scenario.
type scenarioOptions struct{ target, out string }

func scenarioCommand(s *streams) *cobra.Command {
	var o scenarioOptions
	c := &cobra.Command{
		Use:   "scenario FILE",
		Short: "Tell a recording as a scenario",
		Long: `Tell a recording as a scenario in the steps of its protocol, with names in place of ids. Its steps state what
the protocol demands, so a target that is right passes it. What no step says is a raw step, or a comment. If there is a
target, the scenario is run against it once; if a clause fails, lines are left out as long as the same clauses fail.
Without --target, the URL is used that the recording names; if it names none, nothing is run.

Exit codes: 0 written · 2 wrong usage, or the file cannot be told · 3 the target could not be reached ·
130 interrupted.`,
		Example: `  parley scenario parley-results/transcripts/sse-AS-3.2-01.jsonl --target target.yaml -o found.feature
  parley run --target target.yaml --features found.feature`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("scenario: name one FILE, such as parley-results/transcripts/sse-AS-3.2-01.jsonl")
			}
			return o.write(c.Context(), args[0], s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.target, "target", "", "profile `FILE|URL` to run it against (default the URL in the recording)")
	f.StringVarP(&o.out, "output", "o", "", "`FILE` to write, which is overwritten (default stdout)")
	return c
}

// write tells a recording, and shrinks what it says.
func (o scenarioOptions) write(ctx context.Context, name string, s *streams) error {
	in, file, err := openRecording(ctx, name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	h := in.Header()
	p, err := suite.Find(h.Protocol)
	if err != nil {
		return usagef("%s: %v", name, err)
	}
	lines, err := scenario.Read(in, p)
	if err != nil {
		return usagef("%s: %v", name, err)
	}
	if in.Torn() {
		fmt.Fprintf(s.Err, "%s: %s: the last line is torn, and left out\n", program, name)
	}
	title := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	where := o.target
	if where == "" {
		where = h.URL
	}
	var clauses []string
	if where == "" {
		fmt.Fprintln(s.Err, "not run: the recording names no target (name it by --target)")
	} else if clauses, lines, err = shrunk(ctx, where, title, p, h.Role, h.Driver, lines, s); err != nil {
		return err
	}
	text := scenario.Feature(title, clauses, lines)
	if o.out == "" {
		_, err = fmt.Fprint(s.Out, text)
	} else if err = os.WriteFile(o.out, []byte(text), 0o644); err != nil {
		return usagef("-o: %v", err)
	}
	return err
}

// shrunk runs a scenario, and returns the clauses that fail with the lines that they need; none and all lines if
// nothing fails.
func shrunk(ctx context.Context, where, title string, p steps.Protocol, role, driver string, lines []scenario.Line,
	s *streams) ([]string, []scenario.Line, error) {
	sub, err := subjectOf(where, given(steps.Name(p)), given(role))
	if err != nil {
		return nil, nil, err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, nil, err
	}
	var tested []string
	for _, row := range ledger.Rows() {
		if row.Tested() {
			tested = append(tested, row.ID)
		}
	}
	launcher := sub.launcher
	if launcher == nil {
		launcher = target.NewLauncher(sub.profile)
	}
	opts := runner.Options{Protocols: suite, Profile: sub.profile, Launcher: launcher, Brain: sub.brain,
		Role: sub.profile.Role, Drivers: given(driver)}
	failing := func(some []scenario.Line) ([]string, error) {
		return failures(ctx, opts, scenario.Feature(title, tested, some))
	}
	found, err := failing(lines)
	switch {
	case err != nil:
		return nil, nil, err
	case len(found) == 0:
		fmt.Fprintln(s.Err, "run once: no clause fails, so it was not shortened")
		return nil, lines, nil
	}
	fmt.Fprintf(s.Err, "run once: %s fails; %d lines\n", strings.Join(found, ", "), len(lines))
	short := scenario.Shrink(lines, maxShrink, func(some []scenario.Line) bool {
		again, err := failing(some)
		if err != nil || !slices.Equal(again, found) {
			return false
		}
		fmt.Fprintf(s.Err, "still fails with %d lines\n", len(some))
		return true
	})
	return found, short, ctx.Err()
}

// failures runs a feature, and returns the clauses that its scenario breaks, sorted.
func failures(ctx context.Context, o runner.Options, text string) ([]string, error) {
	o.Own = []runner.OwnFeature{{Path: "recorded.feature", Text: []byte(text)}}
	res, err := runner.Run(ctx, o)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case res.Exit == verdict.ExitUnreachable:
		return nil, errors.Join(exitError{res.Exit})
	}
	var found []string
	for _, r := range res.Runs {
		for _, sc := range r.Scenarios {
			for _, f := range sc.Failures {
				if strings.HasPrefix(sc.ID, "own-") {
					found = append(found, f.Clause)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
