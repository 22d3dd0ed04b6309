package verdict

// Worst has the worst outcome so far of each clause, for what judges while something goes on.
type Worst map[string]Outcome

// Take adds an outcome, and reports whether it is the first of its clause, or worse.
func (w Worst) Take(clause string, o Outcome) bool {
	if was, ok := w[clause]; ok && rank[o] <= rank[was] {
		return false
	}
	w[clause] = o
	return true
}
