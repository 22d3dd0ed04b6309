package model

import (
	"fmt"
	"strings"

	vocab "parley/protocol/sessionchat"
)

// answered judges the answer to a legal chat of a foreign client.
func (m *Model) answered(l *line, t *talk, msg message) {
	switch {
	case t == nil:
		if ofTurn[msg.kind] {
			m.distorted(l, msg)
		}
	case len(t.chats) > 0 && !t.overlaps && msg.denies() && !t.begun:
		m.fail(msg, fmt.Sprintf("the chat of record %d is accepted", t.chats[0].r.N), t.chats[0].accepting()...)
		if len(t.chats) == 1 && !l.done[msg.agent] && len(l.done) > 0 {
			m.fail(msg, fmt.Sprintf("the chat of record %d is answered, as those of another agent_id were", t.chats[0].r.N),
				"SC-004", "SC-025", "SC-026", "SC-052", "SC-057")
		}
	case len(t.chats) > 0 && ofTurn[msg.kind]:
		m.keep(msg, "SC-005", "SC-021", "SC-041", "SC-060")
		if msg.kind != vocab.ResultMessage {
			return
		}
		if l.done[msg.agent] = true; len(l.done) > 1 {
			m.keep(msg, "SC-004", "SC-024", "SC-025", "SC-026", "SC-052", "SC-057")
		}
	case msg.kind == vocab.ResultMessage && t.last.record.r.N > 0 && t.since && !t.cut:
		m.swapped(l, msg)
	}
}

// waiting returns a connection's open chats that have had no message and no interrupt; begun reports whether another
// chat has had one.
func (m *Model) waiting(l *line, conn string) (chats []*Chat, begun bool) {
	for _, agent := range l.agents {
		switch t := m.talks[key{conn, agent}]; {
		case t == nil || len(t.chats) == 0:
		case t.begun || t.cut:
			begun = true
		default:
			chats = append(chats, t.chats...)
		}
	}
	return chats, begun
}

// distorted judges a message under an agent_id that no client has sent. It belongs to a client that was not observed,
// unless it belongs to a chat of the connection: it has the session_id of that chat's session, or an agent_id that
// equals the chat's, apart from case and white space, or it ends a whole turn that began after the chat. In the last
// two cases the chat must be the only open one of the connection, without a message so far.
func (m *Model) distorted(l *line, msg message) {
	began := m.strangers[msg.agent]
	if msg.agent == "" || began == 0 {
		return
	}
	for _, agent := range l.agents {
		t := m.talks[key{msg.r.Conn, agent}]
		if t != nil && msg.id != "" && t.id == msg.id && len(m.shared[agent]) == 1 {
			m.fail(msg, fmt.Sprintf("agent_id %q, whose session_id it has", agent), "SC-021", "SC-041")
			return
		}
	}
	waiting, begun := m.waiting(l, msg.r.Conn)
	if len(waiting) != 1 || begun {
		return
	}
	asked := waiting[0]
	f := failed(msg, fmt.Sprintf("agent_id %q, as in record %d", asked.agent, asked.r.N), "SC-005", "SC-021", "SC-041",
		"SC-060")
	switch {
	case plain(asked.agent) == plain(msg.agent):
		m.add(msg, f)
	case msg.kind == vocab.ResultMessage && l.opened && !l.unknown && m.chatting() == 1 &&
		began > asked.r.N && began < msg.r.N:
		m.unlessMentioned(asked.agent, asked.r.N, msg, f)
	}
}

// chatting counts the connections with a chat.
func (m *Model) chatting() (n int) {
	for _, l := range m.lines {
		if len(l.agents) > 0 {
			n++
		}
	}
	return n
}

// swapped judges a whole turn without a chat of its agent_id, while the only open chat of the connection has another
// agent_id and gets no message, neither before nor later.
func (m *Model) swapped(l *line, msg message) {
	waiting, _ := m.waiting(l, msg.r.Conn)
	if len(waiting) != 1 || l.unknown {
		return
	}
	asked := waiting[0]
	m.unlessMentioned(asked.agent, asked.r.N, msg,
		failed(msg, fmt.Sprintf("the chat of record %d is answered under agent_id %q", asked.r.N, asked.agent),
			"SC-004", "SC-024", "SC-052", "SC-057"))
}

// pieces judges that the pieces of an answer are in the order of the whole answer, if both were sent: it looks for a
// text with the same letters in another order.
func (m *Model) pieces(t *talk, msg message) {
	if msg.kind != vocab.AssistantMessage || t == nil || t.overlaps || len(t.chats) != 1 || msg.r.Cut > 0 {
		return
	}
	said, count := "", 0
	for _, a := range t.answers {
		if a.kind == vocab.AssistantMessage || a.r.Cut > 0 {
			return // several messages: the pieces cannot be assigned to them
		}
		if a.data[vocab.Piece] != nil {
			said += a.text(vocab.Text)
			count++
		}
	}
	whole := msg.longest()
	switch {
	case count < 2 || strings.TrimSpace(said) == "":
	case strings.TrimSpace(said) == strings.TrimSpace(whole) || strings.Contains(whole, said):
		m.keep(msg, "SC-012", "SC-020")
	case len(said) > 8 && letters(said) == letters(whole):
		m.fail(msg, fmt.Sprintf("the %d pieces of the turn in the order of the whole answer", count), "SC-012", "SC-020")
	}
}
