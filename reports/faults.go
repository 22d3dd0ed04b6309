package reports

import (
	"fmt"

	"parley/internal/words"
)

// Fault reports the effects of one fault of a faults file.
type Fault struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Name  string `json:"name"`
	Met   int    `json:"met"`   // messages that it matched
	Fired int    `json:"fired"` // messages that it changed, delayed or cut off
}

// Text returns the report as one line.
func (f Fault) Text() string {
	head := fmt.Sprintf("%s:%d: %s ", f.File, f.Line, f.Name)
	met := words.Counted(f.Met, "message")
	switch {
	case f.Fired > 0:
		return head + fmt.Sprintf("fired %s, of %s that it matches", words.Counted(f.Fired, "time"), met)
	case f.Met > 0:
		return head + "never fired, although " + met + " matched: none was due, or it changed none"
	}
	return head + "never fired: no message matched"
}
