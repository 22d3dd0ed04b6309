package reports

import (
	"cmp"
	"slices"
	"strings"

	"parley/features/verdict"
)

// UniteCauses makes one of causes with the same outcome that one known fault is likely to have brought about: it breaks
// what each of them found, and most of what it breaks was found. Of several such faults the one that explains most
// causes counts. The first cause keeps its id; the example is that of the strongest level; what it looks like is left
// for the caller to find anew, by all that was found. It returns the ids of these causes.
func (r *Run) UniteCauses() (ids []string) {
	for {
		fault, outcome := r.commonFault()
		if fault == "" {
			return ids
		}
		whole := func(c Cause) bool { return c.Outcome == outcome && c.likeness(fault) >= likely }
		first := slices.IndexFunc(r.Causes, whole)
		for _, c := range r.Causes[first+1:] {
			if whole(c) {
				r.Causes[first] = r.unite(r.Causes[first], c)
			}
		}
		rest := slices.DeleteFunc(slices.Clone(r.Causes[first+1:]), whole)
		r.Causes = append(r.Causes[:first+1], rest...)
		r.Causes[first].LooksLike = nil
		ids = append(ids, r.Causes[first].ID)
	}
}

// commonFault returns the fault that is likely to be behind most causes of an outcome, if it is behind several; of
// equals the one that they look like most.
func (r *Run) commonFault() (fault string, outcome verdict.Outcome) {
	type key struct {
		fault   string
		outcome verdict.Outcome
	}
	count, sum := map[key]int{}, map[key]float64{}
	for _, c := range r.Causes {
		for _, l := range c.LooksLike {
			if l.Likeness >= likely && l.Judged >= someJudged {
				count[key{l.Fault, c.Outcome}]++
				sum[key{l.Fault, c.Outcome}] += l.Likeness
			}
		}
	}
	var best key
	for k, n := range count {
		if n > 1 && (best.fault == "" || cmp.Or(cmp.Compare(n, count[best]), cmp.Compare(sum[k], sum[best]),
			cmp.Compare(best.fault, k.fault), cmp.Compare(best.outcome, k.outcome)) > 0) {
			best = k
		}
	}
	return best.fault, best.outcome
}

// someJudged is how much of a fault has to be judged before it unites causes.
const someJudged = 0.25

// likeness returns how much a cause looks like a fault, from 0 to 1.
func (c Cause) likeness(fault string) float64 {
	for _, l := range c.LooksLike {
		if l.Fault == fault {
			return l.Likeness
		}
	}
	return 0
}

// unite returns what two causes with one fault explain.
func (r *Run) unite(a, b Cause) Cause {
	a.Clauses, a.Scenarios, a.Drivers = union(a.Clauses, b.Clauses), union(a.Scenarios, b.Scenarios),
		union(a.Drivers, b.Drivers)
	a.Findings += b.Findings
	a.Kinds = slices.Concat(a.Kinds, b.Kinds)
	a.Following, a.MoreFollowing = slices.Concat(a.Following, b.Following), a.MoreFollowing+b.MoreFollowing
	if levelRank(r.at(b.Example).Failure.Level) < levelRank(r.at(a.Example).Failure.Level) {
		a.Example = b.Example
	}
	return a
}

// misplaced are the words with which findings say that a message belongs to another session, or answers another
// request. What is missing elsewhere follows from it.
var misplaced = []string{"of another session", "another relay session", "under another id"}

func (f Failure) isMisplaced() bool {
	return slices.ContainsFunc(misplaced, func(words string) bool {
		return strings.Contains(f.Expected, words) || strings.Contains(f.Observed, words)
	})
}

// OrderCauses orders the causes of each outcome: first those in which the target's process ended, then those of which a
// message belongs to another session or request, then those that clearly look like a known fault.
func (r *Run) OrderCauses() {
	var outcomes []verdict.Outcome
	for _, c := range r.Causes {
		outcomes = append(outcomes, c.Outcome)
	}
	rank := func(c Cause) int {
		at := r.at(c.Example)
		switch {
		case at.Scenario != nil && strings.Contains(at.Failure.Observed, processEnded):
			return 0
		case at.Scenario != nil && at.Failure.isMisplaced():
			return 1
		case c.Alike():
			return 2
		}
		return 3
	}
	slices.SortStableFunc(r.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(slices.Index(outcomes, a.Outcome), slices.Index(outcomes, b.Outcome)),
			cmp.Compare(rank(a), rank(b)))
	})
}

// union returns the values of two lists, sorted, each once.
func union[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
