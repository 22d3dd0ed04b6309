package runner

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/features/verdict"
	"parley/reports"
)

// Count returns how many scenarios the runs would execute, counting each driver, without running anything. It returns
// a *UsageError if one of them cannot run.
func Count(runs ...Options) (int, error) {
	n := 0
	for _, o := range runs {
		r, err := newRun(o)
		if err != nil {
			return 0, err
		}
		n += r.planScenarios()
		r.closeRun()
	}
	return n, nil
}

// sideBySide is how many runs RunAll executes in parallel: while one waits for its last scenarios, the next is at
// work.
const sideBySide = 2

// RunAll executes runs, up to two in parallel and each against its own target, and merges their results in the given
// order. Runs that have not begun when ctx ends are in the results as not tested. Errors are those of Run; Count
// finds them in advance.
func RunAll(ctx context.Context, runs ...Options) (*reports.Results, error) {
	found := make([]*reports.Results, len(runs))
	var g errgroup.Group
	g.SetLimit(sideBySide)
	for i, o := range runs {
		g.Go(func() (err error) {
			carryOut := Run
			if ctx.Err() != nil || o.FailFast.Why() != "" {
				carryOut = leaveOut
			}
			found[i], err = carryOut(ctx, o)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return Merge(found...), nil
}

// leaveOut returns the results of a run that had not begun when ctx ended.
func leaveOut(ctx context.Context, o Options) (*reports.Results, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	defer r.closeRun()
	r.started = time.Now()
	return r.sumUpRun(ctx), nil
}

// Merge merges the results of several runs of one suite with the same options, in order; it returns nil for no
// results. The verdict is the worst; the exit code is the one with the highest precedence; the time spans the first
// start to the last end.
func Merge(results ...*reports.Results) *reports.Results {
	if len(results) == 0 {
		return nil
	}
	all := *results[0]
	all.Runs = slices.Clone(all.Runs)
	end := hasEnded(&all)
	for _, r := range results[1:] {
		all.Verdict = firstOf(verdicts, all.Verdict, r.Verdict)
		all.Exit = firstOf(exits, all.Exit, r.Exit)
		all.Partial = all.Partial || r.Partial
		all.Selection = joinFilters(all.Selection, r.Selection)
		all.Options = eitherOptions(all.Options, r.Options)
		if r.Started.Before(all.Started) {
			all.Started = r.Started
		}
		if e := hasEnded(r); e.After(end) {
			end = e
		}
		all.Runs = append(all.Runs, r.Runs...)
	}
	all.Duration = millis(end.Sub(all.Started))
	return &all
}

// verdicts, worst first.
var verdicts = []verdict.Verdict{verdict.NonConformant, verdict.Incomplete, verdict.AsExpected, verdict.Conformant}

// exits in order of precedence: where several apply, the first counts.
var exits = []int{verdict.ExitInterrupted, verdict.ExitUsage, verdict.ExitHarness, verdict.ExitUnreachable,
	verdict.ExitNonConformant, verdict.ExitIncomplete, verdict.ExitConformant}

// firstOf returns whichever of a and b comes first in an order.
func firstOf[T comparable](order []T, a, b T) T {
	if slices.Index(order, b) < slices.Index(order, a) {
		return b
	}
	return a
}

func hasEnded(r *reports.Results) time.Time {
	return r.Started.Add(time.Duration(math.Round(r.Duration * float64(time.Millisecond))))
}

// joinFilters joins the filters of two runs, without repeating equal ones.
func joinFilters(a, b string) string {
	const and = "; "
	parts := strings.Split(a, and)
	for part := range strings.SplitSeq(b, and) {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), and)
}
