package model

import (
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/sessionchat"
	wjson "parley/transport/wire/json"
)

// ownAgent judges that the model's words about a chat, which contain its nonce, carry the chat's agent_id (SC-021),
// unchanged (SC-041). It returns false if they do not.
func (m *Model) ownAgent(msg message) bool {
	if !words[msg.kind] {
		return true
	}
	own := true
	for _, nonce := range m.noncesIn(msg) {
		f := kept("SC-021", "SC-041")
		if agent := msg.data[vocab.AgentID]; agent != any(m.nonces[nonce]) {
			f = failed(msg, fmt.Sprintf("agent_id %q, under which the chat was sent", m.nonces[nonce]), f.Clauses...)
			f.Observed = fmt.Sprintf("agent_id %s in %s", wjson.Compact(agent), f.Observed)
			own = false
		}
		m.add(msg, f)
	}
	return own
}

// noncesIn returns the nonces of chats that a message mentions. A nonce at the end of a stream portion does not count
// yet, because the next portion may extend it.
func (m *Model) noncesIn(msg message) []string {
	said := msg.text(vocab.Text)
	var out []string
	for nonce := range m.nonces {
		if mentions(said, nonce, msg.kind == vocab.StreamMessage) {
			out = append(out, nonce)
		}
	}
	slices.Sort(out)
	return out
}

// mentions reports whether a text, which may be the beginning of a longer one, has a nonce, but not as a prefix of a
// longer nonce.
func mentions(said, nonce string, goesOn bool) bool {
	for rest := said; nonce != ""; {
		i := strings.Index(rest, nonce)
		if i < 0 {
			break
		}
		rest = rest[i+len(nonce):]
		if rest == "" && !goesOn || rest != "" && rest[0] != '-' && (rest[0] < '0' || rest[0] > '9') {
			return true
		}
	}
	return false
}

// answers holds the messages of a session on a connection from one chat to the next. A new connection may receive
// messages again that an old one has received.
type answers struct {
	whole    []message // assistant messages
	streamed bool      // words also came in stream messages
}

// note notes a message with the model's words.
func (m *Model) note(msg message) {
	at := key{msg.r.Conn, msg.agent}
	if m.said[at] == nil {
		m.said[at] = &answers{}
	}
	switch a := m.said[at]; {
	case msg.r.Cut > 0:
	case msg.kind == vocab.StreamMessage:
		a.streamed = a.streamed || msg.data[vocab.Text] != nil && msg.data[vocab.Text] != ""
	case msg.kind == vocab.AssistantMessage:
		a.whole = append(a.whole, msg)
	}
}

// forwardedOnce judges that each message with the model's words, up to the next chat, was forwarded once (SC-020),
// since a person would read the words of a copy twice. The model says the words of a chat, which contain its nonce,
// once. A second message of the turn with the same body is therefore a copy; a different message with the same text has
// its own id or differs otherwise.
//
// Two kinds of message are not copies: those of a turn that sends the text so far, which a client replaces, and those
// with their own timestamps in a turn that streams nothing, where the second may be the whole of a single piece.
func (m *Model) forwardedOnce(at key) {
	a := m.said[at]
	delete(m.said, at)
	if a == nil || a.grows() {
		return
	}
	first := map[string]message{} // by body
	for _, msg := range a.whole {
		body := fmt.Sprintf("%s\n%v", wjson.Compact(msg.data[vocab.Body]), msg.data[vocab.Text])
		was, again := first[body]
		switch {
		case !again:
			if slices.ContainsFunc(m.noncesIn(msg), func(n string) bool { return m.nonces[n] == at.of }) {
				first[body] = msg
				m.keep(msg, "SC-020")
			}
		case a.streamed || wjson.Equal(was.data[vocab.Timestamp], msg.data[vocab.Timestamp]):
			m.fail(msg, fmt.Sprintf("the message of record %d forwarded once", was.r.N), "SC-020")
			f := &m.findings[len(m.findings)-1]
			f.Observed = "a copy of it: " + f.Observed
			return
		}
	}
}

// grows reports whether some message continues the text of an earlier one.
func (a *answers) grows() bool {
	for i, msg := range a.whole {
		text := msg.longest()
		if text != "" && slices.ContainsFunc(a.whole[i+1:], func(later message) bool {
			more := later.longest()
			return len(more) > len(text) && strings.HasPrefix(more, text)
		}) {
			return true
		}
	}
	return false
}
