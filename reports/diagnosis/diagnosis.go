// Package diagnosis compares what a run found with what known faults break. Every mutant of the bundled targets is a
// fault that was once made in some implementation; its signature is what it broke in the whole suite: scenario, clause
// and kind of deviation. A cause that looks like one of them is given its name.
//
// The likeness of a cause and a fault is the harmonic mean of two shares, both weighted by how rare a finding is among
// all faults:
//
//  1. how much of the cause the fault explains, and
//  2. how much of what the fault breaks, in scenarios that were judged, the run found broken.
//
// A finding of the same kind in the same scenario counts in full; one of the same kind in another scenario, or of
// another kind in the same scenario, counts in part. A name is a hint: nothing of it touches an outcome or a verdict.
package diagnosis

import (
	"cmp"
	"math"
	"slices"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/causes"
)

// Named is how many faults a cause is named after at most.
const Named = 3

// Threshold is the likeness below which a cause gets no name. A cause that shares no kind of deviation with a fault
// stays below it even if it breaks the same clauses in the same scenarios.
const Threshold = 0.66

// leastShare is the share of which the harmonic mean with 1 is the threshold.
const leastShare = Threshold / (2 - Threshold)

// What a finding counts that a fault has only nearly.
const (
	sameKind     = 0.7 // the clause with the same kind of deviation, in another scenario
	sameScenario = 0.5 // the clause with another kind of deviation, in the same scenario
)

// enough bounds the findings of a cause that are compared: more of them say no more.
const enough = 40

// Tell names the faults that the causes of each run look like.
func Tell(r *reports.Results) {
	if r.Passive {
		return
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(run.Causes) == 0 {
			continue
		}
		set, err := knownSet(setName(run.Protocol, run.Role))
		if err != nil {
			return // the file is ours, and a test reads it: a run does not depend on it
		}
		if set != nil {
			set.Tell(run)
		}
	}
}

// Tell names the faults of a set that the causes of a run look like.
func (s *Set) Tell(run *reports.Run) {
	if len(run.Causes) == 0 || len(s.faults) == 0 {
		return
	}
	found := FindingsOf(run)
	judged := map[string]bool{}
	for _, sc := range run.Scenarios {
		if sc.Outcome == verdict.Passed || sc.Outcome == verdict.Failed || sc.Outcome == verdict.Warned {
			judged[sc.ID] = true
		}
	}
	shares := s.sharesFound(found, judged)
	name := func(c *reports.Cause) {
		c.LooksLike = s.nameFaults(findingsOf(found, *c), shares)
		for j := range c.LooksLike {
			c.LooksLike[j].Judged = s.judgedOf(c.LooksLike[j].Fault, judged)
		}
	}
	for i := range run.Causes {
		name(&run.Causes[i])
	}
	united := run.UniteCauses()
	for i := range run.Causes {
		c := &run.Causes[i]
		if slices.Contains(united, c.ID) {
			name(c)
		}
		c.LooksLike = c.LooksLike[:min(len(c.LooksLike), Named)]
	}
	run.OrderCauses()
}

// judgedOf returns how much of what a fault breaks is in scenarios that were judged.
func (s *Set) judgedOf(fault string, judged map[string]bool) float64 {
	total, met := 0.0, 0.0
	for _, f := range s.faults {
		if f.ID != fault {
			continue
		}
		for _, w := range f.findings {
			total += w.weight
			if judged[w.Scenario] {
				met += w.weight
			}
		}
	}
	if total == 0 {
		return 0
	}
	return math.Round(met/total*1000) / 1000
}

// sharesFound returns how much of what each fault breaks was found broken. Scenarios that were not judged do not count;
// nil means that all were.
func (s *Set) sharesFound(found []Finding, judged map[string]bool) []float64 {
	broken := newIndex(found)
	out := make([]float64, len(s.faults))
	for i, f := range s.faults {
		list := f.findings
		if judged != nil {
			list = slices.DeleteFunc(slices.Clone(list), func(w weighed) bool { return !judged[w.Scenario] })
		}
		out[i] = shareAmong(list, broken)
	}
	return out
}

// nameFaults returns the faults that a cause looks like, the nearest first.
func (s *Set) nameFaults(cause []Finding, shares []float64) []reports.Likeness {
	var list []weighed
	for i := range min(len(cause), enough) { // evenly among all
		f := cause[i*len(cause)/min(len(cause), enough)]
		list = append(list, weighed{f, s.rarityOf(f)})
	}
	var out []reports.Likeness
	for _, n := range s.candidateFaults(cause) {
		f := &s.faults[n]
		if shares[n] < leastShare { // no explanation would lift it above the threshold
			continue
		}
		explained := shareAmong(list, f.index)
		if explained == 0 {
			continue
		}
		like := 2 * explained * shares[n] / (explained + shares[n])
		if like >= Threshold {
			out = append(out, reports.Likeness{Fault: f.ID, Why: f.Why, Likeness: math.Round(like*1000) / 1000,
				Explained: math.Round(explained*1000) / 1000})
		}
	}
	slices.SortStableFunc(out, func(a, b reports.Likeness) int {
		return cmp.Or(cmp.Compare(b.Likeness, a.Likeness), cmp.Compare(a.Fault, b.Fault))
	})
	return out
}

// candidateFaults returns the faults that break a clause of the cause.
func (s *Set) candidateFaults(cause []Finding) []int {
	seen := map[int]bool{}
	var out []int
	clauses := map[string]bool{}
	for _, f := range cause {
		if clauses[f.Clause] {
			continue
		}
		clauses[f.Clause] = true
		for _, n := range s.breaks[f.Clause] {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// weighed is a finding with its rarity.
type weighed struct {
	Finding
	weight float64
}

// shareAmong returns how much of some findings is among others.
func shareAmong(list []weighed, among index) float64 {
	total, met := 0.0, 0.0
	for _, f := range list {
		total += f.weight
		met += f.weight * among.nearness(f.Finding)
	}
	if total == 0 {
		return 0
	}
	return met / total
}

// rarityOf weighs a finding by how few faults break its clause in this way.
func (s *Set) rarityOf(f Finding) float64 {
	return math.Log(1 + float64(len(s.faults))/float64(max(1, s.frequency[kindOf(f)])))
}

// FindingsOf returns the failures and warnings of a run, each with its kind, and each once whatever the driver.
func FindingsOf(run *reports.Run) []Finding {
	seen := map[Finding]bool{}
	var out []Finding
	for _, sc := range run.Scenarios {
		for _, x := range sc.Failures {
			one := Finding{sc.ID, x.Clause, causes.ID(causes.Kind(x.Expected), causes.Kind(x.Observed))}
			if !seen[one] {
				seen[one] = true
				out = append(out, one)
			}
		}
	}
	return out
}

// findingsOf returns those findings that are a cause's: of its clauses and kinds.
func findingsOf(list []Finding, c reports.Cause) []Finding {
	kinds := map[string]bool{}
	for _, k := range c.Kinds {
		kinds[causes.ID(k.Expected, k.Observed)] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(f Finding) bool {
		return !kinds[f.Kind] || !slices.Contains(c.Clauses, f.Clause)
	})
}

// index finds what findings have in common.
type index struct {
	exact     map[Finding]bool
	kinds     map[clauseKind]bool
	scenarios map[[2]string]bool // clause and scenario
}

type clauseKind struct{ clause, kind string }

func kindOf(f Finding) clauseKind { return clauseKind{f.Clause, f.Kind} }

func newIndex(list []Finding) index {
	x := index{map[Finding]bool{}, map[clauseKind]bool{}, map[[2]string]bool{}}
	for _, f := range list {
		x.exact[f], x.kinds[kindOf(f)], x.scenarios[[2]string{f.Clause, f.Scenario}] = true, true, true
	}
	return x
}

// nearness returns how nearly a finding is among those of the index.
func (x index) nearness(f Finding) float64 {
	switch {
	case x.exact[f]:
		return 1
	case x.kinds[kindOf(f)]:
		return sameKind
	case x.scenarios[[2]string{f.Clause, f.Scenario}]:
		return sameScenario
	}
	return 0
}
