package model

import (
	"fmt"
	"slices"

	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// Effective are the tools whose results may consist of ok only (EA-053, EA-105).
var Effective = []string{vocab.Next, vocab.Prev, vocab.PostMessage}

// coded judges that a tool.result that is not ok has a code of section 5.
func (l *line) coded(m message) {
	code, at := l.s.forms.places.ofResult(m, !l.s.ours)
	name, _ := code.(string)
	l.s.check(slices.Contains(vocab.Codes(), name), m, "tool.result with ok:false: "+oneOfTheCodes()+" at "+at,
		"the code is "+wjson.Compact(code), "EA-104")
}

// called judges the answer to a tool.call.
func (l *line) called(q *request, m message) {
	s := l.s
	if q.answers > 1 {
		if m.kind == vocab.ErrorMessage || m.kind == vocab.ToolResult {
			s.broken(m,
				fmt.Sprintf("one answer to a tool.call: a tool.result, or an error; that of record %d has one, record %d",
					q.N, q.answer.N), fmt.Sprintf("answer %d to %s", q.answers, q.name), "EA-074", "EA-104")
			l.lose()
		}
		return
	}
	if m.kind == vocab.ToolResult {
		s.kept(m, "EA-074")
		l.nameOf(q, m)
	}
	code := m.word(vocab.Code)
	switch {
	case m.kind == vocab.ErrorMessage && s.ours:
		found, _ := s.forms.places.ofError(m).(string)
		code = found
		s.kept(m, "EA-104")
	case m.failed() && s.ours:
		s.kept(m, "EA-104")
	case m.kind == vocab.ErrorMessage:
		s.check(slices.Contains(vocab.Codes(), code), m, "a failed call with a code of section 5", "", "EA-104")
	case m.failed():
		l.coded(m)
		code = codeIn(m.body)
	}
	l.done(q, m, code)
	told := l.last != nil && l.last.kind == vocab.StateUpdated && l.last.N > q.N
	if m.kind == vocab.ToolResult && m.body[vocab.OK] == true && m.body[vocab.Spec] == nil && q.active && !told &&
		slices.Contains(Effective, q.tool) {
		l.withdrawEffect()
		l.quick = &quick{request: q, due: l.Owe(&owed{What: "state.updated with the effect of " + q.tool,
			About: vocab.StateUpdated, Cause: entry{m}, Clauses: []string{"EA-054"}, Unfenced: true,
			Match: func(p entry) bool { return p.fromTarget() && p.kind == vocab.StateUpdated }})}
	}
}

// withdrawEffect expects no state.updated any more.
func (l *line) withdrawEffect() {
	if l.quick != nil {
		l.quick.due.Done, l.quick = true, nil
	}
}

// nameOf judges the toolName of a result.
func (l *line) nameOf(q *request, m message) {
	if q.tool == "" {
		return
	}
	name, there := m.body[vocab.ToolName]
	short := slices.Contains(Effective, q.tool)
	clauses := []string{"EA-049"}
	if short {
		clauses = append(clauses, "EA-105")
	}
	if short && !there {
		l.s.kept(m, "EA-105")
		return
	}
	l.s.member(name == q.tool, m, vocab.ToolName, fmt.Sprintf("%q, as in record %d", q.tool, q.N), clauses...)
}

// done judges whether a call could be carried out.
func (l *line) done(q *request, m message, code string) {
	s, done := l.s, m.kind == vocab.ToolResult && m.body[vocab.OK] == true
	switch {
	case s.ours:
		l.onNothing(q, m, code, done)
		return
	case !q.legal && !(done && q.legalApartFromParams()):
		return
	case q.over && l.over && l.pending == 0:
		if !s.crowd && (code == vocab.SessionNotActive || done) {
			s.check(!done, m, fmt.Sprintf("SESSION_NOT_ACTIVE: the session had ended before the call of record %d", q.N), "",
				"EA-079")
		}
		return
	case !q.active || q.last == nil || l.pending > 0 || l.ending || l.partial:
		return
	case q.last.null() && l.last != nil && l.last.null():
		l.onNothing(q, m, code, done)
		return
	}
	known, fits := l.accepts(q)
	switch {
	case len(l.all) == 0:
	case !known && done:
		l.strange = append(l.strange, doneThough{q: q, m: m})
	case !known && code == vocab.UnknownTool:
		s.kept(m, "EA-080", "EA-096")
	case known && !fits && done:
		l.strange = append(l.strange, doneThough{q: q, m: m})
	case known && !fits && code == vocab.InvalidParams:
		s.kept(m, "EA-081")
	}
}

// onNothing judges that a call is not carried out while uiSpec is null, but refused with that code. A state may cross
// the call, so both the last state before the call and the last before its answer must have a null uiSpec; of foreign
// traffic the next one too. A tool that the former announces may be called.
func (l *line) onNothing(q *request, m message, code string, done bool) {
	if q.last == nil || !q.last.null() || l.last == nil || !l.last.null() {
		return
	}
	_, fits := l.accepts(q)
	announced := q.last.announces(q.body[vocab.ToolName])
	at := doneThough{q: q, m: m, expected: "a call refused with " + vocab.NoActiveSpec + " while uiSpec is null"}
	switch {
	case code == vocab.NoActiveSpec && (m.kind == vocab.ErrorMessage || !l.s.ours):
		l.s.kept(m, "EA-082")
	case announced:
	case done && l.s.ours:
		l.s.broken(m, at.expected, "it was carried out", "EA-082")
	case !l.s.ours && (done || fits && slices.Contains(vocab.Codes(), code)): // there is no other reason to refuse it
		l.blank = append(l.blank, at)
	}
}

// accepts reports whether a state of this session announces the tool of a call, and whether its params match a schema
// of it.
func (l *line) accepts(q *request) (known, fits bool) {
	return accept(l.all, q.message)
}

// allowed reports whether every state that announces the tool of a call allows it.
func (l *line) allowed(q *request) bool {
	fits := false
	for _, all := range l.all {
		if tool := all.Find(q.tool); tool != nil {
			if tool.Accepts(q.body[vocab.Params]) != nil {
				return false
			}
			fits = true
		}
	}
	return fits && !l.partial
}

// state handles a received state.
func (l *line) state(m message, q *request) {
	s := stateOf(m)
	list, isList := s.Tools.([]any)
	switch {
	case !isList || len(l.all) >= mostStates:
		l.partial, l.strange = true, nil
	case slices.ContainsFunc(l.seen, func(t any) bool { return wjson.Equal(t, s.Tools) }):
	default:
		parsed, err := l.s.memory.Parse(list)
		if err != nil {
			l.partial, l.strange = true, nil
			break
		}
		l.all, l.seen = append(l.all, parsed), append(l.seen, s.Tools)
	}
	if m.kind == vocab.SnapshotState {
		l.snapshot(s, q)
	} else {
		if l.quick != nil {
			l.Settle(entry{m})
		}
		l.withdrawEffect()
		l.shot = nil
	}
	l.strangers(s)
	for _, c := range l.blank {
		if s.null() && !l.lost {
			l.s.broken(c.m, fmt.Sprintf("%s, before and after the call, record %d", c.expected, s.N), "", "EA-082")
			l.lose()
		}
	}
	l.blank, l.last = nil, s
}

// strangers judges calls that were carried out although no state allowed them, once the next state is known: the state
// that does may have been under way.
func (l *line) strangers(s *State) {
	for _, c := range l.strange {
		switch known, fits := l.accepts(c.q); {
		case l.partial || l.pending > 0 || l.lost || fits:
		case !known:
			l.s.broken(c.m, fmt.Sprintf("UNKNOWN_TOOL: no state announces %s up to record %d", c.q.tool, s.N), "", "EA-080",
				"EA-096")
			l.lose()
		default:
			l.s.broken(c.m, fmt.Sprintf("INVALID_PARAMS: the params of record %d break every schema of %s up to record %d",
				c.q.N, c.q.tool, s.N), "", "EA-081")
			l.lose()
		}
	}
	l.strange = nil
}

// snapshot judges a snapshot.state.
func (l *line) snapshot(s *State, q *request) {
	v := l.s
	if q == nil || !q.active || l.pending > 0 || l.ending {
		return
	}
	if !v.crowd {
		l.ofSession(s.message, "EA-042")
	}
	if l.quick != nil && l.quick.last != nil && q.N > l.quick.answer.N {
		l.quick.changed = !s.equal(l.quick.last)
	}
	const expected = "a state.updated since record %d, which shows the same"
	switch since := l.shot != nil && s.equal(l.shot) && s.At-l.shot.At >= patience; {
	case l.last == nil || l.last.kind != vocab.StateUpdated || q.N < l.last.N:
		if since {
			v.broken(s.message, fmt.Sprintf(expected, l.shot.N), "", "EA-072", "EA-073")
			l.lose()
		}
	case s.equal(l.last):
		v.kept(s.message, "EA-072", "EA-073")
		l.shot = nil
	case l.shot == nil:
		l.shot = s
	case since:
		v.broken(s.message, fmt.Sprintf("the state of the last state.updated, or "+expected, l.shot.N), "", "EA-072",
			"EA-073")
		l.lose()
	}
	l.clean(s, q)
}

// clean judges the first snapshot of a session that follows another on its connection, before the agent has sent
// a message: it must not contain messages of the agent from the previous session.
func (l *line) clean(s *State, q *request) {
	now, ok := s.History.([]any)
	if !ok || q.N < l.fresh || l.checked == l.fresh {
		return
	}
	l.checked = l.fresh
	said := func(e any) bool {
		return slices.ContainsFunc(l.before, func(w string) bool { return quotes(e, w) })
	}
	if l.s.crowd || len(l.words) > 0 || !slices.ContainsFunc(l.history, said) {
		return
	}
	left := slices.ContainsFunc(now, func(e any) bool {
		return said(e) && slices.ContainsFunc(l.history, func(o any) bool { return wjson.Equal(o, e) })
	})
	l.s.check(!left, s.message, "no message of the agent from the previous session in messageHistory", "", "EA-011")
}
