// Package faultrule reads files of faults, and says what they do to messages: which fault is for which message, and
// what it makes of its content. It knows neither protocol nor transport: package fault of the simulator carries faults
// out between two programs, and the mutants of the bundled targets inside of one. Faults are deterministic: a fault is
// addressed to messages and counts them, and drawn values depend only on the seed of the file, the fault, the
// connection and the number of the message. The reference for users is docs/faults.md.
package faultrule

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/script"
)

// Bounds of a file of faults.
const (
	MaxRules = 1000             // faults in a file
	MaxDelay = 10 * time.Minute // of one message
)

// Set is a checked file of faults. It does not change.
type Set struct {
	seed  uint64
	rules []*Rule
}

// Rules returns the faults, in the order of the file.
func (s *Set) Rules() []*Rule { return slices.Clone(s.rules) }

// memberEdits are the kinds of faults that change members or the type of a message, and edits those that change its
// content in any way.
var (
	memberEdits = []string{"corrupt", "set", "remove", "rename", "wrap", "retype"}
	edits       = append(slices.Clone(memberEdits), "truncate", "bom")
)

// overPipe are the kinds of faults that lines between two processes can have: a pipe has neither frames nor ends
// without a close.
var overPipe = append([]string{"drop", "delay", "silence", "duplicate", "reorder", "behind", "burst"}, edits...)

// OverPipe returns an error, which names the line, for the first fault that messages on stdin and stdout cannot have.
func (s *Set) OverPipe(name string) error {
	return s.rejectOthers(name, "lines on stdin and stdout", overPipe)
}

// rejectOthers returns an error, which names the line, for the first fault that is not of these kinds, or not for
// messages.
func (s *Set) rejectOthers(name, where string, kinds []string) error {
	for _, r := range s.rules {
		switch {
		case !slices.Contains(kinds, r.Do):
			return fmt.Errorf("%s:%d: %s is not for %s, which can have %s", name, r.Line, r.Do, where,
				strings.Join(slices.Sorted(slices.Values(kinds)), ", "))
		case r.match.Kind() != "message":
			return fmt.Errorf("%s:%d: %s are messages only (on: {type: …})", name, r.Line, where)
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
			out = append(out, Type{name, r.Line})
		}
	}
	return out
}

// Empty reports whether there are no faults.
func (s *Set) Empty() bool { return len(s.rules) == 0 }

// Rule is one fault.
type Rule struct {
	Name string
	Line int

	match             script.Match
	connection        string
	from              []Side
	per               string // pointer to the member by whose values messages are counted; "": all together
	after             *script.Match
	nth, every, since int // 0: no condition
	chance            float64

	Do    string        // its kind
	N     int           // the number given with do
	Delay time.Duration // of delay
	Text  string        // of content-type and retype
	edits []edit        // of what changes members
	// of behind: the message that is overtaken by
	behind *script.Match
}

// Edits reports whether the fault changes the content of a message: see Hit.Edit.
func (r *Rule) Edits() bool { return slices.Contains(edits, r.Do) }

// Wire reports whether the fault changes the bytes of a message, and not its content.
func (r *Rule) Wire() bool { return kinds[r.Do].wire }

// Doubt reports whether records do not show how the receiver treats the message: it may accept it as it is, refuse it,
// or get it much later. Lost, late, double and reordered messages, and ends of connections, leave no doubt.
func (r *Rule) Doubt() bool { return kinds[r.Do].doubt }

// isDue reports whether a fault may apply to the n-th message that it is for.
func (r *Rule) isDue(n int) bool {
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

// kind describes a kind of fault.
type kind struct {
	value       value
	least, most int
	places      string // what it is for: m messages, r requests and their answers, o opens
	wire        bool   // see Rule.Wire
	doubt       bool   // see Rule.Doubt
}

// value is the type of the value after the name of a kind.
type value int

const (
	nothing value = iota
	number
	duration
	member
	words
	members
	pointers
	moves
	place
	condition
)

// maxPad bounds the size of a huge frame.
const maxPad = 64 << 20

// kinds are the kinds of faults.
var kinds = map[string]kind{
	"drop": {places: "mro"}, "delay": {value: duration, places: "mro"}, "reset": {places: "mr"},
	"corrupt":  {value: member, places: "mr", doubt: true},
	"set":      {value: members, places: "mr", doubt: true},
	"remove":   {value: pointers, places: "mr", doubt: true},
	"rename":   {value: moves, places: "mr", doubt: true},
	"wrap":     {value: place, places: "mr", doubt: true},
	"retype":   {value: words, places: "m", doubt: true},
	"truncate": {value: number, most: maxPad, places: "mr", doubt: true},
	"bom":      {places: "mr", doubt: true}, "content-type": {value: words, places: "ro", doubt: true},
	"status":  {value: number, least: 200, most: 599, places: "r", doubt: true},
	"silence": {places: "m"}, "fin": {places: "m"},
	"close":     {value: number, least: 1, most: 65535, places: "m"},
	"duplicate": {value: number, least: 1, most: 1000, places: "m"},
	"reorder":   {value: number, least: 1, most: 1000, places: "m"},
	"behind":    {value: condition, places: "m"},
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
