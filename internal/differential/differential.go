// Package differential runs two targets under the same scenarios, and lists where they differ. A difference is one
// entry, however many scenarios show it, with the clauses that decide it, if any. The list shows the authors of a
// document where it leaves two implementations free to disagree.
package differential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"parley/features/verdict"
	"parley/protocol/messages"
	"parley/reports"
	"parley/runner"
	"parley/simulator/replay"
	"parley/transport/recording"
)

// Side is one of the two targets.
type Side struct {
	Name string // as the user named it
	// makes the options of one run of the target, since a launcher serves one run only. Run sets Out, Salt and Enough
	Options func() runner.Options
	Fresh   bool // each run starts a new target
}

// Options configure a comparison.
type Options struct {
	A, B Side
	Out  string // folder: the results of the runs are in its folders a and b
	// writes the results of a run to a folder; an error ends the comparison
	Save func(dir string, r *reports.Results) error
	Salt uint32 // of the runs; 0: drawn
	// called with the number of scenarios that differ, before they run again; may be nil
	Again func(scenarios int)
}

// Run runs both targets, A first. For each difference, a few of the scenarios that show it run again: a difference that
// does not recur, or that occurs between two runs of one target, is dropped. Errors are those of runner.Run, and of
// files.
func Run(ctx context.Context, o Options) (*Report, error) {
	salt := cmp.Or(o.Salt, rand.Uint32N(0xffffff)+1)
	first, err := o.runBoth(ctx, filepath.Join(o.Out, "a"), filepath.Join(o.Out, "b"), salt, nil, 0)
	if err != nil {
		return nil, err
	}
	for i, r := range first {
		if err := o.Save(filepath.Join(o.Out, []string{"a", "b"}[i]), r.results); err != nil {
			return nil, err
		}
	}
	rep := newReport(o, first)
	if rep.Exit != verdict.ExitConformant {
		return rep, nil
	}
	found, err := compareRuns(first[0], first[1])
	if err != nil {
		return nil, err
	}
	rep.Scenarios, rep.Compared, rep.NotCompared = found.scenarios, found.compared, found.notCompared
	rep.Parted, rep.Mapped = found.parted, found.mapped
	if found.scenarios == 0 {
		rep.Exit, rep.Problem = verdict.ExitUnreachable, "no scenario can be compared: "+found.mainReason()
		return rep, nil
	}
	if err := o.rerunDiffering(ctx, rep, first, found, salt); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		rep.Exit, rep.Problem = verdict.ExitInterrupted, "interrupted"
		return rep, nil
	}
	rep.Entries = groupFindings(found)
	if len(rep.Entries) > 0 {
		rep.Exit = verdict.ExitNonConformant
	}
	return rep, nil
}

// Scenarios that differ run again: first some for each difference, then all for the differences that few of them show.
const (
	againRounds = 3
	rarely      = 3 // a difference in at most this many scenarios is checked in each round
)

// rerunDiffering runs the scenarios that differ again, and removes differences that are not steady from found.
func (o Options) rerunDiffering(ctx context.Context, rep *Report, first [2]oneRun, found *findings, salt uint32) error {
	dir, err := os.MkdirTemp("", "parley-differential-")
	if err != nil {
		return fmt.Errorf("make a folder for the further runs: %w", err)
	}
	defer os.RemoveAll(dir)
	before := found.size()
	for round := range againRounds {
		doubted := found.findingsToCheck(round > 0)
		if len(doubted) == 0 {
			break
		}
		ids := map[string]bool{}
		for d := range doubted {
			ids[d.id] = true
		}
		if o.Again != nil && round == 0 {
			o.Again(len(ids))
		}
		if !o.A.Fresh || !o.B.Fresh {
			salt++ // a target that keeps running may remember the names
		}
		next, err := o.runBoth(ctx, filepath.Join(dir, "a"), filepath.Join(dir, "b"), salt, ids, round)
		if err != nil || ctx.Err() != nil {
			return err
		}
		for i, r := range next {
			if why := r.whyUnjudged(); why != "" {
				rep.Exit, rep.Problem = verdict.ExitUnreachable, []string{o.A.Name, o.B.Name}[i]+", when it ran again: "+why
				return nil
			}
		}
		if err := found.confirmFindings(first, next, doubted); err != nil {
			return err
		}
	}
	rep.Unsteady = before - found.size()
	return nil
}

// confirmFindings removes the differences that do not recur between further runs, or that occur between two runs of one
// target.
func (f *findings) confirmFindings(first, next [2]oneRun, doubted map[doubt]bool) error {
	cross, err := compareRuns(next[0], next[1])
	if err != nil {
		return err
	}
	for i := range first {
		self, err := compareRuns(first[i], next[i])
		if err != nil {
			return err
		}
		f.dropNoise(self)
	}
	f.dropUnconfirmed(cross, doubted)
	return nil
}

// oneRun is a run of one target.
type oneRun struct {
	dir     string
	results *reports.Results
}

// runBoth runs the targets one after the other. In odd rounds, B is first; after round 0, few scenarios run at a time.
// ids are the scenarios to run; nil for all.
func (o Options) runBoth(ctx context.Context, a, b string, salt uint32, ids map[string]bool, round int) (out [2]oneRun,
	_ error) {
	sides, dirs := []Side{o.A, o.B}, []string{a, b}
	for k := range sides {
		i := (k + round) % 2
		if err := runner.PrepareOut(dirs[i]); err != nil {
			return out, err
		}
		opts := sides[i].Options()
		opts.Out, opts.Salt = dirs[i], salt
		if ids != nil {
			opts.Observer = nil
			opts.Enough = func(p runner.Planned) bool { return !ids[p.ID] }
		}
		if round > 0 {
			opts.Concurrency = 4
		}
		res, err := runner.Run(ctx, opts)
		if err != nil {
			return out, fmt.Errorf("%s: %w", sides[i].Name, err)
		}
		out[i] = oneRun{dir: dirs[i], results: res}
	}
	return out, nil
}

// whyUnjudged says why a target could not be judged; "" if it could.
func (r oneRun) whyUnjudged() string {
	if r.results.Exit == verdict.ExitHarness {
		return "the harness failed"
	}
	return r.results.Runs[0].Environment
}

// place is one scenario over one driver.
type place struct{ id, driver string }

// occurrence is one difference in one scenario.
type occurrence struct {
	place
	dev  replay.Deviation
	key  string // by which it is grouped
	at   int    // index of the place of dev within a message that both sent
	a, b *reports.Scenario
	// the failures of one side that this difference explains
	decided []decision
	behind  bool // an earlier difference may have caused it
}

// decision is a clause that one side breaks and the other does not.
type decision struct {
	failure reports.Failure
	side    string // "a" or "b"
}

// findings are the differences between two runs.
type findings struct {
	scenarios, compared int
	parted              int // scenarios in which the harness acted differently towards the two
	mapped              bool
	notCompared         map[string]int // reason → scenarios
	all                 []occurrence
	alone               []verdictOnly
}

// verdictOnly is a clause that one side breaks although both sent the same.
type verdictOnly struct {
	place
	decision
	a, b *reports.Scenario
}

// compareRuns compares two runs.
func compareRuns(a, b oneRun) (*findings, error) {
	out := &findings{notCompared: map[string]int{}}
	theirs := map[place]*reports.Scenario{}
	for i := range b.results.Runs[0].Scenarios {
		sc := &b.results.Runs[0].Scenarios[i]
		theirs[place{sc.ID, sc.Driver}] = sc
	}
	set := messages.For(a.results.Runs[0].Protocol)
	for i := range a.results.Runs[0].Scenarios {
		mine := &a.results.Runs[0].Scenarios[i]
		other := theirs[place{mine.ID, mine.Driver}]
		if why := whyIncomparable(mine, other); why != "" {
			out.notCompared[why]++
			continue
		}
		found, err := compareScenario(filepath.Join(a.dir, mine.Recording.Path),
			filepath.Join(b.dir, other.Recording.Path), set)
		if err != nil {
			return nil, fmt.Errorf("%s over %s: %w", mine.ID, mine.Driver, err)
		}
		if found.Parted && found.Compared == 0 && len(found.Deviations) == 0 {
			out.notCompared["the harness did something else from the start: the profiles give messages other fields or types"]++
			continue
		}
		if found.Parted {
			out.parted++
		}
		out.mapped = out.mapped || found.Mapped
		out.scenarios++
		out.compared += found.Compared
		out.addScenario(mine, other, found.Deviations)
	}
	return out, nil
}

// mainReason returns the most frequent reason why scenarios are not compared.
func (f *findings) mainReason() string { return mostFrequent(f.notCompared) }

// whyIncomparable says why a scenario is not compared; "" if it is.
func whyIncomparable(a, b *reports.Scenario) string {
	if b == nil {
		return "it was planned for one target alone"
	}
	common := min(len(a.Steps), len(b.Steps)) // a scenario that fails may end early
	switch {
	case a.Recording == nil && b.Recording == nil:
		return "it ran against neither"
	case b.Recording == nil:
		return "it did not run against B: " + cmp.Or(b.Reason, string(b.Outcome))
	case a.Recording == nil:
		return "it did not run against A: " + cmp.Or(a.Reason, string(a.Outcome))
	case !slices.EqualFunc(a.Steps[:common], b.Steps[:common], func(x, y reports.Step) bool { return x.Text == y.Text }):
		return "its steps are not the same: a random sequence that was shortened"
	}
	return ""
}

func compareScenario(a, b string, set *messages.Set) (replay.Comparison, error) {
	one, err := os.Open(a)
	if err != nil {
		return replay.Comparison{}, err
	}
	defer one.Close()
	two, err := os.Open(b)
	if err != nil {
		return replay.Comparison{}, err
	}
	defer two.Close()
	inA, errA := recording.NewReader(one)
	inB, errB := recording.NewReader(two)
	if err := errors.Join(errA, errB); err != nil {
		return replay.Comparison{}, err
	}
	return replay.CompareRecordings(inA, inB, replay.Options{Messages: set})
}
