package model

import (
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// suspect is an error that called a legal request invalid.
type suspect struct {
	req *request
	err message
	of  []string
}

// nameless is an answer that names no request, and the request that it may answer.
type nameless struct {
	req     *request
	answer  message
	clauses []string
	behind  bool // a later request was answered
}

// received handles a message of the host or the relay.
func (l *line) received(m message) {
	s := l.s
	l.notes(m, nil)
	passed := s.ours && s.forms.passed.have(&m.Record)
	if s.ours && !passed {
		s.named(m)
	}
	if s.ours && m.kind == vocab.ToolResult && m.body[vocab.OK] == false {
		l.coded(m)
	}
	if m.kind == vocab.UserMessage {
		s.check(m.env[vocab.ReplyTo] == nil, m, "user.message without replyTo, because it answers no request", "", "EA-060")
	}
	if l.lost {
		return
	}
	q := l.replies(m)
	if q != nil {
		l.answered(q, m)
	} else if m.kind == vocab.ErrorMessage && m.env[vocab.ReplyTo] == nil && !passed {
		l.garble(m)
		l.unnamed(m, "EA-068")
	}
	if m.isState() {
		l.state(m, q)
	}
	l.overdue(m)
}

// replies returns the request that a message answers; nil if it answers none, or if that is uncertain.
func (l *line) replies(m message) *request {
	to := m.env[vocab.ReplyTo]
	q := l.requests[m.to]
	switch {
	case to == nil:
		l.misplaced(m)
		if m.kind == vocab.RelayJoined {
			l.unnamed(m, "EA-028")
		}
		return nil
	case l.s.ours && text(to, true):
	case !text(to, true):
		clauses := []string{"EA-023a"}
		if w := l.waiting(m.kind); m.kind == vocab.RelayJoined && l.opened && len(w) == 1 && w[0].legal {
			clauses = append(clauses, "EA-028")
		}
		if !l.s.ours {
			l.s.broken(m, "replyTo is a string, the id of a request", "", clauses...)
		}
		return nil
	case l.s.ids[m.to]:
		l.s.kept(m, "EA-023a")
	default:
		l.strangeID(m)
	}
	if q == nil || q.twice || q.N > m.N {
		return nil
	}
	return q
}

// strangeID handles a replyTo that is the id of no request that was seen.
func (l *line) strangeID(m message) {
	in := slices.IndexFunc(l.garbled, func(g message) bool {
		return m.to != "" && strings.Contains(string(g.Bytes), `"`+m.to+`"`)
	})
	waiting := l.waiting(m.kind)
	switch {
	case in >= 0 && IsAnswer(m.kind):
		l.s.broken(m, fmt.Sprintf("INVALID_MESSAGE, because record %d is not a JSON object", l.garbled[in].N), "", "EA-078")
		l.lose()
	case len(waiting) == 1 && l.opened && bare(m.to) == bare(waiting[0].name) && bare(m.to) != "":
		l.s.broken(m, "replyTo "+waiting[0].name, "", "EA-023a")
	case m.to == "" && l.opened && !l.unclear:
		l.s.broken(m, "replyTo is the id of a request", "", "EA-023a")
	case l.s.unknown:
	case m.kind == vocab.RelayJoined:
		l.unnamed(m, "EA-028")
	case m.kind == vocab.ToolResult:
		l.unnamed(m, "EA-023a", "EA-047")
	default:
		l.unnamed(m, "EA-023a")
	}
}

// bare returns an id apart from case, quotes and white space.
func bare(id string) string { return strings.ToLower(strings.Trim(id, "\"' \t\n")) }

// misplaced finds an answer without replyTo that has the id of the only request that waits for it somewhere else.
func (l *line) misplaced(m message) {
	waiting := l.waiting(m.kind)
	if l.s.ours || !IsAnswer(m.kind) || len(waiting) != 1 || waiting[0].name == "" || !l.opened {
		return
	}
	q := waiting[0]
	at := m.env[vocab.ID] == q.name
	for name, v := range m.body {
		at = at || strings.Contains(strings.ToLower(name), "reply") && v == q.name
	}
	if at && q.legal {
		l.s.broken(m, "replyTo "+q.name+", as it answers record "+fmt.Sprint(q.N), "", answered[q.kind]...)
		l.lose()
	}
}

// answered judges an answer.
func (l *line) answered(q *request, m message) {
	s := l.s
	if m.kind == vocab.StateUpdated || m.kind == vocab.UserMessage {
		return // it may name its cause
	}
	q.answers++
	if q.answers == 1 {
		q.answer, q.then = m, l.last
	}
	if !m.failed() {
		l.round(q, m)
	}
	l.refusing(q, m)
	if q.kind == vocab.ToolCall {
		l.called(q, m)
	}
	if q.kind == vocab.AgentMessage && m.kind == vocab.ToolResult && q.legal {
		s.broken(m, fmt.Sprintf("no tool.result, since record %d is an agent.message", q.N), "", "EA-008a")
		l.lose()
	}
	switch want := AnswerOf[q.kind]; {
	case m.kind == vocab.ErrorMessage:
		s.kept(m, "EA-068")
		l.doubt(q, m)
		l.leaves(q)
	case want == "" || q.answers > 1:
	case m.kind != want:
		if IsAnswer(m.kind) && q.legal { // unless its own answer also comes
			q.wrong = m
		}
		q.answers--
		return
	default:
		if q.due == nil || q.due.Done {
			s.kept(m, answered[q.kind]...)
		}
		l.keeps(q, m)
		l.course(q, m)
	}
	if q.due != nil && m.kind == AnswerOf[q.kind] {
		l.Settle(entry{m})
	}
	q.settled()
}

// round notes that a request was answered: earlier requests are overdue, and errors that called legal requests invalid
// were wrong, as the host is there.
func (l *line) round(q *request, m message) {
	for _, other := range l.order {
		if other.answers == 0 && q.N > other.since && other.stages < 2 {
			other.stages, other.since = other.stages+1, m.N
		}
	}
	if q.N > l.noID {
		l.noID = 0
	}
	for _, s := range l.suspects {
		if q.N > s.err.N && q.kind != vocab.RelayJoin && q.kind != vocab.SessionStart && q.active && !l.lost {
			l.s.broken(s.err, fmt.Sprintf("the legal %s of record %d not refused as invalid", s.req.kind, s.req.N), "",
				s.of...)
			l.lose()
		}
	}
	l.suspects = slices.DeleteFunc(l.suspects, func(s suspect) bool { return q.N > s.err.N })
	l.effects(q, m)
}

// effects notes what an answer shows about earlier messages: other due answers were skipped, and an agent.message was
// accepted.
func (l *line) effects(q *request, m message) {
	for i := range l.nameless {
		n := &l.nameless[i]
		n.behind = n.behind || q.N > n.answer.N && (q.active || n.req.kind == vocab.RelayJoin || l.s.ours)
	}
	for _, other := range l.order {
		if other.kind == vocab.AgentMessage && other.answers == 0 && other.legal && other.active && q.N > other.N {
			l.s.kept(m, "EA-008", "EA-008a")
		}
	}
	if l.quick != nil && q.N > l.quick.answer.N && q.N > l.quick.effectAt {
		l.quick.effects, l.quick.effectAt = l.quick.effects+1, m.N
	}
}

// doubt notes that a legal request was refused as illegal: a present host must accept it.
func (l *line) doubt(q *request, m message) {
	if !q.legal || !q.active || !q.plain() || q.kind == vocab.ToolCall && !l.allowed(q) ||
		m.word(vocab.Code) != vocab.InvalidMessage || len(l.suspects) >= mostStates {
		return
	}
	of := answered[q.kind]
	if q.kind == vocab.AgentMessage {
		of = []string{"EA-008"}
	}
	if len(of) > 0 && q.kind != vocab.RelayJoin {
		l.suspects = append(l.suspects, suspect{q, m, of})
	}
}

// unnamed notes an answer that names no request of the agent: if one request waits for such an answer, and gets no
// other, this is its answer. In a run only errors need that, as every other answer is awaited.
func (l *line) unnamed(m message, clauses ...string) {
	waiting := l.waiting(m.kind)
	switch {
	case !l.opened || len(waiting) != 1:
		return
	case !l.s.ours && (l.unclear || !waiting[0].legal):
		return
	case l.s.ours && (l.noID > 0 || l.s.moved > waiting[0].N || AnswerOf[waiting[0].kind] == "" ||
		m.kind != vocab.ErrorMessage):
		return
	}
	waiting[0].settled() // as far as is known
	l.nameless = append(l.nameless, nameless{req: waiting[0], answer: m, clauses: clauses})
	if len(l.nameless) > mostStates {
		l.nameless = l.nameless[1:]
	}
}

// waiting returns the requests that an answer of a type may belong to. In a run, one that a later one has overtaken
// waits no longer, and an error may answer whatever was sent.
func (l *line) waiting(kind string) []*request {
	var out []*request
	for _, q := range l.order {
		may := AnswerOf[q.kind] == kind || kind == vocab.ErrorMessage
		if l.s.ours {
			may = may && q.stages == 0
		} else {
			may = may && AnswerOf[q.kind] != ""
		}
		if may && q.answers == 0 {
			out = append(out, q)
		}
	}
	return out
}

// silent judges, at the end of a connection, an answer that names no request while one request has no answer, and an
// effect that was not announced although a snapshot shows it. A call may take time.
func (l *line) silent() {
	for _, n := range l.nameless {
		due := n.req.kind != vocab.ToolCall || l.s.ours || l.s.now-n.answer.At >= patience
		if n.req.answers == 0 && n.behind && due {
			l.s.broken(n.answer, "replyTo "+n.req.name+": no other request was without an answer", "", n.clauses...)
			l.lose()
			if l.lost {
				return
			}
		}
	}
	q := l.quick
	if q != nil && q.effects >= 2 && q.changed && l.s.now-q.answer.At >= patience {
		l.s.broken(q.answer, "state.updated with the effect of "+q.tool, "", "EA-054")
	}
}

// refusing judges the answer to an invalid envelope.
func (l *line) refusing(q *request, m message) {
	if q.answers > 1 || !l.opened {
		return
	}
	clause := ""
	switch versioned := q.env[vocab.V] == vocab.Version; {
	case !versioned && text(q.env[vocab.Type], true) && q.body != nil:
		clause = "EA-020"
	case versioned && q.body == nil && AnswerOf[q.kind] != "":
		clause = "EA-024a"
	case versioned && q.body != nil && !known(q.kind):
		clause = "EA-078"
	default:
		return
	}
	if q.kind != vocab.RelayJoin && (!l.joined || !q.active) {
		return
	}
	code := m.word(vocab.Code)
	refused := m.kind == vocab.ErrorMessage && code == vocab.InvalidMessage
	taken := AnswerOf[q.kind] == m.kind
	switch clause {
	case "EA-078":
		taken = IsAnswer(m.kind) || m.kind == vocab.ErrorMessage && code != vocab.SessionNotActive
	case "EA-020": // only its version is wrong
		taken = taken || m.kind == vocab.ErrorMessage && q.kind == vocab.SnapshotGet && slices.Contains(vocab.Codes(), code)
	}
	if refused || taken {
		l.s.check(refused, m, fmt.Sprintf("INVALID_MESSAGE, because record %d is not a valid envelope", q.N), "", clause)
	}
}

// garble judges an error that can only be about a frame that is not JSON.
func (l *line) garble(m message) {
	if len(l.garbled) == 0 {
		return
	}
	at := l.garbled[len(l.garbled)-1].N
	waits := slices.ContainsFunc(l.order, func(q *request) bool { return q.answers == 0 && q.stages == 0 })
	switch code := m.word(vocab.Code); {
	case code == vocab.InvalidMessage:
		l.s.kept(m, "EA-078")
	case l.s.ours || waits || l.Latest() != at:
	case slices.Contains([]string{vocab.InvalidParams, vocab.UnknownTool, vocab.NoActiveSpec}, code):
		l.s.broken(m, fmt.Sprintf("INVALID_MESSAGE, because record %d is not JSON, and no request waits", at), "", "EA-078")
	}
	l.garbled = nil
}

// course handles the answers that start and end a session.
func (l *line) course(q *request, m message) {
	switch m.kind {
	case vocab.RelayJoined:
		l.joined = true
		if q.legal {
			l.s.member(wjson.Equal(m.body[vocab.Role], q.body[vocab.Role]), m, vocab.Role,
				wjson.Compact(q.body[vocab.Role])+", as in relay.join", "EA-029")
			l.s.member(wjson.Equal(m.body[vocab.SessionID], q.body[vocab.SessionID]), m, vocab.SessionID,
				wjson.Compact(q.body[vocab.SessionID])+", as in relay.join", "EA-030")
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
	case vocab.SessionEnd:
		l.ending = false
	default:
		return
	}
	if !l.s.ours {
		l.session, l.over, l.partial = "", l.over && q.kind == vocab.SessionEnd, true
	}
}

// begins handles session.started.
func (l *line) begins(q *request, m message) {
	l.pending = max(0, l.pending-1)
	l.session, l.over, l.ending = m.word(vocab.SessionID), false, false
	if len(l.started) < mostRequests {
		l.started[l.session] = true
	}
	if l.last != nil && l.last.N < q.N {
		l.last = nil
	}
	l.partial = l.partial && len(l.all) >= mostStates
	l.fresh, l.strange, l.blank, l.words = m.N, nil, nil, nil
}

// ofSession judges that a message names the study session: of a foreign connection, one that was started on it.
func (l *line) ofSession(m message, clause string) {
	id, there := m.body[vocab.SessionID].(string)
	ok := there && (id == l.session || !l.s.ours && l.started[id])
	l.s.member(ok, m, vocab.SessionID, fmt.Sprintf("%q, as in session.started", l.session), clause)
}

// ends handles session.ended.
func (l *line) ends(m message) {
	if l.session != "" && !l.s.crowd && l.pending == 0 {
		l.ofSession(m, "EA-064")
	}
	l.ending, l.over, l.session, l.reset = false, true, "", l.place
	l.before, l.words, l.history = l.words, nil, nil
	if l.last != nil {
		l.history, _ = l.last.History.([]any)
	}
}
