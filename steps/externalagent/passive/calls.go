package passive

import (
	"fmt"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/toolschema"
	wjson "parley/transport/wire/json"
)

// effective are the tools whose results may consist of ok only (EA-053).
var effective = []string{vocab.Next, vocab.Prev, vocab.PostMessage}

// called judges the answer to a tool.call.
func (l *line) called(q *request, m message, failed bool) {
	v := l.v
	if q.answers > 1 {
		if m.kind == vocab.ErrorMessage || m.kind == vocab.ToolResult {
			v.broken(failures, m, "one answer to the call of record "+fmt.Sprint(q.N)+", which record "+
				fmt.Sprint(q.answer.N)+" is", "EA-074", "EA-104")
			l.lost = true
		}
		return
	}
	if m.kind == vocab.ToolResult {
		v.kept(failures, m, "EA-074")
		l.nameOf(q, m)
	}
	code := failure(m)
	if failed {
		v.check(failures, slices.Contains(vocab.Codes(), code), m, "a failed call with a code of section 5", "EA-104")
	}
	l.announced(q, m, code)
	told := l.last != nil && l.last.kind == vocab.StateUpdated && l.last.N > q.N
	if m.kind == vocab.ToolResult && m.body[vocab.OK] == true && m.body[vocab.Spec] == nil && q.active && !told &&
		slices.Contains(effective, q.tool) {
		l.quick = q
	}
}

// nameOf judges the toolName of a result.
func (l *line) nameOf(q *request, m message) {
	if q.tool == "" {
		return
	}
	name, there := m.body[vocab.ToolName]
	short := slices.Contains(effective, q.tool)
	clauses := []string{"EA-049"}
	if short {
		clauses = append(clauses, "EA-105")
	}
	switch {
	case there:
		l.v.check(failures, name == q.tool, m, "toolName "+q.tool+", as in record "+fmt.Sprint(q.N), clauses...)
	case short:
		l.v.kept(failures, m, "EA-105")
	default:
		l.v.broken(failures, m, "toolName "+q.tool+", as in record "+fmt.Sprint(q.N), clauses...)
	}
}

// failure returns the code of a failed call: that of an error, or one anywhere in a result.
func failure(m message) string {
	if m.kind == vocab.ErrorMessage {
		return word(m, vocab.Code)
	}
	found := ""
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if slices.Contains(vocab.Codes(), v) {
				found = v
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case object:
			for name, e := range v {
				if name != vocab.Spec {
					walk(e)
				}
			}
		}
	}
	walk(m.body)
	return found
}

// announced judges whether a call could be carried out.
func (l *line) announced(q *request, m message, code string) {
	done := m.kind == vocab.ToolResult && m.body[vocab.OK] == true
	switch {
	case !q.legal:
		return
	case q.over && l.over && l.pending == 0:
		if l.v.crowd {
			return
		}
		if code == vocab.SessionNotActive || done {
			l.v.check(tools, !done, m, "SESSION_NOT_ACTIVE: the session had ended before the call of record "+fmt.Sprint(q.N),
				"EA-079")
		}
		return
	case !q.active || q.last == nil || l.pending > 0 || l.ending || l.partial:
		return
	}
	if q.last.null() && l.last != nil && l.last.null() {
		if code == vocab.NoActiveSpec {
			l.v.kept(tools, m, "EA-082")
		} else if done && !q.last.announces(q.tool) {
			l.blank = m
		}
		return
	}
	known, fits := false, false
	for _, all := range l.all {
		if tool := all.Find(q.tool); tool != nil {
			known = true
			fits = fits || tool.Accepts(q.body[vocab.Params]) == nil
		}
	}
	switch {
	case len(l.all) == 0:
	case !known && (done || code == vocab.UnknownTool):
		if done {
			l.strange = append(l.strange, stranger{q, m})
			return
		}
		l.v.kept(tools, m, "EA-080", "EA-096")
	case known && !fits && (done || code == vocab.InvalidParams):
		if done {
			l.strange = append(l.strange, stranger{q, m})
			return
		}
		l.v.kept(tools, m, "EA-081")
	}
}

// null reports whether no spec is active.
func (s *state) null() bool {
	v, there := s.body[vocab.Spec]
	return there && v == nil
}

// announces reports whether a state announces a tool.
func (s *state) announces(tool string) bool {
	list, _ := s.tools.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		o, _ := item.(object)
		return o != nil && o["name"] == tool
	})
}

// stranger is a call that was carried out although no state so far allows it: the state that does may be in flight.
type stranger struct {
	q *request
	m message
}

// state handles a received state.
func (l *line) state(m message, q *request) {
	s := &state{message: m, spec: m.body[vocab.Spec], history: m.body[vocab.MessageHistory],
		tools: m.body[vocab.ToolSchema]}
	list, isList := s.tools.([]any)
	parsed, err := toolschema.Parse(list)
	if !isList || err != nil || len(l.all) >= mostStates {
		l.partial, l.strange = true, nil
	} else if !slices.ContainsFunc(l.seen, func(t any) bool { return wjson.Equal(t, s.tools) }) {
		l.all, l.seen = append(l.all, parsed), append(l.seen, s.tools)
	}
	if m.kind == vocab.SnapshotState {
		l.snapshot(s, q)
	} else {
		if l.quick != nil {
			l.v.kept(states, m, "EA-054")
		}
		l.quick, l.shot = nil, nil
	}
	l.strangers(s)
	if l.blank.Record != nil && !l.lost {
		if s.null() {
			l.v.broken(tools, l.blank, "NO_ACTIVE_SPEC: uiSpec was null before and after the call, record "+
				fmt.Sprint(m.N), "EA-082")
			l.lost = true
		}
		l.blank = message{}
	}
	l.last = s
}

// strangers judges calls that were carried out although no state allowed them, once the next state is known.
func (l *line) strangers(s *state) {
	for _, c := range l.strange {
		known, fits := false, false
		for _, all := range l.all {
			if tool := all.Find(c.q.tool); tool != nil {
				known, fits = true, fits || tool.Accepts(c.q.body[vocab.Params]) == nil
			}
		}
		switch {
		case l.partial || l.pending > 0 || l.lost || fits:
		case !known:
			l.v.broken(tools, c.m, "UNKNOWN_TOOL: no state announces "+c.q.tool+" up to record "+fmt.Sprint(s.N), "EA-080",
				"EA-096")
			l.lost = true
		default:
			l.v.broken(tools, c.m, "INVALID_PARAMS: the params of record "+fmt.Sprint(c.q.N)+
				" break every schema of "+c.q.tool+" up to record "+fmt.Sprint(s.N), "EA-081")
			l.lost = true
		}
	}
	l.strange = nil
}

// snapshot judges a snapshot.state.
func (l *line) snapshot(s *state, q *request) {
	v := l.v
	id := word(s.message, vocab.SessionID)
	if q == nil || !q.active || l.pending > 0 || l.ending {
		return
	}
	if !v.crowd && text(s.body[vocab.SessionID]) {
		v.check(sessions, l.started[id], s.message, "sessionId "+l.session+", which session.started gave", "EA-042")
	}
	if l.quick != nil && l.quick.last != nil && q.N > l.quick.answer.N {
		l.quick.changed = !s.equal(l.quick.last)
	}
	if l.last != nil && l.last.kind == vocab.StateUpdated && q.N > l.last.N {
		switch {
		case s.equal(l.last):
			v.kept(states, s.message, "EA-072", "EA-073")
			l.shot = nil
		case l.shot == nil:
			l.shot = s
		case s.equal(l.shot) && s.At-l.shot.At >= patience:
			v.broken(states, s.message, "the state of the last state.updated, or a state.updated since record "+
				fmt.Sprint(l.shot.N)+", which shows the same", "EA-072", "EA-073")
			l.lost = true
		}
	} else if l.shot != nil && s.equal(l.shot) && s.At-l.shot.At >= patience {
		v.broken(states, s.message, "a state.updated since record "+fmt.Sprint(l.shot.N)+", which shows the same", "EA-072",
			"EA-073")
		l.lost = true
	}
	l.clean(s, q)
}

// clean judges the first snapshot of a session that follows another on its connection, before the agent has sent
// a message: it must not contain messages of the agent from the previous session.
func (l *line) clean(s *state, q *request) {
	now, ok := s.history.([]any)
	if !ok || q.N < l.fresh || l.checked == l.fresh {
		return
	}
	l.checked = l.fresh
	said := func(e any) bool {
		return slices.ContainsFunc(l.before, func(w string) bool { return holds(e, w) })
	}
	if l.v.crowd || len(l.words) > 0 || !slices.ContainsFunc(l.history, said) {
		return
	}
	left := slices.ContainsFunc(now, func(e any) bool {
		return said(e) && slices.ContainsFunc(l.history, func(o any) bool { return wjson.Equal(o, e) })
	})
	l.v.check(sessions, !left, s.message, "no message of the agent from the previous session in messageHistory",
		"EA-011")
}

// holds reports whether a value contains a text.
func holds(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, text) })
	case object:
		for _, e := range v {
			if holds(e, text) {
				return true
			}
		}
	}
	return false
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
