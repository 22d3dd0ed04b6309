package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// InVain begins a scenario's remark that the answer to a record was waited for as long as the limit says: the number
// of the record, and the reason.
const InVain = "waited in vain for the answer to record "

// beat is a heartbeat.
type beat struct {
	*owed

	pong    message          // its answer
	refused *verdict.Finding // nil: it was not refused
}

// ping takes a heartbeat. With further members it is not the document's.
func (m *Model) ping(l *line, msg message) {
	l.pings++
	l.silent = l.silent && len(l.agents) == 0
	for _, t := range m.talks {
		t.meanwhile["SC-037"] = true
	}
	if len(msg.r.Event.Faults) > 0 || msg.data[vocab.AgentID] != nil || msg.r.Cut > 0 || !l.opened && !m.ours() {
		return
	}
	b := &beat{}
	b.owed = l.Owe(&owed{What: "a " + vocab.PongMessage + " for the ping", Cause: msg, About: vocab.PongMessage,
		Clauses: []string{"SC-037a"}, Shown: []string{"SC-037"}, InTurn: true,
		Match: func(p message) bool { return p.is(vocab.PongMessage) },
		Met:   func(p message) { b.pong = p }, Late: func(message) []string { return nil }})
	l.open, m.beats[msg.r.N] = append(l.open, b), b
}

// heartbeat takes a message that may answer a ping: a pong, or an error. An error is about the ping if nothing else was
// sent; among our own messages, if it names no agent_id.
func (m *Model) heartbeat(l *line, msg message) {
	l.open = slices.DeleteFunc(l.open, func(b *beat) bool { return b.Done })
	switch {
	case msg.kind == vocab.PongMessage && !msg.r.Event.Again:
		l.Settle(msg)
	case len(l.open) == 0:
	case l.beats && msg.denies(), m.ours() && msg.is(vocab.ErrorMessage) && msg.agent == "":
		l.refused(l.open[0], msg)
	}
}

// refused reports that a heartbeat was refused, by an error or by the end of its connection.
func (l *line) refused(b *beat, by message) {
	b.Done, l.beats = true, false
	l.Fail(by, []string{"SC-037", "SC-037a"}, fmt.Sprintf("the heartbeat of record %d is answered, as a legal message",
		b.Cause.r.N), "%s", by.told())
	found := l.Findings[len(l.Findings)-1]
	b.refused = &found
}

// noted takes a remark of the scenario.
func (m *Model) noted(r transcript.Record) {
	rest, ok := strings.CutPrefix(r.Label, InVain)
	record, why, _ := strings.Cut(rest, ": ")
	n, err := strconv.Atoi(record)
	if !ok || err != nil {
		return
	}
	if c := m.chats[n]; c != nil {
		if c.wait(why); c.answered.r.N == 0 {
			m.count(c, obligation.Coverage{Missing: 1})
		}
	}
	if a := m.tries[n]; a != nil {
		a.vain = why
	}
	if b := m.beats[n]; b != nil && !b.Done {
		b.Done = true
		m.line(b.Cause.r.Conn).FailAt(n, b.Clauses, b.What, "%s", why)
	}
}

// Heartbeat returns what is found about the ping in a record, and reports whether it was answered or refused. If it was
// not, it is due until a fence or a remark says that it did not come.
func (m *Model) Heartbeat(record int) (out []verdict.Finding, settled bool) {
	b := m.beats[record]
	switch {
	case b == nil:
		return nil, false
	case b.refused != nil:
		return []verdict.Finding{*b.refused}, true
	case b.pong.r.N > 0:
		return []verdict.Finding{{Clauses: append(slices.Clone(b.Clauses), b.Shown...), OK: true, At: b.pong.r.N}}, true
	}
	for _, book := range m.books {
		for _, f := range book.Findings {
			if f.At == record && !f.OK {
				out = append(out, f)
			}
		}
	}
	return append(out, verdict.Finding{Clauses: b.Shown, OK: true, At: record}), false
}
