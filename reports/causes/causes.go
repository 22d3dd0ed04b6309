// Package causes groups the findings of a run by their cause. A fault shows in many scenarios, over every driver, with
// every tool and parameter, and in every clause that it concerns; a person wants to see it once.
//
// Two findings have the same cause
//
//  1. if they expect the same and saw the same kind of deviation (Kind), whichever clause, scenario or driver; or
//  2. if their kinds were found at exactly the same records: one message was wrong, and several checks say so; or
//  3. if they saw the same kind of deviation where the same was expected with other codes, of which there are several,
//     or in place of which the code was missing: the target has one way to refuse, and it is wrong; or
//  4. if they saw the same kind of deviation of the same member, and one was found only at records at which the other
//     was found, too.
//
// What follows from the divergence of a model stands under the cause in which the divergence was found. Causes are
// ordered: first those that fail a clause, among them those in which the target's process ended, then by the number of
// scenarios that they explain. The package is pure, and nothing of it touches a verdict.
package causes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Finding is one failure of a run.
type Finding struct {
	Clause   string
	Class    int  // findings of different classes never have the same cause; lower classes come first
	Rank     int  // how bad it is within its class, 0 the worst; that of a cause is the lowest of its findings
	Level    int  // how strongly its clause binds, 0 the most
	Ended    bool // the target's process ended then
	Scenario string
	Driver   string
	Record   string // where it was found, unique within its scenario and driver; "" if nowhere
	N        int    // the number of that record; 0 if unknown
	Expected string
	Observed string
	Monitor  string
	Times    int // how often it was found; at least 1
	// of findings that follow from it: the clauses and what was observed
	Following []Following
	More      int // further ones
	Index     int // the caller's; returned in Cause.Example
}

// Following is what was found after a model's divergence.
type Following struct{ Clause, Observed string }

// Cause is a group of findings with one cause.
type Cause struct {
	ID        string   // of its kind: the same in every run that finds it
	Kinds     []Pair   // the most frequent first; more than one by rule 2
	Clauses   []string // sorted
	Class     int
	Rank      int
	Ended     bool     // the target's process ended in one of its findings
	Scenarios []string // sorted; over several drivers each once
	Drivers   []string // sorted
	Findings  int
	Example   int // the index of the smallest and clearest finding
	Following []Following
	More      int // findings that follow, beyond those
	Members   []int
}

// Pair is the kind of an expectation and of what was observed instead.
type Pair struct{ Expected, Observed string }

// maxFollowing bounds what a cause keeps of what follows from it.
const maxFollowing = 5

// group is a cause in the making.
type group struct {
	pair     Pair
	class    int
	findings []Finding
	also     []Pair
}

// Of groups findings.
func Of(findings []Finding) []Cause {
	type key struct {
		Pair
		class int
	}
	at := map[key]*group{}
	var order []*group
	for _, f := range findings {
		k := key{Pair{Kind(f.Expected), Kind(f.Observed)}, f.Class}
		g := at[k]
		if g == nil {
			g = &group{pair: k.Pair, class: f.Class}
			at[k] = g
			order = append(order, g)
		}
		g.findings = append(g.findings, f)
	}
	var out []Cause
	for _, g := range uniteMembers(uniteCodes(mergeAtSameRecords(order))) {
		out = append(out, g.makeCause())
	}
	slices.SortStableFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Rank, b.Rank),
			compareTruths(a.Ended, b.Ended), cmp.Compare(len(b.Scenarios), len(a.Scenarios)),
			cmp.Compare(b.Findings, a.Findings), cmp.Compare(a.Clauses[0], b.Clauses[0]), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// mergeAtSameRecords makes one of the groups that were found at exactly the same records (rule 2).
func mergeAtSameRecords(all []*group) []*group {
	at := map[string]*group{}
	var out []*group
	for _, g := range all {
		places := g.findingPlaces()
		first := at[places]
		if places == "" || first == nil {
			at[places] = g
			out = append(out, g)
			continue
		}
		first.mergeGroup(g)
	}
	return out
}

// findingPlaces lists where the findings of a group were found; "" if one of them has no place.
func (g *group) findingPlaces() string {
	seen := g.findingRecords()
	if seen == nil {
		return ""
	}
	return string(rune('0'+g.class)) + strings.Join(slices.Sorted(maps.Keys(seen)), "\x01")
}

// findingRecords returns the records at which the findings of a group were found; nil if one of them has no place.
func (g *group) findingRecords() map[string]bool {
	seen := map[string]bool{}
	for _, f := range g.findings {
		if f.Record == "" {
			return nil
		}
		seen[f.Scenario+"\x00"+f.Driver+"\x00"+f.Record] = true
	}
	return seen
}

// mergeGroup makes one cause of two.
func (g *group) mergeGroup(other *group) {
	g.also = append(append(g.also, other.pair), other.also...)
	g.findings = append(g.findings, other.findings...)
}

func (g *group) makeCause() Cause {
	c := Cause{ID: ID(g.pair.Expected, g.pair.Observed), Kinds: append([]Pair{g.pair}, g.also...), Class: g.class,
		Rank: g.findings[0].Rank}
	clauses, scenarios, drivers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	best := g.findings[0]
	for _, f := range g.findings {
		clauses[f.Clause], scenarios[f.Scenario], drivers[f.Driver] = true, true, true
		c.Findings += max(f.Times, 1)
		c.Rank = min(c.Rank, f.Rank)
		c.Ended = c.Ended || f.Ended
		c.Members = append(c.Members, f.Index)
		for _, next := range f.Following {
			c.addFollowing(next)
		}
		c.More += f.More
		if explainsBetter(f, best) {
			best = f
		}
	}
	c.Clauses, c.Scenarios = slices.Sorted(maps.Keys(clauses)), slices.Sorted(maps.Keys(scenarios))
	c.Drivers, c.Example = slices.Sorted(maps.Keys(drivers)), best.Index
	return c
}

// addFollowing keeps one of each clause that follows, and counts the rest.
func (c *Cause) addFollowing(next Following) {
	known := slices.ContainsFunc(c.Following, func(f Following) bool { return f.Clause == next.Clause })
	if known || len(c.Following) >= maxFollowing {
		c.More++
		return
	}
	c.Following = append(c.Following, next)
}

// explainsBetter reports whether a finding explains a cause better than another: its clause fails instead of warning,
// and binds more strongly, it was not shortened, it is in the transcript that was kept, a step found it, it came after
// fewer records, and it says what happened in fewer words.
func explainsBetter(a, b Finding) bool {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Level, b.Level), compareTruths(!cutOff(a), !cutOff(b)),
		compareTruths(!inRepeat(a), !inRepeat(b)), compareTruths(a.Monitor == "", b.Monitor == ""), cmp.Compare(a.N, b.N),
		cmp.Compare(len(a.Observed)+len(a.Expected), len(b.Observed)+len(b.Expected))) < 0
}

// inRepeat reports whether a finding is of the repeated run of its scenario.
func inRepeat(f Finding) bool { return strings.Contains(f.Observed, repeated) }

func cutOff(f Finding) bool { return strings.Contains(f.Observed, "…") }

// compareTruths orders true before false.
func compareTruths(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// ID names a kind of deviation.
func ID(expected, observed string) string {
	sum := sha256.Sum256([]byte(expected + "\x00" + observed))
	return hex.EncodeToString(sum[:5])
}
