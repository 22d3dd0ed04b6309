package steps

import "parley/transport/transcript"

// Teller is an optional interface of protocols whose recordings can be converted to steps.
type Teller interface {
	// Tell starts the conversion of a recording. Call the returned function with the records in order, as a reader
	// of recordings gives them: without events. It returns the steps that do what a record of the harness did, and that
	// state what the protocol demands in answer; never what a target happened to answer. known is false if the harness
	// sent something that no step expresses. After the last record, call it with the zero Record. Text below
	// a step, such as a table, follows after a line break. The function is not safe for concurrent use.
	Tell(what Told) func(r transcript.Record) (lines []string, known bool)
	// Dials reports whether targets of a role connect to the harness. Their recordings are converted from the view of the
	// side that recorded; all others from the client's view, whichever side recorded.
	Dials(role string) bool
	// Folds returns steps that can replace several others. They are tried in order.
	Folds() []Fold
}

// Fold is a step that replaces several.
type Fold struct {
	Steps []string // expressions of consecutive steps; groups with the same name must match the same text
	By    string   // the replacing step; $name is the match of that group
}

// Told describes the converted recording.
type Told struct {
	Role   string // of the target; "" if unknown
	Driver string // "" if unknown
}
