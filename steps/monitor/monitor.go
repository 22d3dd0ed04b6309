// Package monitor has the types for clauses that must hold in every transcript. A monitor is written once and judges
// the transcript of every scenario, whatever its subject. Monitors are pure functions of the records; those of a
// protocol are in its subpackage.
package monitor

import (
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Monitor judges whole transcripts.
type Monitor struct {
	Name    string   // short and stable, since it appears in results
	Clauses []string // all that it may judge
	Text    string   // its claim, in one sentence
	Roles   []string // of the targets that it judges; nil: all roles of the protocol
	Check   func([]transcript.Record) []verdict.Finding

	// Read is Check for a model that has taken all records, and is at its end: that of a scenario need not be folded
	// again. Nil: the monitor has no such model.
	Read func(obligation.Model) []verdict.Finding

	// PerRecord says that a finding on a record does not depend on other records of the target: the record is wrong even
	// if others were lost.
	PerRecord bool

	// Passive reports whether the monitor can judge traffic that the harness did not cause: it relies on no note, nonce or
	// order that only the harness's own acts provide.
	Passive bool

	// Of names the model of a record, so that a deviation found there by a step ends the model for the monitor too; ""
	// for none. Nil: steps name it themselves, in Finding.Model.
	Of func(transcript.Record) string
}

// FromModel returns the monitor with the Check and Read of a model: what it finds of the monitor's clauses. New returns
// a model that has taken nothing.
func (m Monitor) FromModel(New func() obligation.Model) Monitor {
	m.Check = func(t []transcript.Record) []verdict.Finding {
		return obligation.About(m.Clauses, obligation.Judge(New(), t))
	}
	m.Read = func(o obligation.Model) []verdict.Finding { return obligation.About(m.Clauses, o.Findings()) }
	return m
}

// Covers reports whether a deviation of the model outer also affects the model inner, which is the same or a part of
// it.
func Covers(outer, inner string) bool {
	return outer != "" && (inner == outer || strings.HasPrefix(inner, outer+"/"))
}

// For reports whether a monitor applies to targets of a role.
func (m Monitor) For(role string) bool { return len(m.Roles) == 0 || slices.Contains(m.Roles, role) }

// Describe renders a record for a finding.
func Describe(r transcript.Record) string {
	r.N, r.At = 0, 0
	if r.Event != nil {
		return r.Event.Type + " " + cut.Head(string(r.Bytes), 300)
	}
	return r.Line(300)
}
