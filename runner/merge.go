package runner

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/reports"
	"parley/verdict"
)

// Count tells how many scenarios runs would run, each over each of its drivers, and runs nothing. A *UsageError says
// why one of them cannot be.
func Count(runs ...Options) (int, error) {
	n := 0
	for _, o := range runs {
		r, err := newRun(o)
		if err != nil {
			return 0, err
		}
		n += r.planned()
		r.close()
	}
	return n, nil
}

// sideBySide is how many runs RunAll carries out at once: while one waits for its last scenarios the next is at work.
const sideBySide = 2

// RunAll carries out runs, up to two at once and each against a target of its own, and merges what they found in the
// order in which they were given. Those that ctx ends before they begin are in the results as not tested. Errors are
// those of Run; Count tells beforehand whether there will be one.
func RunAll(ctx context.Context, runs ...Options) (*reports.Results, error) {
	found := make([]*reports.Results, len(runs))
	var g errgroup.Group
	g.SetLimit(sideBySide)
	for i, o := range runs {
		g.Go(func() (err error) {
			carryOut := Run
			if ctx.Err() != nil {
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

// leaveOut gives the results of a run that ctx has ended before it began.
func leaveOut(ctx context.Context, o Options) (*reports.Results, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.started = time.Now()
	return r.report(ctx), nil
}

// Merge makes one of the results of several runs of one suite, made on the same terms, in their order; of none it is
// nil. The verdict is the worst; the exit code is the one that counts where several apply; the time is from the first
// start to the last end.
func Merge(results ...*reports.Results) *reports.Results {
	if len(results) == 0 {
		return nil
	}
	all := *results[0]
	all.Runs = slices.Clone(all.Runs)
	end := ended(&all)
	for _, r := range results[1:] {
		all.Verdict = firstOf(verdicts, all.Verdict, r.Verdict)
		all.Exit = firstOf(exits, all.Exit, r.Exit)
		all.Partial = all.Partial || r.Partial
		all.Selection = both(all.Selection, r.Selection)
		if r.Started.Before(all.Started) {
			all.Started = r.Started
		}
		if e := ended(r); e.After(end) {
			end = e
		}
		all.Runs = append(all.Runs, r.Runs...)
	}
	all.Duration = millis(end.Sub(all.Started))
	return &all
}

// verdicts, the worst first.
var verdicts = []verdict.Verdict{verdict.NonConformant, verdict.Incomplete, verdict.AsExpected, verdict.Conformant}

// exits in the order of the contract: where several apply, the first counts.
var exits = []int{verdict.ExitInterrupted, verdict.ExitUsage, verdict.ExitHarness, verdict.ExitUnreachable,
	verdict.ExitNonConformant, verdict.ExitIncomplete, verdict.ExitConformant}

// firstOf is whichever of two stands first in an order.
func firstOf[T comparable](order []T, a, b T) T {
	if slices.Index(order, b) < slices.Index(order, a) {
		return b
	}
	return a
}

func ended(r *reports.Results) time.Time {
	return r.Started.Add(time.Duration(math.Round(r.Duration * float64(time.Millisecond))))
}

// both joins what narrowed two runs; what is the same is said once.
func both(a, b string) string {
	const and = "; "
	parts := strings.Split(a, and)
	for part := range strings.SplitSeq(b, and) {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), and)
}
