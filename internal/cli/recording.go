package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/runner"
	"parley/simulator/scenario"
	"parley/steps"
	"parley/target"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// openRecording opens a file, or stdin. Its errors are usage errors.
func openRecording(ctx context.Context, name string, s *streams) (*recording.Reader, io.Closer, error) {
	var file io.ReadCloser = io.NopCloser(s.In)
	if name != "-" {
		f, err := input.Open(ctx, name)
		if err != nil {
			return nil, nil, usagef("%v", err)
		}
		file = f
	}
	in, err := recording.NewReader(file)
	if err != nil {
		_ = file.Close()
		return nil, nil, usagef("%s: %v", name, err)
	}
	return in, file, nil
}

// showRecording prints a recording with constant memory.
func showRecording(ctx context.Context, name string, s *streams) error {
	in, file, err := openRecording(ctx, name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(s.Out)
	defer out.Flush()
	h := in.Header()
	for _, one := range []struct{ what, value string }{{"protocol", h.Protocol}, {"role", h.Role}, {"driver", h.Driver},
		{"target", h.URL}, {"by", h.By}} {
		if one.value != "" {
			fmt.Fprintf(out, "%-9s %s\n", one.what, transcript.Printable(one.value))
		}
	}
	if !h.Began.IsZero() {
		fmt.Fprintf(out, "%-9s %s\n", "began", h.Began.Format(time.RFC3339))
	}
	fmt.Fprintln(out)
	for ctx.Err() == nil {
		r, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			if in.Torn() {
				fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, name)
			}
			return nil
		case err != nil:
			_ = out.Flush()
			return usagef("%s: %v", name, err)
		}
		if _, err := fmt.Fprintln(out, r.Line(0)); err != nil {
			return exitError{verdict.ExitHarness}
		}
	}
	return ctx.Err()
}

// maxShrink bounds the runs that look for a shorter scenario.
const maxShrink = 80

// scenarioOptions are the flags of parley scenario.
type scenarioOptions struct{ target, out string }

func scenarioCommand(s *streams) *cobra.Command {
	var o scenarioOptions
	c := &cobra.Command{
		Use:   "scenario FILE",
		Short: "Convert a recording into a scenario",
		Long: `Convert a recording into a scenario in the steps of its protocol, with names in place of ids. Its steps state
what the protocol requires, so a conforming target passes it. A message without a matching step becomes a raw step or a
comment. The scenario is run once against the target; if a clause fails, lines are removed as long as the same clauses
fail. The target is --target, or else the URL in the recording; without either, nothing is run.

Exit codes: 0 written · 2 wrong usage, or the file cannot be converted · 3 written, but nothing was judged: the target
could not be reached, failed its preflight, or skipped the scenario · 130 interrupted.`,
		Example: `  parley scenario parley-results/transcripts/sse-AS-3.2-01.jsonl --target target.yaml -o found.feature
  parley run --target target.yaml --features found.feature`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("scenario: name one FILE, such as parley-results/transcripts/sse-AS-3.2-01.jsonl")
			}
			return o.writeScenario(c.Context(), args[0], s)
		},
	}
	takeFolder(c)
	f := c.Flags()
	f.StringVar(&o.target, "target", "", "profile `FILE|URL` to run it against (default the URL in the recording)")
	f.StringVarP(&o.out, "output", "o", "", "`FILE` to write, which is overwritten (default stdout)")
	return c
}

// writeScenario converts a recording, and shrinks the scenario.
func (o scenarioOptions) writeScenario(ctx context.Context, name string, s *streams) error {
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
	told, err := scenario.Read(in, p)
	if err != nil {
		return usagef("%s: %v", name, err)
	}
	if in.Torn() {
		fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, name)
	}
	title := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	where := o.target
	if where == "" {
		where = h.URL
	}
	var clauses []string
	var after error // the scenario is written all the same
	if where == "" {
		fmt.Fprintln(s.Err, "not run: the recording names no target (name it by --target)")
	} else if t, err := trialOf(where, title, p, h.FirstRole(), told.Driver); err != nil {
		return err
	} else if clauses, told.Lines, after, err = tryLines(ctx, p, t, told.Lines, s.Err); err != nil {
		return err
	}
	text := scenario.Feature(title, clauses, told.Lines)
	if o.out == "" {
		_, err = fmt.Fprint(s.Out, text)
	} else if err = os.WriteFile(o.out, []byte(text), 0o644); err != nil {
		return usagef("-o: %v", err)
	}
	return errors.Join(err, after)
}

// trialOf returns how scenarios are run against a target.
func trialOf(where, title string, p steps.Protocol, role, driver string) (*scenario.Trial, error) {
	sub, err := subjectOf(where, givenList(steps.Name(p)), givenList(role))
	if err != nil {
		return nil, err
	}
	launcher := sub.launcher
	if launcher == nil {
		launcher = target.NewLauncher(sub.profile)
	}
	return scenario.NewTrial(title, p, runner.Options{Protocols: suite, Profile: sub.profile, Launcher: launcher,
		Brain: sub.brain, Role: sub.profile.Role, Drivers: givenList(driver)})
}

// tryLines runs lines, and returns the clauses that fail with the lines that this needs; all lines if nothing fails.
// after is the end of the command if nothing was judged.
func tryLines(ctx context.Context, p steps.Protocol, t *scenario.Trial, lines []scenario.Line,
	out io.Writer) (clauses []string, rest []scenario.Line, after, err error) {
	found, err := t.Run(ctx, lines)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case len(found.Clauses) > 0:
	case !found.Judged:
		fmt.Fprintf(out, "nothing was judged, so it was not shortened: %s\n", found.Why)
		return nil, lines, exitError{found.Exit}, nil
	case found.Why != "":
		fmt.Fprintf(out, "run once: no clause fails, but it was not run to its end, and was not shortened: %s\n", found.Why)
		return nil, lines, nil, nil
	default:
		fmt.Fprintln(out, "run once: no clause fails, so it was not shortened")
		return nil, lines, nil, nil
	}
	fmt.Fprintf(out, "run once: %s fails; %d lines\n", strings.Join(found.Clauses, ", "), len(lines))
	same := func(some []scenario.Line) bool {
		again, err := t.Run(ctx, some)
		same := err == nil && slices.Equal(again.Findings, found.Findings)
		if same {
			fmt.Fprintf(out, "still fails with %d lines\n", len(some))
		}
		return same
	}
	if passes := controlRun(ctx, p, t, lines, out); passes != nil {
		combined := p.(steps.RecordingConverter).CombinedSteps()
		rest = scenario.ShrinkFurther(lines, maxShrink, combined, func(some []scenario.Line) bool {
			return passes(some) && same(some)
		})
	} else {
		rest = scenario.Shrink(lines, maxShrink, same)
	}
	return found.Clauses, rest, nil, ctx.Err()
}

// controlRun returns what reports whether the bundled target, which conforms, passes some lines; nil if there is none,
// or if it does not pass all lines.
func controlRun(ctx context.Context, p steps.Protocol, t *scenario.Trial, lines []scenario.Line,
	out io.Writer) func([]scenario.Line) bool {
	own := bundle.For(suite.Kinds(), steps.Name(p), t.Role())
	if own == nil {
		return nil
	}
	right := t.Against(own.Profile, own.Launcher, own.Brain)
	passes := func(some []scenario.Line) bool {
		res, err := right.Run(ctx, some)
		return err == nil && len(res.Clauses) == 0 && (res.Judged || res.Why == "")
	}
	if !passes(lines) {
		fmt.Fprintln(out, "the bundled target, which conforms, does not pass it: only whole messages are left out")
		return nil
	}
	return passes
}
