// Package monitor holds the clauses that must hold in every transcript. A monitor is written once and judges every
// scenario's transcript, whatever the scenario was about. Monitors are pure functions of the records; those of a
// protocol sit in its subpackage.
package monitor

import (
	"slices"
	"strings"

	"parley/internal/cut"
	"parley/transcript"
	"parley/verdict"
)

// Finding is what a monitor says of some clauses: that a record keeps them, or breaks them.
type Finding = verdict.Finding

// Monitor judges whole transcripts.
type Monitor struct {
	Name    string   // short and stable: it stands in results
	Clauses []string // every clause that it may judge
	Text    string   // what it holds to be true, in one sentence
	Roles   []string // the roles of the targets that it judges; nil: all that the protocol has
	Check   func([]transcript.Record) []Finding

	// PerRecord says that what it finds in a record depends on no other that the target has sent: it is wrong whatever
	// else was lost.
	PerRecord bool

	// Of names the model that a record belongs to, so that a deviation that a step has found there ends it too; "" for
	// none. Nil: steps tell for themselves, by Finding.Model.
	Of func(transcript.Record) string
}

// Covers reports whether a deviation of the model named by outer is one of the model named by inner: the same, or a
// part of it.
func Covers(outer, inner string) bool {
	return outer != "" && (inner == outer || strings.HasPrefix(inner, outer+"/"))
}

// For reports whether a monitor judges targets of a role.
func (m Monitor) For(role string) bool { return len(m.Roles) == 0 || slices.Contains(m.Roles, role) }

// Describe renders a record for a finding.
func Describe(r transcript.Record) string {
	r.N, r.At = 0, 0
	if r.Event != nil {
		return r.Event.Type + " " + cut.Head(string(r.Bytes), 300)
	}
	return r.Line(300)
}
