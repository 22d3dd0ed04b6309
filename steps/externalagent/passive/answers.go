package passive

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

type finding = verdict.Finding

// received handles a message of the host or the relay.
func (l *line) received(m message) {
	v := l.v
	if m.kind == vocab.ErrorMessage {
		v.error(m)
	}
	if m.kind == vocab.UserMessage {
		v.check(answers, m.env[vocab.ReplyTo] == nil, m,
			"user.message without replyTo, because it answers no request", "EA-060")
	}
	if l.lost {
		return
	}
	q := l.replies(m)
	if q != nil {
		l.answered(q, m)
	} else if m.kind == vocab.ErrorMessage && m.env[vocab.ReplyTo] == nil {
		l.unnamed(m, answers, "EA-068")
	}
	switch m.kind {
	case vocab.SnapshotState, vocab.StateUpdated:
		l.state(m, q)
	}
}

// replies returns the request that a message answers; nil if it answers none, or if that is uncertain.
func (l *line) replies(m message) *request {
	to, there := m.env[vocab.ReplyTo]
	if !there || to == nil {
		if m.kind == vocab.RelayJoined {
			l.unnamed(m, joins, "EA-028")
		}
		return nil
	}
	q := l.requests[m.to]
	switch {
	case !text(to):
		l.v.broken(answers, m, "replyTo is a string, the id of a request", "EA-023a")
	case l.v.ids[m.to]:
		l.v.kept(answers, m, "EA-023a")
	case l.v.unknown:
	case m.kind == vocab.RelayJoined:
		l.unnamed(m, joins, "EA-028")
	case m.kind == vocab.ToolResult:
		l.unnamed(m, answers, "EA-023a", "EA-047")
	default:
		l.unnamed(m, answers, "EA-023a")
	}
	if q != nil && (q.twice || q.N > m.N) {
		return nil
	}
	return q
}

// answered judges an answer.
func (l *line) answered(q *request, m message) {
	v := l.v
	if m.kind == vocab.StateUpdated || m.kind == vocab.UserMessage {
		return // it may name its cause
	}
	q.answers++
	failed := m.kind == vocab.ErrorMessage || m.kind == vocab.ToolResult && m.body[vocab.OK] == false
	if q.answers == 1 {
		q.answer = m
	}
	if !failed {
		l.round(q, m)
	}
	l.refusing(q, m)
	if q.kind == vocab.ToolCall {
		l.called(q, m, failed)
	}
	if q.kind == vocab.AgentMessage {
		l.noted(q, m)
	}
	switch want := proper[q.kind]; {
	case m.kind == vocab.ErrorMessage:
		v.kept(answers, m, "EA-068")
		l.doubt(q, m)
		l.leaves(q)
	case want == "" || q.answers > 1:
	case m.kind != want:
		if owner[m.kind] && q.legal { // unless its own answer also comes
			q.wrong = m
		}
		q.answers--
	default:
		v.kept(answers, m, asking[q.kind]...)
		l.course(q, m)
	}
}

// owner are the types of answers.
var owner = map[string]bool{vocab.RelayJoined: true, vocab.SessionStarted: true, vocab.SnapshotState: true,
	vocab.ToolResult: true, vocab.SessionEnded: true}

// round notes that a request was answered: earlier requests are overdue, and errors that reported a missing host were
// wrong.
func (l *line) round(q *request, m message) {
	for _, other := range l.order {
		if other.answers == 0 {
			other.round(q.N, m.N)
		}
	}
	if q.N > l.noID {
		l.noID = 0
	}
	for _, s := range l.suspects {
		if q.N > s.err.N && q.kind != vocab.RelayJoin && q.kind != vocab.SessionStart && q.active && !l.lost {
			l.v.broken(s.on, s.err, s.why, s.of...)
			l.lost = true
		}
	}
	l.suspects = slices.DeleteFunc(l.suspects, func(s *suspect) bool { return q.N > s.err.N })
	l.effects(q, m)
}

// doubt notes that a legal request was refused as illegal: a present host must accept it.
func (l *line) doubt(q *request, m message) {
	if !q.legal || !q.active || !plain(q.message) || q.kind == vocab.ToolCall && !l.allowed(q) ||
		word(m, vocab.Code) != vocab.InvalidMessage || len(l.suspects) >= mostStates {
		return
	}
	on, of := answers, asking[q.kind]
	if q.kind == vocab.AgentMessage {
		on, of = notes, []string{"EA-008"}
	}
	if len(of) > 0 {
		l.suspects = append(l.suspects, &suspect{req: q, err: m, on: on, of: of,
			why: "the legal " + q.kind + " of record " + fmt.Sprint(q.N) + " not refused as invalid"})
	}
}

// plain reports whether a message is short and has only documented members: a party may limit anything else.
func plain(m message) bool {
	for name := range m.env {
		if name != "v" && name != "type" && name != "id" && name != "payload" {
			return false
		}
	}
	return len(m.Bytes) < 4096 && len(m.body) <= 3
}

// unnamed notes an answer that names no request of the agent: if one request waits for such an answer, and gets no
// other, this is its answer.
func (l *line) unnamed(m message, subject string, clauses ...string) {
	waiting := l.waiting(m.kind)
	switch {
	case m.kind == vocab.ErrorMessage && l.garble(m) || !l.opened || len(waiting) != 1:
		return
	case l.v.ours == nil && (l.junk || !waiting[0].legal):
		return
	case l.v.ours != nil && (l.noID > 0 || l.v.moved > waiting[0].N || proper[waiting[0].kind] == "" ||
		l.v.ours(m.Record)):
		return
	}
	l.ahead = append(l.ahead, nameless{req: waiting[0], answer: m, subject: subject, clauses: clauses})
	if len(l.ahead) > mostStates {
		l.ahead = l.ahead[1:]
	}
}

// waiting returns the requests that an answer of a type may belong to. In a run, one that a later one has overtaken
// waits no longer, and an error may answer whatever was sent.
func (l *line) waiting(kind string) []*request {
	var out []*request
	for _, q := range l.order {
		may := proper[q.kind] != "" && (proper[q.kind] == kind || kind == vocab.ErrorMessage)
		if l.v.ours != nil {
			may = q.stages == 0 && (proper[q.kind] == kind || kind == vocab.ErrorMessage)
		}
		if may && q.answers == 0 {
			out = append(out, q)
		}
	}
	return out
}

// nameless is an answer that names no request, and the request that it may answer.
type nameless struct {
	req     *request
	answer  message
	subject string
	clauses []string
	behind  bool // a later request was answered
}

// course handles the answers that start and end a session.
func (l *line) course(q *request, m message) {
	v := l.v
	switch m.kind {
	case vocab.RelayJoined:
		l.joined = true
		v.kept(joins, m, "EA-028")
		if q.legal {
			v.check(joins, wjson.Equal(m.body[vocab.Role], q.body[vocab.Role]), m,
				"the role of the join: "+word(q.message, vocab.Role),
				"EA-029")
			v.check(joins, wjson.Equal(m.body[vocab.SessionID], q.body[vocab.SessionID]), m,
				"the sessionId of the join: "+word(q.message, vocab.SessionID), "EA-030")
		}
	case vocab.SessionStarted:
		l.begins(q, m)
	case vocab.SessionEnded:
		l.ends(m)
	}
}

// leaves notes that a session.start or session.end was refused: the current session is then unknown.
func (l *line) leaves(q *request) {
	switch q.kind {
	case vocab.SessionStart:
		l.pending = max(0, l.pending-1)
		l.session, l.over, l.partial = "", false, true
	case vocab.SessionEnd:
		l.ending, l.session, l.partial = false, "", true
	}
}

// begins handles session.started.
func (l *line) begins(q *request, m message) {
	l.pending = max(0, l.pending-1)
	l.session, l.over, l.ending = word(m, vocab.SessionID), false, false
	if len(l.started) < mostRequests {
		l.started[l.session] = true
	}
	if l.last != nil && l.last.N < q.N {
		l.last = nil
	}
	l.partial = l.partial && len(l.all) >= mostStates
	l.fresh, l.strange, l.blank, l.words = m.N, nil, message{}, nil
}

// ends handles session.ended.
func (l *line) ends(m message) {
	id := word(m, vocab.SessionID)
	if l.session != "" && !l.v.crowd && l.pending == 0 {
		l.v.check(sessions, l.started[id], m, "sessionId "+l.session+", which session.started gave", "EA-064")
	}
	l.ending, l.over, l.session = false, true, ""
	l.before, l.words, l.history = l.words, nil, nil
	if l.last != nil {
		l.history, _ = l.last.history.([]any)
	}
}

// error judges the members of an error.
func (v *traffic) error(m message) {
	code, isText := m.body[vocab.Code].(string)
	v.check(codes, isText, m, "payload.code is a string", "EA-069")
	v.check(codes, slices.Contains(vocab.Codes(), code), m, "payload.code is a code of section 5", "EA-084")
	v.check(codes, text(m.body[vocab.Message]), m, "payload.message is a string", "EA-070")
}
