package steps

import "parley/transcript"

// Teller is an optional interface of protocols whose recordings can be told as steps.
type Teller interface {
	// Tell begins a recording. The function that it returns is given the records of the recording, in order, as a reader
	// of recordings gives them: without events. It returns the steps that do what a record of the harness did, and that
	// state what the protocol demands in answer; never what a target happened to answer. known is false if the harness
	// sent something that no step says. The function is not safe for concurrent use.
	Tell() func(r transcript.Record) (lines []string, known bool)
}
