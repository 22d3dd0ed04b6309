package passive

import (
	"fmt"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// effects notes what an answer shows about earlier messages: other due answers were skipped, and an agent.message was
// accepted.
func (l *line) effects(q *request, m message) {
	v := l.v
	for i := range l.ahead {
		n := &l.ahead[i]
		n.behind = n.behind || q.N > n.answer.N && (q.active || n.req.kind == vocab.RelayJoin || v.ours != nil)
	}
	for _, other := range l.order {
		if other.kind == vocab.AgentMessage && other.answers == 0 && other.legal && other.active && q.N > other.N {
			v.kept(notes, m, "EA-008", "EA-008a")
		}
	}
	if l.quick != nil && q.N > l.quick.answer.N {
		if q.N > l.quick.effectAt {
			l.quick.effects, l.quick.effectAt = l.quick.effects+1, m.N
		}
	}
}

// silent judges, at the end of a connection, an answer that names no request while one request has no answer, and an
// effect that was not announced although a snapshot shows it. A call may take time.
func (l *line) silent() {
	for _, n := range l.ahead {
		due := n.req.kind != vocab.ToolCall || l.v.ours != nil || l.v.at-n.answer.At >= patience
		if n.req.answers == 0 && n.behind && due {
			l.v.broken(n.subject, n.answer, "replyTo "+n.req.id+": no other request was without an answer", n.clauses...)
			l.lost = true
			return
		}
	}
	q := l.quick
	if q != nil && q.effects >= 2 && q.changed && l.v.at-q.answer.At >= patience {
		l.v.broken(states, q.answer, "state.updated with the effect of "+q.tool, "EA-054")
	}
}

// noted judges the answer to an agent.message.
func (l *line) noted(q *request, m message) {
	if m.kind == vocab.ToolResult && q.legal {
		l.v.broken(notes, m, "no tool.result, since record "+fmt.Sprint(q.N)+" is an agent.message", "EA-008a")
		l.lost = true
	}
}

// refusing judges the answer to an invalid envelope.
func (l *line) refusing(q *request, m message) {
	if q.answers > 1 || !l.joined || !q.active {
		return
	}
	clause := ""
	switch {
	case q.env["v"] != vocab.Version && text(q.env["type"]) && q.body != nil:
		clause = "EA-020"
	case q.env["v"] == vocab.Version && q.body == nil && proper[q.kind] != "":
		clause = "EA-024a"
	case q.env["v"] == vocab.Version && q.body != nil && !known(q.kind):
		clause = "EA-078"
	default:
		return
	}
	refused := m.kind == vocab.ErrorMessage && word(m, "code") == vocab.InvalidMessage
	taken := proper[q.kind] == m.kind || clause == "EA-078" && m.kind == vocab.ErrorMessage &&
		word(m, "code") != vocab.SessionNotActive
	if refused || taken {
		l.v.check(refusals, refused, m, "INVALID_MESSAGE, because record "+fmt.Sprint(q.N)+" is not a valid envelope", clause)
	}
}

// known reports whether a type is one of the protocol.
func known(kind string) bool {
	return slices.Contains([]string{vocab.RelayJoin, vocab.RelayJoined, vocab.SessionStart, vocab.SnapshotGet,
		vocab.ToolCall, vocab.AgentMessage, vocab.SessionEnd, vocab.SessionStarted, vocab.SnapshotState, vocab.ToolResult,
		vocab.StateUpdated, vocab.UserMessage, vocab.SessionEnded, vocab.ErrorMessage}, kind)
}

// garble reports whether an error may answer a frame that is not JSON, and judges its code.
func (l *line) garble(m message) bool {
	if len(l.garbled) == 0 {
		return false
	}
	if word(m, "code") == vocab.InvalidMessage {
		l.v.kept(refusals, m, "EA-078")
	}
	l.garbled = nil
	return true
}

// agent judges the messages of an agent under test: received messages are those that it sent.
func (l *line) agent(m message) {
	if m.Dir == transcript.Sent {
		switch m.kind {
		case vocab.RelayJoined:
			l.mine.joined = true
		case vocab.SnapshotState, vocab.StateUpdated:
			l.told(m)
		}
		return
	}
	if !l.opened {
		return
	}
	if m.kind != vocab.RelayJoin {
		l.v.check(agents, l.mine.joined, m, "nothing before relay.joined", "EA-026")
	}
	id, ok := m.env["id"].(string)
	if !ok {
		return
	}
	if l.mine.ids == nil {
		l.mine.ids = map[string]bool{}
	}
	switch {
	case l.mine.ids[id]:
		l.v.broken(agents, m, "an id that no other request of the connection has", "EA-022b")
	case len(l.mine.ids) > 0:
		l.v.kept(agents, m, "EA-022b")
	}
	if len(l.mine.ids) < mostIDs {
		l.mine.ids[id] = true
	}
	if m.kind == vocab.ToolCall {
		l.calls(m)
	}
}
