package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// comparison holds what two sides have in common, and what they do not.
type comparison struct {
	targets     int
	groups      map[string]*tally // by the folder of the targets
	differences []difference
	onlyOld     []string       // targets
	onlyNew     []string       //
	clausesOld  map[string]int // clause that only the old side knows → number of targets
	clausesNew  map[string]int
	moved       int // targets that have another path on the new side
}

// tally counts what was compared.
type tally struct {
	targets, pairs, judged, equal, unsteady, explained, different int
	unselected                                                    int // by one side only
}

// difference is a place with other outcomes on the two sides.
type difference struct {
	target        string
	place         place
	before, after *seen
	unsteady      bool // both sides also share an outcome
	why           *explanation
}

// compareTargets compares the targets of both sides. A target that is not found by its path is searched by the last
// element of the path, its protocol and its role, because tests move.
func compareTargets(before, after outcomes, explained []*explanation) *comparison {
	c := &comparison{groups: map[string]*tally{}, clausesOld: map[string]int{}, clausesNew: map[string]int{}}
	moved := movedTargets(before, after)
	paired := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		other := name
		if after[name] == nil {
			if other = moved[name]; other == "" {
				c.onlyOld = append(c.onlyOld, name)
				continue
			}
			c.moved++
		}
		paired[other] = true
		c.pairOutcomes(name, before[name].places, after[other].places, explained)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !paired[name] {
			c.onlyNew = append(c.onlyNew, name)
		}
	}
	return c
}

// movedTargets maps old targets to new ones with the same last path element, protocol and role, if these are unique on
// each side.
func movedTargets(before, after outcomes) map[string]string {
	alone := func(side, other outcomes) map[string]string {
		found, times := map[string]string{}, map[string]int{}
		for name, t := range side {
			if other[name] == nil {
				key := t.protocol + " " + t.role + " " + path.Base(name)
				found[key] = name
				times[key]++
			}
		}
		maps.DeleteFunc(found, func(key, _ string) bool { return times[key] > 1 })
		return found
	}
	was, is := alone(before, after), alone(after, before)
	out := map[string]string{}
	for key, name := range was {
		if is[key] != "" {
			out[name] = is[key]
		}
	}
	return out
}

func (c *comparison) pairOutcomes(target string, before, after map[place]*seen, explained []*explanation) {
	group := path.Dir(target)
	if c.groups[group] == nil {
		c.groups[group] = &tally{}
	}
	t := c.groups[group]
	t.targets++
	c.targets++
	places := slices.SortedFunc(maps.Keys(before), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.clause, b.clause), cmp.Compare(a.driver, b.driver))
	})
	for _, p := range places {
		if after[p] != nil {
			c.compareOutcome(t, difference{target: target, place: p, before: before[p], after: after[p]}, explained)
		} else if p.driver == "" {
			c.clausesOld[p.clause]++
		}
	}
	for p := range after {
		if before[p] == nil && p.driver == "" {
			c.clausesNew[p.clause]++
		}
	}
}

// compareOutcome compares one place of a target.
func (c *comparison) compareOutcome(t *tally, d difference, explained []*explanation) {
	if before, after := d.before.String(), d.after.String(); (before == notSelected) != (after == notSelected) {
		t.unselected++
		return
	}
	t.pairs++
	if slices.ContainsFunc(d.before.outcomes, isJudged) && slices.ContainsFunc(d.after.outcomes, isJudged) {
		t.judged++
	}
	if d.before.String() == d.after.String() && len(d.before.outcomes) == 1 {
		t.equal++
		return
	}
	shared := func(outcome string) bool { return slices.Contains(d.after.outcomes, outcome) }
	d.unsteady = slices.ContainsFunc(d.before.outcomes, shared)
	d.why = findExplanation(explained, d.target, d.place, d.before, d.after)
	switch {
	case d.unsteady:
		t.unsteady++
	case d.why != nil:
		t.explained++
	default:
		t.different++
	}
	c.differences = append(c.differences, d)
}

// countUnexplained counts the differences that are neither explained nor unsteady.
func (c *comparison) countUnexplained() int {
	n := 0
	for _, t := range c.groups {
		n += t.different
	}
	return n
}

// differingTargets lists the targets with such differences, one per line.
func (c *comparison) differingTargets() string {
	var names []string
	for _, d := range c.differences {
		if !d.unsteady && d.why == nil {
			names = append(names, d.target+"\n")
		}
	}
	return strings.Join(slices.Compact(names), "")
}

func (c *comparison) printComparison(w io.Writer) {
	for _, d := range c.differences {
		how, why := "differs ", ""
		switch {
		case d.unsteady:
			how = "unsteady"
		case d.why != nil:
			how, why = "meant   ", "  ["+d.why.why+"]"
		}
		fmt.Fprintf(w, "%s  %s  %s: %s -> %s%s\n", how, d.target, d.place, d.before, d.after, why)
		if how == "differs " {
			fmt.Fprintf(w, "    old: %s\n    new: %s\n", firstLine(d.before.reason), firstLine(d.after.reason))
		}
	}
	for _, name := range c.onlyOld {
		fmt.Fprintf(w, "only old  %s\n", name)
	}
	for _, name := range c.onlyNew {
		fmt.Fprintf(w, "only new  %s\n", name)
	}
	for _, id := range slices.Sorted(maps.Keys(c.clausesOld)) {
		fmt.Fprintf(w, "only old  clause %s, in %d targets\n", id, c.clausesOld[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.clausesNew)) {
		fmt.Fprintf(w, "only new  clause %s, in %d targets\n", id, c.clausesNew[id])
	}
	var sum tally
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		t := c.groups[name]
		t.printTally(w, name)
		sum.targets += t.targets
		sum.pairs += t.pairs
		sum.judged += t.judged
		sum.unselected += t.unselected
		sum.equal += t.equal
		sum.unsteady += t.unsteady
		sum.explained += t.explained
		sum.different += t.different
	}
	sum.printTally(w, "all")
	if c.moved > 0 {
		fmt.Fprintf(w, "%d targets were found under another name\n", c.moved)
	}
}

func (t *tally) printTally(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: %d targets, %d outcomes (%d judged): %d equal, %d meant, %d unsteady, %d differ",
		name, t.targets, t.pairs, t.judged, t.equal, t.explained, t.unsteady, t.different)
	if t.unselected > 0 {
		fmt.Fprintf(w, "; %d more were selected by one side only", t.unselected)
	}
	fmt.Fprintln(w)
}

// firstLine returns the first line of a text, cut to a length that can be read.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return text
}
