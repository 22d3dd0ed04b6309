package obligation

import (
	"slices"

	"parley/features/verdict"
	"parley/transport/transcript"
)

// Observer says what whoever folds the records knows of the traffic. It is a parameter of a model, not another model.
type Observer int

const (
	// Ours is the harness, which has sent what the party received: marks in it say what an answer belongs to, and fences
	// prove absence.
	Ours Observer = iota
	// Foreign has seen all traffic of the party with others, at a gate: a message that the party sent may have been under
	// way when it received another, and absence counts only where later messages prove it.
	Foreign
	// Partial has joined while a session was in progress, or sees some of its clients only: what is unknown permits
	// anything.
	Partial
)

// Model is a fold over the records of one transcript, of all its sessions. Records are decoded as the protocol's Bind
// does it. It is not safe for concurrent use.
type Model interface {
	Take(r transcript.Record)    // the next record
	End()                        // no record will come
	Findings() []verdict.Finding // so far, in the order of their records
	Owing() []Entry              // what is owed now, oldest first; nothing after a deviation
}

// Judge returns what a model finds in a whole transcript, of which it has taken nothing yet.
func Judge(m Model, t []transcript.Record) []verdict.Finding {
	for _, r := range t {
		m.Take(r)
	}
	m.End()
	return m.Findings()
}

// About returns findings with only those of their clauses that are in a list, without those that have none.
func About(clauses []string, found []verdict.Finding) (out []verdict.Finding) {
	for _, f := range found {
		f.Clauses = slices.DeleteFunc(slices.Clone(f.Clauses), func(id string) bool { return !slices.Contains(clauses, id) })
		if len(f.Clauses) > 0 {
			out = append(out, f)
		}
	}
	return out
}
