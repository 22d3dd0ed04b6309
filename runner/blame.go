package runner

import (
	"cmp"
	"slices"

	"parley/features/verdict"
	"parley/reports"
)

// Blame says how widely faults show: how many clauses each mutant breaks besides those that are its own. A mutant has
// one fault, so that each further clause is one that a person reads in vain.
type Blame struct {
	Mutants int       `json:"mutants"` // that were run through the whole suite
	Median  int       `json:"median"`
	P95     int       `json:"p95"`   // the 95th percentile
	Most    int       `json:"most"`  // of one mutant
	Worst   []Blaming `json:"worst"` // the ten that break most, at least one each
}

// Blaming is a mutant with the clauses that it breaks besides its own.
type Blaming struct {
	ID      string   `json:"id"`
	Besides []string `json:"besides"`
}

// worstShown is how many mutants are named that break most.
const worstShown = 10

// besides returns the clauses that a run found broken, apart from a mutant's own.
func besides(run reports.Run, own []string) []string {
	out := []string{}
	for _, c := range run.Clauses {
		if (c.Outcome == verdict.Failed || c.Outcome == verdict.Warned) && !slices.Contains(own, c.ID) {
			out = append(out, c.ID)
		}
	}
	return out
}

// BlameOf sums up how widely the faults of some mutants show; nil if none was run through the whole suite.
func BlameOf(list []Killed) *Blame {
	var all []Blaming
	for _, k := range list {
		if k.Besides != nil && k.Error == "" {
			all = append(all, Blaming{k.ID, k.Besides})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Blaming) int {
		return cmp.Or(cmp.Compare(len(b.Besides), len(a.Besides)), cmp.Compare(a.ID, b.ID))
	})
	// of the mutants in order, the smallest number that so many percent do not exceed
	percentile := func(percent int) int {
		rank := (len(all)*percent + 99) / 100
		return len(all[len(all)-rank].Besides)
	}
	b := &Blame{Mutants: len(all), Median: percentile(50), P95: percentile(95), Most: len(all[0].Besides)}
	for _, one := range all[:min(len(all), worstShown)] {
		if len(one.Besides) > 0 {
			b.Worst = append(b.Worst, one)
		}
	}
	return b
}
