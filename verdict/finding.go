package verdict

// A Finding is one comparison of what was expected with what was observed: that of a step, or of a monitor. It says of
// some clauses that they are kept, or broken.
//
// A model that was wrong once knows nothing more (RULINGS 9). Who follows the state of something (a session, a turn, a
// transaction, a stage) names it in Model, as a path: a deviation of "s1" also covers its part "s1/t2", not the other
// way round. Behind a model's first deviation its findings settle no clause: broken ones are kept as following from the
// first, the others are dropped. A finding without a Model is about its record alone, and always counts.
type Finding struct {
	Clauses  []string // a scenario judges those among its tags, a monitor those that it has listed
	OK       bool
	Expected string
	Observed string // where it is not OK
	Diff     string // a go-cmp diff, - expected + observed; "" where the two lines say it all
	At       int    // number of the record at which it was seen; 0 for none
	Model    string // whose state was compared; "": none, or that which Monitor.Of names for the record
	Miss     *Miss  // of steps: the wait that ended in vain, where that is the difference; nil where something came
	// of monitors, which know it: it follows from an earlier deviation of the model, be it at the same record
	Follows bool

	// Group names the kind of the difference, where a step makes many comparisons that are likely to differ alike: of one
	// kind the scenario keeps the first for each clause, and counts the others on it. "" stands alone.
	Group string
}

// Miss tells that an awaited record did not come, and what came instead.
type Miss struct {
	Reason string
	At     int // the record that ended the wait; 0 when time did
	// the limit ended the wait; a step that has found something wrong in place of what was awaited takes this back
	Late bool
}

func (m *Miss) Error() string { return m.Reason }

// Check is the finding of a wait which has ended in vain.
func (m *Miss) Check(expected string, clauses ...string) Finding {
	return Finding{Clauses: clauses, Expected: expected, Observed: m.Reason, At: m.At, Miss: m}
}
