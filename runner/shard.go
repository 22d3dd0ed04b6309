package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/reports"
)

// Shard is a part of a run: each scenario belongs to one of Count parts, by its place among the sorted ids. Preflight
// runs in all of them. The zero Shard is the whole.
type Shard struct{ Index, Count int } // Index counts from 1

// ParseShard reads a shard such as 2/4.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(count)
	if !ok || errI != nil || errN != nil || i < 1 || n < 1 || i > n {
		return Shard{}, &UsageError{Msg: fmt.Sprintf("%q is not a shard (write it like 2/4, the second of four)", text)}
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("shard %d of %d", s.Index, s.Count) }

// report is the shard in results; nil for the whole.
func (s Shard) report() *reports.Shard {
	if s.Count == 0 {
		return nil
	}
	return &reports.Shard{Index: s.Index, Count: s.Count}
}

// part leaves in the plans of all drivers what belongs to the shard. A scenario is in the same shard over every
// driver, so that its courses can be compared.
func (s Shard) part(drivers []*driverRun) {
	if s.Count == 0 {
		return
	}
	var ids []string
	for _, d := range drivers {
		for _, pl := range d.plan {
			if pl.Stage == rest {
				ids = append(ids, pl.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, d := range drivers {
		d.plan = slices.DeleteFunc(d.plan, func(pl Planned) bool {
			at, _ := slices.BinarySearch(ids, pl.ID)
			return pl.Stage == rest && at%s.Count != s.Index-1
		})
		d.suite = len(d.plan)
		d.byKey = map[string]Planned{}
		for _, pl := range d.plan {
			d.byKey[pl.key] = pl
		}
	}
}

// checkShard rejects what cannot be divided, or not yet.
func checkShard(o Options) error {
	why := ""
	switch {
	case o.Shard.Count == 0:
		return nil
	case o.Explore > 0 || o.CutPoints:
		why = "random sequences and cut points are not divided: run them apart"
	case o.Baseline != nil:
		why = "a baseline is about the whole: give it to the merge"
	case len(o.Own) > 0:
		why = "scenarios of your own are not divided: run them apart"
	case o.Faults != nil:
		why = "a run with injected faults is not divided"
	}
	if why != "" {
		return &UsageError{Msg: "a shard is a part of the suite: " + why}
	}
	return nil
}

// everyJudgement returns the judgements of a shard for the merge; nil for a whole run, whose clauses have all.
func (r *run) everyJudgement() []reports.Judged {
	if r.o.Shard.Count == 0 {
		return nil
	}
	out := []reports.Judged{}
	for _, j := range r.judged {
		out = append(out, reports.Judged{Clause: j.Clause, Driver: j.Driver, Scenario: j.Scenario, Monitor: j.Monitor,
			Outcome: j.Outcome, Reason: r.redact.String(j.Reason), Unfinished: j.Unfinished})
	}
	slices.SortFunc(out, reports.CompareJudged)
	return out
}
