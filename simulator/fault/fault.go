// Package fault reads files of faults, and carries them out at a gate: which message of which connection is delayed,
// lost, doubled, changed, cut off or sent in pieces. It knows no protocol. Faults are deterministic: a fault is
// addressed to messages and counts them, and drawn values depend only on the seed of the file, the fault, the
// connection and the number of the message. The reference for users is docs/faults.md.
package fault

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/simulator/gate"
	"parley/simulator/script"
)

// Bounds of a file of faults.
const (
	MaxRules = 1000             // faults in a file
	MaxDelay = 10 * time.Minute // of one message
)

// Set is a checked file of faults. It does not change.
type Set struct {
	seed  uint64
	rules []rule
}

// overPipe are the kinds of faults that lines between two processes can have: a pipe has neither frames nor ends
// without a close.
var overPipe = []string{"drop", "delay", "corrupt", "truncate", "bom", "silence", "duplicate", "reorder", "burst"}

// OverPipe returns an error, which names the line, for the first fault that messages on stdin and stdout cannot have.
func (s *Set) OverPipe(name string) error {
	for _, r := range s.rules {
		switch {
		case !slices.Contains(overPipe, r.do):
			return fmt.Errorf("%s:%d: %s is not for lines on stdin and stdout, which can have %s", name, r.line, r.do,
				strings.Join(slices.Sorted(slices.Values(overPipe)), ", "))
		case r.match.Kind() != "message":
			return fmt.Errorf("%s:%d: stdin and stdout have messages only (on: {type: …})", name, r.line)
		}
	}
	return nil
}

// Type is a type of messages that a fault is for.
type Type struct {
	Name string
	Line int // of the fault
}

// Types returns the types of messages that the faults are for, in the order of the file.
func (s *Set) Types() (out []Type) {
	for _, r := range s.rules {
		for _, name := range r.match.Types() {
			out = append(out, Type{name, r.line})
		}
	}
	return out
}

// Empty reports whether there are no faults.
func (s *Set) Empty() bool { return len(s.rules) == 0 }

// rule is one fault.
type rule struct {
	name string
	line int

	match             script.Match
	connection        string
	from              []gate.Side
	nth, every, since int // 0: no condition
	chance            float64

	do     string
	n      int           // the number given with do
	delay  time.Duration // of delay
	change change        // of corrupt
	text   string        // of content-type
}

// due reports whether a fault may apply to the n-th message that it is for.
func (r *rule) due(n int) bool {
	switch {
	case r.nth > 0:
		return n == r.nth
	case n < r.since:
		return false
	case r.every > 0:
		return (n-max(r.since, 1)+1)%r.every == 0
	}
	return true
}

// Fired says what a fault has done.
type Fired struct {
	Name  string `json:"name"`
	Line  int    `json:"line"`  // its line in the file
	Met   int    `json:"met"`   // number of messages that match its on, connection and from
	Fired int    `json:"fired"` // number of messages that it has changed, held back or followed by an end
}

// kind describes a kind of fault.
type kind struct {
	value       value
	least, most int
	places      string // what it is for: m messages, r requests and their answers, o opens
	wire        bool   // it changes the bytes of a message, not its content

	// doubt says that records do not show how the receiver treats the message: it may accept it as it is, refuse it, or
	// get it much later. Lost, late, double and reordered messages, and ends of connections, leave no doubt.
	doubt bool
}

// value is the type of the value after the name of a kind.
type value int

const (
	nothing value = iota
	number
	duration
	member
	words
)

// maxPad bounds the size of a huge frame.
const maxPad = 64 << 20

// kinds are the kinds of faults.
var kinds = map[string]kind{
	"drop": {places: "mro"}, "delay": {value: duration, places: "mro"}, "reset": {places: "mr"},
	"corrupt":  {value: member, places: "mr", doubt: true},
	"truncate": {value: number, most: maxPad, places: "mr", doubt: true},
	"bom":      {places: "mr", doubt: true}, "content-type": {value: words, places: "ro", doubt: true},
	"silence": {places: "m"}, "fin": {places: "m"},
	"close":     {value: number, least: 1, most: 65535, places: "m"},
	"duplicate": {value: number, least: 1, most: 1000, places: "m"},
	"reorder":   {value: number, least: 1, most: 1000, places: "m"},
	"burst":     {value: number, least: 2, most: 1000, places: "m"},

	"half-close": {places: "m", wire: true}, "dribble": {places: "m", wire: true},
	"cr-only": {places: "m", wire: true, doubt: true},
	"cut":     {number, 0, maxPad, "m", true, true}, "split": {number, 1, maxPad, "m", true, false},
	"slow": {number, 1, 1_000_000_000, "m", true, true}, "comments": {number, 1, 1_000_000, "m", true, false},
	"pad": {number, 1, maxPad, "m", true, true}, "fragments": {number, 2, 100_000, "m", true, false},
}

// Kinds returns the names of the kinds, sorted.
func Kinds() []string {
	var out []string
	for name := range kinds {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Schema returns the JSON Schema of files of faults, for editors: every file that Parse accepts is valid by it.
func Schema() []byte { return slices.Clone(schema) }

//go:embed faults.schema.json
var schema []byte
