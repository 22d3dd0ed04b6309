package runner

import "slices"

// Cover returns a small set of mutants that together break every clause that any mutant breaks. It is greedy: it
// repeatedly picks the first mutant that breaks the most uncovered clauses.
func Cover(all []Mutant) []Mutant {
	open := map[string]bool{}
	for _, m := range all {
		for _, id := range m.Clauses {
			open[id] = true
		}
	}
	gain := func(m Mutant) (n int) {
		for _, id := range m.Clauses {
			if open[id] {
				n++
			}
		}
		return n
	}
	var out []Mutant
	for len(open) > 0 {
		best := slices.MaxFunc(all, func(a, b Mutant) int { return gain(a) - gain(b) })
		for _, id := range best.Clauses {
			delete(open, id)
		}
		out = append(out, best)
	}
	return out
}
