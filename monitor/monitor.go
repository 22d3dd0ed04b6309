// Package monitor holds the clauses that must hold in every transcript. A monitor is written once and judges every
// scenario's transcript, whatever the scenario was about. Monitors are pure functions of the records; those of a
// protocol sit in its subpackage.
package monitor

import (
	"slices"
	"unicode/utf8"

	"parley/transcript"
)

// Finding is what a monitor says of some clauses: that a record keeps them, or breaks them. Observed is for the latter.
type Finding struct {
	Clauses  []string
	OK       bool
	Expected string
	Observed string
	At       int // number of the record
}

// Monitor judges whole transcripts.
type Monitor struct {
	Name    string   // short and stable: it stands in results
	Clauses []string // every clause that it may judge
	Text    string   // what it holds to be true, in one sentence
	Roles   []string // the roles of the targets that it judges; nil: all that the protocol has
	Check   func([]transcript.Record) []Finding
}

// For tells whether a monitor judges targets of a role.
func (m Monitor) For(role string) bool { return len(m.Roles) == 0 || slices.Contains(m.Roles, role) }

// Describe renders a record for a finding.
func Describe(r transcript.Record) string {
	r.N, r.At = 0, 0
	if r.Event != nil {
		return r.Event.Type + " " + string(clip(r.Bytes, 300))
	}
	return r.Line(300)
}

// clip keeps the first n bytes, whole characters of them.
func clip(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return append(append([]byte{}, b[:n]...), "…"...)
}
