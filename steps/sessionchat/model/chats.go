package model

import (
	"bytes"
	"slices"

	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Chat is a chat without a result or, among our own clients, any chat, with what has become of its turn.
type Chat struct {
	message

	held, cut bool
	fails     bool   // the model fails
	answer    string // the model's whole answer; "" if it is unknown
	owed      *owed
	end       *owed // because of an interrupt; nil: none was sent

	// the rest is known of our own chats only

	nonce   string // of its answer; "": the answer is not known
	pieces  int    // of its answer; 0: any number
	before  []*Chat
	extra   bool    // sent while another turn of the session ran, so that it may stay unanswered
	crowded bool    // a chat that is extra follows while it runs
	beside  bool    // it ran, while its model waits, beside another such turn of another session
	stop    message // the first interrupt behind it
	lost    bool    // its connection ended first
	spared  bool    // another session was interrupted while its model waited

	heard    []message // messages of the session on its connection, up to the next chat or its result
	tail     string    // of the pieces so far, in which a nonce may begin
	answered message   // the first with its answer
	astray   message   // the first with its answer under another agent_id
	result   message   // of its turn, or the error that ends a turn whose model fails
	copies   bool      // it was looked for copies
	replaced bool      // that is the result of a later chat
	doubtful message   // a result that may be that of an earlier turn
	told     message   // the result, if it is told on the connection of the interrupt
	vain     string    // why a wait for what it owes was in vain; "": none was
}

// Chat returns a chat of our own clients by its record; nil if there is none.
func (m *Model) Chat(record int) *Chat {
	return m.chats[record]
}

// asked takes a legal chat of our own clients.
func (m *Model) asked(l *line, t *talk, c *Chat) {
	c.before = t.all
	for _, d := range llm.Directives(c.text(vocab.Content)) {
		c.nonce = d.Nonce
		if d.Kind == llm.KindStream {
			c.pieces = d.Count
		}
	}
	if n := len(t.all); n > 0 {
		was := t.all[n-1]
		c.extra = was.Running() && was.stop.r.N == 0
		was.crowded = c.extra
	}
	for _, other := range m.talks {
		if n := len(other.all); c.held && other != t && n > 0 && other.all[n-1].held && other.all[n-1].Running() {
			c.beside, other.all[n-1].beside = true, true
		}
	}
	if !c.extra {
		m.count(c, obligation.Coverage{Owed: 1})
	}
	t.all, m.chats[c.r.N], l.chats = append(t.all, c), c, append(l.chats, c)
}

// stopped takes an interrupt of a session of our own clients.
func (m *Model) stopped(msg message) {
	for _, t := range m.talks {
		if len(t.all) == 0 {
			continue
		}
		switch c := t.all[len(t.all)-1]; {
		case t.agent == msg.agent && c.stop.r.N == 0:
			c.stop = msg
		case t.agent != msg.agent && c.held && c.Running() && c.stop.r.N == 0:
			c.spared = true
		}
	}
}

// hear takes a message to one of our own clients: it is about the turns of its session that run on its connection.
func (m *Model) hear(l *line, msg message) {
	var running []*Chat
	for i, c := range l.chats {
		if msg.agent != c.agent {
			c.misses(msg)
			continue
		}
		latest := !slices.ContainsFunc(l.chats[i+1:], func(later *Chat) bool { return later.agent == c.agent })
		if !latest && !c.Running() {
			continue
		}
		c.heard = append(c.heard, msg)
		if c.answered.r.N == 0 && c.result.r.N == 0 && c.answers(msg, m.OwnModel) {
			c.answered = msg
			m.count(c, obligation.Coverage{Settled: 1})
		}
		if c.result.r.N == 0 || c.result.kind == vocab.ErrorMessage {
			running = append(running, c)
		}
	}
	switch {
	case msg.kind == vocab.ErrorMessage:
		for _, c := range running {
			if c.fails && c.result.r.N == 0 {
				c.result = msg
			}
		}
	case msg.kind == vocab.ResultMessage:
		m.endTurn(running, msg)
	}
}

// answers reports whether a message is the answer to a chat. It may come in pieces of any size, which may split the
// nonce.
func (c *Chat) answers(msg message, own bool) bool {
	said := msg.text(vocab.Text)
	switch {
	case !words[msg.kind]:
		return false
	case own || c.nonce == "":
		return said != "" || msg.kind == vocab.ResultMessage
	case msg.kind == vocab.StreamMessage:
		said = c.tail + said
		c.tail = said[max(0, len(said)-len(c.nonce)):]
	}
	return mentions(said, c.nonce, msg.kind == vocab.StreamMessage)
}

// misses notes the answer under another agent_id, best the whole of it.
func (c *Chat) misses(msg message) {
	if c.nonce != "" && (c.astray.r.N == 0 || c.astray.kind != msg.kind && msg.kind == vocab.AssistantMessage) &&
		mentions(msg.text(vocab.Text), c.nonce, false) {
		c.astray = msg
	}
}

// endTurn takes a result as the end of one of the running turns of its session: of the latest one that was answered,
// and of those before it, or else of the oldest that it may belong to. A copy of the end of an earlier turn ends no
// turn whose model waits or fails, unless no other result comes.
func (m *Model) endTurn(running []*Chat, msg message) {
	for i, c := range slices.Backward(running) {
		if c.answered.r.N > 0 && !(c.held && c.repeats(msg)) {
			for _, was := range running[:i] {
				was.result, was.replaced = msg, true
			}
			c.result = msg
			return
		}
	}
	for _, c := range running {
		known := (c.stop.r.N > 0 && msg.text(vocab.Subtype) == vocab.Interrupted || c.fails) && !c.repeats(msg)
		if known || !c.doubts(msg, m.OwnModel) {
			c.result = msg
			return
		}
		if c.doubtful.r.N == 0 {
			c.doubtful = msg
		}
	}
	if t := m.talk(msg); len(running) == 0 && len(t.all) > 0 {
		if c := t.all[len(t.all)-1]; c.Running() && c.stop.r.N > 0 && c.stop.r.Conn == msg.r.Conn {
			c.told = msg
		}
	}
}

// repeats reports whether a result is, byte for byte and with its time, that of an earlier turn of the session.
func (c *Chat) repeats(msg message) bool {
	return msg.text(vocab.Timestamp) != "" && slices.ContainsFunc(c.before, func(was *Chat) bool {
		return was.result.r.N > 0 && bytes.Equal(was.result.r.Bytes, msg.r.Bytes)
	})
}

// doubts reports whether a result before the answer may belong to an earlier turn of the session: it may repeat the
// end of one, complete one that ended by an error, or be that of one that lost its connection or was interrupted late.
func (c *Chat) doubts(msg message, own bool) bool {
	if own || c.nonce == "" {
		return false
	}
	how := msg.text(vocab.Subtype)
	return c.extra || slices.ContainsFunc(c.before, func(was *Chat) bool {
		return was.lost || was.stop.r.N > 0 && how == vocab.Interrupted ||
			was.result.r.N > 0 && (was.result.kind == vocab.ErrorMessage || was.result.text(vocab.Subtype) == how)
	})
}

// Failed reports whether the turn ended by an error or as a failure.
func (c *Chat) Failed() bool {
	return c.result.kind == vocab.ErrorMessage || c.result.text(vocab.Subtype) == vocab.Failed
}

// leave says that a connection of our clients has ended, with the turns that run on it.
func (m *Model) leave(l *line) {
	for _, c := range l.chats {
		c.lost = c.lost || c.result.r.N == 0
		m.forwardedOnce(l, c.agent)
	}
}

// Running reports whether the end of the turn is still to come.
func (c *Chat) Running() bool { return c.result.r.N == 0 && !c.lost }

// Whole reports whether the turn ran to its end undisturbed, so that the session's history has it.
func (c *Chat) Whole() bool {
	return c.result.r.N > 0 && !c.fails && !c.replaced && c.nonce != "" && (!c.extra || c.answered.r.N > 0) && !c.Cut()
}

// Cut reports whether the turn was interrupted, or lost its connection, before its end.
func (c *Chat) Cut() bool {
	return c.lost || c.stop.r.N > 0 && (c.result.r.N == 0 || c.stop.r.N < c.result.r.N)
}

// Stopped returns the record of the first interrupt after the chat; 0: there is none.
func (c *Chat) Stopped() int { return c.stop.r.N }

// Pieces returns how many pieces its answer has; 0: any number.
func (c *Chat) Pieces() int { return c.pieces }

// Extra reports whether the chat was sent while another turn of its session ran, so that it may stay unanswered.
func (c *Chat) Extra() bool { return c.extra }

// Result returns the end of the turn; the zero value before that.
func (c *Chat) Result() transcript.Record { return c.ending().r }

// Outcome returns how the turn ended.
func (c *Chat) Outcome() string { return c.ending().text(vocab.Subtype) }

// ending returns the result: if none came on the connection of the chat, the one on that of the interrupt.
func (c *Chat) ending() message {
	if c.result.r.N > 0 {
		return c.result
	}
	return c.told
}
