// Package model is the model of external-agent: what a host, a relay or an agent owes the other side, and what it must
// not do. It is a fold over the records of a transcript, decoded as by the steps: the envelope's type, its payload as
// Data, its id as RequestID.
//
// If the harness is the other side (obligation.Ours), it has a reason to wait for an answer to each request, and
// remarks say where the target has its error codes. Of foreign traffic, between a real agent and a real host behind a
// relay, it sees the messages alone: a host's message that passes before a request cannot answer it, and an agent's
// message that passes before a message of the host was sent without knowledge of it. If a message has several possible
// causes, or if a state may be under way, nothing is judged.
//
// Elsewhere: what a log says (package studylog), and what the schemas of tools mean (package toolschema).
package model

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

type (
	owed = obligation.Owed[entry, string] // About is the type of the message that is owed
	book = obligation.Book[entry, string]
)

// Bounds on the stored state; older state is dropped and not judged.
const (
	mostRequests = 512
	mostIDs      = 100_000
	mostStates   = 32
)

// patience is the time that a foreign party may take for an answer, even if later requests were answered meanwhile, and
// for a message to arrive.
const patience = 30 * time.Second

// Model folds the records of a transcript. It implements obligation.Model.
type Model struct {
	Comparison // of states

	forms forms
	of    party
	tally obligation.Tally
}

// party is the part of the model that depends on the order of messages.
type party interface {
	take(m message)
	end()
	found() ([]verdict.Finding, []*book) // not to be changed
	owing() []obligation.Entry
}

// server returns the party if it is a host or a relay, or else one that has seen nothing.
func (m *Model) server() *server {
	s, _ := m.of.(*server)
	return cmp.Or(s, &server{})
}

// agent is server for an agent.
func (m *Model) agent() *agent {
	a, _ := m.of.(*agent)
	return cmp.Or(a, &agent{})
}

// New returns the model of a target of a role, for a transcript that has no record yet.
func New(role string, o obligation.Observer) *Model { return newModel(role, o, nil) }

// newModel is New, and collects the duties that arise; nil: it does not.
func newModel(role string, o obligation.Observer, found obligation.Duties) *Model {
	m := &Model{forms: newForms(role, o), tally: obligation.Tally{}}
	owes := book{Tally: m.tally, Duties: found,
		Name: func(o *owed) (on, owes string) { return o.Cause.from(role), o.About }}
	if role == vocab.Agent {
		m.of = newAgent(o, owes)
	} else {
		m.of = newServer(role, o, &m.forms, owes)
	}
	return m
}

// Reached implements obligation.Reaching.
func (m *Model) Reached() []obligation.Reached { return m.tally.List() }

// Take implements obligation.Model.
func (m *Model) Take(r transcript.Record) {
	if r.Late {
		return
	}
	msg := read(r)
	m.forms.take(msg)
	m.of.take(msg)
}

// End implements obligation.Model.
func (m *Model) End() { m.of.end() }

// Findings implements obligation.Model.
func (m *Model) Findings() []verdict.Finding {
	noted, books := m.of.found()
	out := slices.Concat(m.forms.out, noted)
	for _, b := range books {
		out = append(out, b.Found()...)
	}
	slices.SortStableFunc(out, func(a, b verdict.Finding) int { return a.At - b.At })
	return out
}

// Owing implements obligation.Model.
func (m *Model) Owing() []obligation.Entry {
	out := m.of.owing()
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

// notes are the findings of a party.
type notes struct {
	once  bool                 // clauses are shown to hold once per transcript
	shown map[string]bool      // those
	mine  func(m message) bool // whether a message is the target's; nil: all are
	out   []verdict.Finding
}

// kept records that clauses hold.
func (n *notes) kept(m message, clauses ...string) {
	if n.mine != nil && !n.mine(m) {
		return
	}
	if n.once {
		clauses = slices.DeleteFunc(slices.Clone(clauses), func(id string) bool { return n.shown[id] })
		for _, id := range clauses {
			if n.shown == nil {
				n.shown = map[string]bool{}
			}
			n.shown[id] = true
		}
	}
	n.out = obligation.AddKept(n.out, m.N, "", clauses...)
}

// broken records that a message breaks clauses; observed is what is wrong with it, or "".
func (n *notes) broken(m message, expected, observed string, clauses ...string) {
	if n.mine != nil && !n.mine(m) {
		return
	}
	if observed != "" {
		observed += " in "
	}
	n.out = append(n.out, verdict.Finding{Clauses: clauses, At: m.N, Expected: expected, Observed: observed + m.told()})
}

// check records that a message keeps or breaks clauses.
func (n *notes) check(ok bool, m message, expected, observed string, clauses ...string) {
	if ok {
		n.kept(m, clauses...)
	} else {
		n.broken(m, expected, observed, clauses...)
	}
}

// member records that a member of a message's payload keeps or breaks clauses; want describes what it has to be.
func (n *notes) member(ok bool, m message, name, want string, clauses ...string) {
	if ok {
		n.kept(m, clauses...)
		return
	}
	observed := "payload." + name + " is missing"
	if v, there := m.body[name]; there {
		observed = "payload." + name + " is " + wjson.Compact(v)
	}
	n.broken(m, "payload."+name+" is "+want, observed, clauses...)
}

// foundAt goes through the findings at a record: most are at others, and few are copied.
func (m *Model) foundAt(record int) iter.Seq[verdict.Finding] {
	noted, books := m.of.found()
	return func(yield func(verdict.Finding) bool) {
		for _, list := range [][]verdict.Finding{m.agent().told.out, m.forms.out, noted} {
			for i := range list {
				if list[i].At == record && !yield(list[i]) {
					return
				}
			}
		}
		for _, b := range books {
			for _, f := range b.FoundAt(record) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// At returns what a record shows of clauses. Of several findings that break a clause, the first is enough.
func (m *Model) At(record int, clauses ...string) (out []verdict.Finding) {
	left := slices.Clone(clauses)
	for f := range m.foundAt(record) {
		f.Clauses = slices.DeleteFunc(slices.Clone(f.Clauses), func(id string) bool { return !slices.Contains(left, id) })
		if len(f.Clauses) > 0 {
			out = append(out, f)
		}
		if !f.OK {
			left = slices.DeleteFunc(left, func(id string) bool { return slices.Contains(f.Clauses, id) })
		}
	}
	return out
}
