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

// forwardedOnce judges that each message with the model's words, up to the next chat of its session on a connection of
// ours, was forwarded once (SC-020), since a person would read the words of a copy twice. The model says the words of a
// chat, which contain its nonce, once. A second message of the turn with the same body is therefore a copy; a different
// message with the same text has its own id or differs otherwise.
//
// Two kinds of message are not copies: those of a turn that sends the text so far, which a client replaces, and those
// with their own timestamps in a turn that streams nothing, where the second may be the whole of a single piece.
func (m *Model) forwardedOnce(l *line, agent string) {
	var c *Chat
	for _, later := range l.chats {
		if later.agent == agent {
			c = later
		}
	}
	if c == nil || c.copies {
		return
	}
	c.copies = true
	var whole []message
	streamed := false // words also came in stream messages
	for _, msg := range c.heard {
		switch {
		case msg.r.Cut > 0:
		case msg.kind == vocab.StreamMessage:
			streamed = streamed || msg.text(vocab.Text) != ""
		case msg.kind == vocab.AssistantMessage:
			whole = append(whole, msg)
		}
	}
	if grows(whole) {
		return
	}
	first := map[string]message{} // by body
	for _, msg := range whole {
		body := fmt.Sprintf("%s\n%v", wjson.Compact(msg.data[vocab.Body]), msg.data[vocab.Text])
		was, again := first[body]
		switch {
		case !again:
			if slices.ContainsFunc(m.noncesIn(msg), func(n string) bool { return m.nonces[n] == agent }) {
				first[body] = msg
				m.keep(msg, "SC-020")
			}
		case streamed || wjson.Equal(was.data[vocab.Timestamp], msg.data[vocab.Timestamp]):
			m.fail(msg, fmt.Sprintf("the message of record %d forwarded once", was.r.N), "SC-020")
			f := &m.findings[len(m.findings)-1]
			f.Observed = "a copy of it: " + f.Observed
			return
		}
	}
}

// grows reports whether some message continues the text of an earlier one.
func grows(whole []message) bool {
	for i, msg := range whole {
		text := msg.longest()
		if text != "" && slices.ContainsFunc(whole[i+1:], func(later message) bool {
			more := later.longest()
			return len(more) > len(text) && strings.HasPrefix(more, text)
		}) {
			return true
		}
	}
	return false
}
