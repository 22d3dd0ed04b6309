// Package model is the model of agent-client: what a page owes its server and its user. It is a fold over the records
// of a transcript, decoded as by the package of the steps.
//
// In a run of the harness (obligation.Ours) it sees what the user does, and how the page looks: a choice obliges the
// page to a switch, a click to a request. Of traffic between others (obligation.Foreign) it sees the page's requests,
// the answers and the event stream alone. A message of the server may then still be in flight when the page acts, and
// nothing shows that it has arrived. So a request is judged by the page's own messages, by what no state of the page
// allows, or, once a switch was answered on the stream, by the messages before that answer: until the answer arrives,
// the selector is disabled. A page that breaks this rule is judged by single messages only. No judgement depends on
// time.
//
// What a person must see is owed as well (sights.go): a look at the page settles it, and the steps judge it.
package model

import (
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Model is the state of all pages as derived from the records so far. It implements obligation.Model.
type Model struct {
	observer obligation.Observer
	out      []found
	shown    map[[2]string]bool // subjects and clauses that were shown to hold
	tally    obligation.Tally
	duties   obligation.Duties // nil: not collected
	pages    map[string]*page
}

// found is a finding on a subject.
type found struct {
	verdict.Finding
	subject string
}

// New returns the model of a transcript that has no record yet.
func New(o obligation.Observer) *Model {
	return &Model{observer: o, shown: map[[2]string]bool{}, pages: map[string]*page{}, tally: obligation.Tally{}}
}

// api is what follows a page's name in the names of its connections in a run: its requests are those of "A api", and
// its streams are "A api 1", "A api 2", …
const api = " api"

// pageOf returns the name of the page that a connection belongs to: "" for the connections of a gate, which do not tell
// pages apart.
func (m *Model) pageOf(conn string) string {
	name, _, ofServer := strings.Cut(conn, api)
	if !ofServer && m.observer != obligation.Ours {
		return ""
	}
	return name
}

// Take implements obligation.Model.
func (m *Model) Take(r transcript.Record) {
	if r.Late {
		return
	}
	if r.Kind == transcript.Ask {
		m.administers(&r)
	}
	if m.observer == obligation.Ours && r.Dir == transcript.Noted && r.Conn == "" {
		m.remarks(&r)
		return
	}
	name := m.pageOf(r.Conn)
	p := m.pages[name]
	if p == nil {
		p = newPage(m, name)
		m.pages[name] = p
	}
	if name == "" && p.mixes(&r) {
		return
	}
	if r.Kind == transcript.Request {
		m.administers(&r)
	}
	if m.observer == obligation.Ours {
		p.looks(&r)
		p.plays(&r)
	}
	p.take(&r)
	p.shows(&r)
}

// End implements obligation.Model.
func (m *Model) End() {}

// Findings implements obligation.Model.
func (m *Model) Findings() []verdict.Finding { return m.on(nil) }

// on returns the findings on subjects, or all.
func (m *Model) on(subjects []string) []verdict.Finding {
	var out []verdict.Finding
	for _, f := range m.out {
		if subjects == nil || slices.Contains(subjects, f.subject) {
			out = append(out, f.Finding)
		}
	}
	if subjects == nil || slices.Contains(subjects, requested) {
		for _, p := range m.pages {
			out = append(out, p.requests.Findings...)
		}
	}
	slices.SortStableFunc(out, func(a, b verdict.Finding) int { return a.At - b.At })
	return out
}

// Owing implements obligation.Model.
func (m *Model) Owing() (out []obligation.Entry) {
	for name, p := range m.pages {
		for _, e := range append(p.requests.Owing(), p.sights.Owing()...) {
			if len(m.pages) > 1 {
				e.Session = "page " + name
			}
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

// Reached implements obligation.Reaching.
func (m *Model) Reached() []obligation.Reached { return m.tally.List() }

// kept records that clauses hold, each once per transcript.
func (m *Model) kept(subject string, r *transcript.Record, clauses ...string) {
	fresh := slices.DeleteFunc(clauses, func(id string) bool { return m.shown[[2]string{subject, id}] })
	for _, id := range fresh {
		m.shown[[2]string{subject, id}] = true
	}
	if len(fresh) > 0 {
		m.out = append(m.out, found{verdict.Finding{Clauses: fresh, OK: true, At: r.N}, subject})
	}
}

// broken records that clauses were broken by a request.
func (m *Model) broken(subject string, r *transcript.Record, expected string, clauses ...string) {
	m.out = append(m.out, found{verdict.Finding{Clauses: clauses, At: r.N, Expected: expected,
		Observed: monitor.Describe(*r)}, subject})
}
