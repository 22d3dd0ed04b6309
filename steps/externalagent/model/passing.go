package model

import (
	"fmt"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Passing maps message types to the clauses for passing them on.
var Passing = map[string][]string{
	vocab.SessionStart: {"EA-038"}, vocab.SnapshotGet: {"EA-041"}, vocab.ToolCall: {"EA-007"},
	vocab.AgentMessage: {"EA-008"}, vocab.SessionEnd: {"EA-063"},
	vocab.SessionStarted: {"EA-038"}, vocab.SnapshotState: {"EA-004", "EA-005", "EA-006", "EA-041"},
	vocab.ToolResult:   {"EA-046", "EA-047"},
	vocab.StateUpdated: {"EA-055"}, vocab.UserMessage: {"EA-009", "EA-060"}, vocab.SessionEnded: {"EA-063"},
	vocab.ErrorMessage: {"EA-068", "EA-069", "EA-070"},
}

// relayed is what a relay owes the parties of its relay sessions: what one of them sends reaches the other once, in
// order and unchanged. It is judged between one agent and one host.
type relayed struct {
	places map[string]place // by connection
	ways   map[[2]string]*way
	owes   book // what the book of a way begins as
}

// place is where a party has joined.
type place struct {
	session any
	agent   bool
}

// way is one direction between two parties.
type way struct {
	book
	from, to string
	due      []message // sent, and not received yet
	last     message   // received last
	lost     bool      // something else came, and what follows is not judged
}

func newRelayed(owes book) *relayed { return &relayed{map[string]place{}, map[[2]string]*way{}, owes} }

func (p *relayed) take(m message) {
	switch {
	case m.Kind == transcript.Open || m.Kind == transcript.Closed || m.Kind == transcript.Failure:
		delete(p.places, m.Conn)
		for ends := range p.ways {
			if ends[0] == m.Conn || ends[1] == m.Conn {
				delete(p.ways, ends)
			}
		}
	case m.Kind != transcript.Frame:
	case m.kind == vocab.RelayJoin && m.Dir == transcript.Sent:
		p.places[m.Conn] = place{m.body[vocab.SessionID], m.body[vocab.Role] == vocab.AgentRole}
	case Passing[m.kind] == nil:
	case m.Dir == transcript.Sent:
		if w := p.way(m.Conn, true); w != nil {
			w.sends(m)
		}
	default:
		if w := p.way(m.Conn, false); w != nil {
			w.arrives(m)
		}
	}
}

// way returns the way from or to a party; nil unless it has exactly one partner in its relay session.
func (p *relayed) way(conn string, from bool) *way {
	at, joined := p.places[conn]
	partner, n := "", 0
	for other, its := range p.places {
		if other != conn && wjson.Equal(its.session, at.session) {
			partner, n = other, n+1
		}
	}
	if !joined || n != 1 || p.places[partner].agent == at.agent {
		return nil
	}
	ends := [2]string{conn, partner}
	if !from {
		ends = [2]string{partner, conn}
	}
	if p.ways[ends] == nil {
		p.ways[ends] = &way{book: p.owes, from: ends[0], to: ends[1]}
	}
	return p.ways[ends]
}

// sends enters that a message has to arrive.
func (w *way) sends(m message) {
	w.due = append(w.due, m)
	w.Owe(&owed{What: m.kind + " received by " + w.to, About: m.kind + " → " + partyOf(w.to), Cause: entry{m},
		Clauses: Passing[m.kind], Match: func(p entry) bool { return alike(m, p.message) }})
}

func partyOf(conn string) string {
	if strings.HasPrefix(conn, vocab.HostRole) {
		return vocab.HostRole
	}
	return vocab.AgentRole
}

// arrives judges a message that a party receives. A duplicate is a finding of its own; after any other deviation
// nothing more is judged.
func (w *way) arrives(m message) {
	broken := func(kind, expected, observed string) {
		w.Findings = append(w.Findings, verdict.Finding{Clauses: Passing[kind], At: m.N, Expected: expected,
			Observed: observed + monitor.Describe(m.Record)})
	}
	switch {
	case w.lost:
	case len(w.due) > 0 && alike(w.due[0], m):
		w.last, w.due = w.due[0], w.due[1:]
		w.Settle(entry{m})
	case w.last.N > 0 && alike(w.last, m):
		broken(m.kind, fmt.Sprintf("%s of %s received by %s, once", m.kind, w.from, w.to), "it has come twice: ")
	case len(w.due) > 0:
		kind := w.due[0].kind
		broken(kind, fmt.Sprintf("%s of %s received by %s, once, in order and unchanged: %s", kind, w.from, w.to,
			cut.Head(string(w.due[0].Bytes), 300)), "")
		w.lose()
	default:
		broken(m.kind, fmt.Sprintf("nothing received by %s except what %s has sent", w.to, w.from), "")
		w.lose()
	}
}

// lose notes that it is unknown from now on what has to arrive.
func (w *way) lose() {
	w.lost = true
	w.Close()
}

// alike reports whether a message was passed on unchanged: its type, its payload, and whether it has an id and a
// replyTo. A relay may add members to the envelope. It may renumber requests if their answers come back with the
// agent's ids.
func alike(a, b message) bool {
	same := func(name string) bool { return word(a.env[name], true) == word(b.env[name], true) }
	return a.kind == b.kind && same(vocab.ID) && same(vocab.ReplyTo) && wjson.Equal(a.Event.Data, b.Event.Data)
}

// Passed returns what has been found of the messages that a relay has passed on between two connections of a run since
// the latest of them began.
func (m *Model) Passed(a, b string) (out []verdict.Finding) {
	s, ok := m.of.(*server)
	if !ok || s.relayed == nil {
		return nil
	}
	for _, ends := range [][2]string{{a, b}, {b, a}} {
		if w := s.relayed.ways[ends]; w != nil {
			out = append(out, w.Found()...)
		}
	}
	return out
}
