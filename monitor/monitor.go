// Package monitor holds the clauses that must hold in every transcript. A monitor is written once and judges every
// scenario's transcript, whatever the scenario was about. Monitors are pure functions of the records; those of a
// protocol sit in its subpackage.
package monitor

import (
	"slices"
	"strings"

	"parley/internal/cut"
	"parley/transcript"
)

// Finding is what a monitor says of some clauses: that a record keeps them, or breaks them. Observed is for the latter.
//
// A model that was wrong once knows nothing more (RULINGS 9). A monitor that follows the state of something (a session, a turn, a
// transaction, a stage) names it in Model, as a path: a deviation of "s1" also covers its part "s1/t2", not the other way
// round. Behind the record of a model's first deviation its findings settle no clause: broken ones are kept as following from
// the first, the others are dropped. A finding without a Model is about its record alone, and always counts.
type Finding struct {
	Clauses  []string
	OK       bool
	Expected string
	Observed string
	At       int    // number of the record
	Model    string // whose state it was compared with; "" for none
	Follows  bool   // the monitor itself knows that it follows from an earlier deviation of the model, be it at the same record
}

// Monitor judges whole transcripts.
type Monitor struct {
	Name    string   // short and stable: it stands in results
	Clauses []string // every clause that it may judge
	Text    string   // what it holds to be true, in one sentence
	Roles   []string // the roles of the targets that it judges; nil: all that the protocol has
	Check   func([]transcript.Record) []Finding

	// Of names the model that a record belongs to, so that a deviation that a step has found there ends it too; "" for none.
	// Nil: steps tell for themselves, by steps.Check.Model.
	Of func(transcript.Record) string
}

// Covers reports whether a deviation of the model named by outer is one of the model named by inner: the same, or a part of it.
func Covers(outer, inner string) bool {
	return outer != "" && (inner == outer || strings.HasPrefix(inner, outer+"/"))
}

// For tells whether a monitor judges targets of a role.
func (m Monitor) For(role string) bool { return len(m.Roles) == 0 || slices.Contains(m.Roles, role) }

// Describe renders a record for a finding.
func Describe(r transcript.Record) string {
	r.N, r.At = 0, 0
	if r.Event != nil {
		return r.Event.Type + " " + cut.Head(string(r.Bytes), 300)
	}
	return r.Line(300)
}
