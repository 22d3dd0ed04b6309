package reports

import (
	"cmp"
	"slices"
)

// UniteCauses makes one of causes with the same outcome that look like the same fault, each of them more than possibly:
// the fault breaks what each of them found, and little else. The first of them keeps its id; the example is that of the
// strongest level. Causes that only possibly look like a fault stay apart, as another one may be behind each.
func (r *Run) UniteCauses() {
	at := map[string]int{}
	var out []Cause
	for _, c := range r.Causes {
		if !c.Alike() {
			out = append(out, c)
			continue
		}
		key := string(c.Outcome) + " " + c.LooksLike[0].Fault
		i, known := at[key]
		if !known {
			at[key] = len(out)
			out = append(out, c)
			continue
		}
		out[i] = r.unite(out[i], c)
	}
	r.Causes = out
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
	if b.LooksLike[0].Likeness > a.LooksLike[0].Likeness {
		a.LooksLike = b.LooksLike
	}
	return a
}

// union returns the values of two lists, sorted, each once.
func union[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
