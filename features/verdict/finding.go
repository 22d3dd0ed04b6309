package verdict

// A Finding is one comparison of expectation and observation, by a step or a monitor. It says of some clauses that they
// are kept or broken.
//
// A model that was wrong once knows nothing more (RULINGS 9). A finding that depends on tracked state (of a session,
// a turn, a transaction, a stage) names it in Model, as a path: a deviation of "s1" also affects its part "s1/t2",
// but not vice versa. Findings after a model's first deviation decide no clause: failures are kept as following from
// the first one, the others are dropped. A finding without a Model is about its record alone, and always counts.
type Finding struct {
	Clauses  []string // a scenario judges those among its tags, a monitor those that it has listed
	OK       bool
	Expected string
	Observed string // set if not OK
	Diff     string // a go-cmp diff, - expected + observed; "" if the two lines suffice
	At       int    // number of the record at which it was seen; 0 for none
	Model    string // the model whose state was compared; "": none, or the record's according to Monitor.Of
	Miss     *Miss  // of steps: the wait that failed, if that is the difference; nil if something came
	// set by monitors: it follows from an earlier deviation of the model, even one at the same record
	Follows bool

	// Group names the kind of difference, for steps with many comparisons that tend to fail alike. Of one group, the
	// scenario keeps the first for each clause and counts the others on it. "" is never grouped.
	Group string
}

// Miss says that an awaited record did not come, and why.
type Miss struct {
	Reason string
	At     int // the record that ended the wait; 0 if it timed out
	// the wait timed out; a step that has found something wrong in place of the awaited record resets this
	Late bool
	// nothing is owed: no act was made that the record would answer, or none that reached the target, or the user or a
	// limit of the harness ended the wait. Its finding leaves clauses not tested
	NotOwed bool
}

func (m *Miss) Error() string { return m.Reason }

// Check returns the finding of a failed wait.
func (m *Miss) Check(expected string, clauses ...string) Finding {
	return Finding{Clauses: clauses, Expected: expected, Observed: m.Reason, At: m.At, Miss: m}
}
