package steps

import "parley/transcript"

// Teller is an optional interface of protocols whose recordings can be told as steps.
type Teller interface {
	// Tell begins a recording. The function that it returns is given the records of the recording, in order, as a reader
	// of recordings gives them: without events. It returns the steps that do what a record of the harness did, and that
	// state what the protocol demands in answer; never what a target happened to answer. known is false if the harness
	// sent something that no step says. Behind the last record it is given the zero Record. What stands below
	// a step, such as a table, is behind a line break. The function is not safe for concurrent use.
	Tell(what Told) func(r transcript.Record) (lines []string, known bool)
	// Dials reports whether targets of a role connect to the harness. Their recordings are told as they were made; all
	// others as if they had been made at the client's end, whoever made them.
	Dials(role string) bool
	// Folds returns the steps that do what several told ones do. They are tried in order.
	Folds() []Fold
}

// Fold is a step that does what several do.
type Fold struct {
	Steps []string // expressions of consecutive steps, whose groups of one name must match the same
	By    string   // the step; $name is what the group has matched
}

// Told says what recording is told.
type Told struct {
	Role   string // of the target; "" if the recording does not say
	Driver string // "" if the recording does not say
}
