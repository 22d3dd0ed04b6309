package runner

import "slices"

// Cover returns a small set of mutants that together break every clause that any mutant breaks, each clause in Proves
// of one of them. It is greedy: it repeatedly picks the first mutant that breaks the most uncovered clauses,
// and has it prove these alone, so that no scenario runs for what another mutant proves.
func Cover(all []Mutant) []Mutant {
	open := map[string]bool{}
	for _, m := range all {
		for _, id := range m.Clauses {
			open[id] = true
		}
	}
	gain := func(m Mutant) (ids []string) {
		for _, id := range m.Clauses {
			if open[id] {
				ids = append(ids, id)
			}
		}
		return ids
	}
	var out []Mutant
	for len(open) > 0 {
		best := slices.MaxFunc(all, func(a, b Mutant) int { return len(gain(a)) - len(gain(b)) })
		best.Proves = gain(best)
		for _, id := range best.Proves {
			delete(open, id)
		}
		out = append(out, best)
	}
	return out
}
