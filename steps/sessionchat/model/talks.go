package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps/obligation"
)

// talk is the conversation under an agent_id: that of a connection, or of all connections if all clients are ours.
type talk struct {
	agent string
	conn  string // the one that asks

	chats   []*Chat   // without a result, oldest first
	all     []*Chat   // of our own clients
	begun   bool      // the oldest of them has received a message of its turn
	answers []message // messages of its turn
	last    ending    // the latest one
	before  int       // record of the previous ending
	since   bool      // another message of a turn came since the latest ending

	cut       bool            // an interrupt was sent
	overlaps  bool            // a second chat came while one was open
	meanwhile map[string]bool // clauses about what was sent elsewhere, or in vain, since the latest turn
	turns     int             // that have ended
	id        string          // the latest session_id

	muddled bool      // results can't be matched to turns
	lenient bool      // an interrupt may have come after the end and get its own result
	doubted []message // words after a result that may be a second one of the turn before; see doubt
}

// ending is the result of a turn.
type ending struct {
	record    message
	of        *Chat
	wordless  bool // no words of the turn came before it
	undivided bool // no other turn ran
	pieces    string
	answer    string // the model's whole answer, of which the pieces are a part; "" if it is unknown
}

func (m *Model) key(msg message) key {
	if m.ours() {
		return key{of: msg.agent}
	}
	return key{msg.r.Conn, msg.agent}
}

// talk returns the conversation of a message.
func (m *Model) talk(msg message) *talk {
	at := m.key(msg)
	if m.talks[at] == nil {
		m.talks[at] = &talk{agent: msg.agent, conn: msg.r.Conn, meanwhile: map[string]bool{}}
	}
	return m.talks[at]
}

// mine returns the conversation of a message of the server; nil if no chat named it on this connection, or if foreign
// connections use it too, so that its messages may belong to them.
func (m *Model) mine(msg message) *talk {
	if m.ours() {
		if t := m.talk(msg); t.conn == msg.r.Conn {
			return t
		}
		return nil
	}
	if len(m.shared[msg.agent]) > 1 || m.strangers[msg.agent] > 0 {
		return nil
	}
	return m.talks[m.key(msg)]
}

// chat takes a chat. The server owes its turn, up to the result.
func (m *Model) chat(l *line, msg message) {
	m.use(msg)
	m.forwardedOnce(l, msg.agent)
	agent, content := msg.agent, msg.text(vocab.Content)
	if !msg.legal() {
		l.unknown = true
		if !m.ours() {
			return
		}
	} else if !slices.Contains(l.agents, agent) {
		l.agents = append(l.agents, agent)
	}
	t := m.talk(msg)
	t.settle(m, false)
	t.muddled = t.muddled || t.conn != msg.r.Conn
	t.overlaps = t.overlaps || len(t.chats) > 0
	c := &Chat{message: msg, answer: llm.Foretold(content)}
	for _, d := range llm.Directives(content) {
		c.held, c.fails = c.held || d.Kind == llm.KindHold, c.fails || d.Kind == llm.KindFail
	}
	if msg.legal() {
		c.owed = l.Owe(&owed{What: fmt.Sprintf("the turn of agent_id %q, up to its %s", agent, vocab.ResultMessage),
			Cause: msg, About: vocab.ResultMessage, Clauses: msg.accepting(), Optional: t.overlaps, Unfenced: true,
			Match: func(p message) bool { return p.is(vocab.ResultMessage) && p.agent == agent }})
	}
	if t.chats = append(t.chats, c); m.ours() && agent != "" && content != "" {
		m.asked(l, t, c)
	}
	for _, other := range m.talks {
		if other != t && (other.conn == msg.r.Conn || m.ours()) {
			other.meanwhile["SC-028"] = true
		}
	}
}

// use notes the agent_id of a chat. One that is not a string is left out: there is no agent_id that the answer could
// rightly have, and SC-030 judges that it is refused.
func (m *Model) use(msg message) {
	agent, named := msg.data[vocab.AgentID].(string)
	if !named {
		return
	}
	m.used[agent] = true
	for _, d := range llm.Directives(msg.text(vocab.Content)) {
		m.nonces[d.Nonce] = agent
	}
}

// result takes a result as the end of the oldest open turn; if there is none, it is a second result.
func (m *Model) result(l *line, t *talk, msg message) {
	if t == nil {
		return
	}
	t.settle(m, true)
	foreign := !m.ours() && (t.cut || l.unknown || !l.opened)
	if len(t.chats) == 0 {
		if t.last.record.r.N > 0 && !t.muddled && !t.lenient && !foreign && (m.ours() || !t.since) {
			m.add(msg, second(t.last.record.r.N, msg))
		}
		return
	}
	m.ends(l, t, msg)
	if !t.muddled && !foreign && (m.ours() || !t.overlaps) {
		m.keep(msg, "SC-020")
	}
}

// ends takes the result of the oldest chat.
func (m *Model) ends(l *line, t *talk, msg message) {
	of, success := t.chats[0], msg.text(vocab.Subtype) == vocab.Success
	if of.owed != nil {
		if success && !t.overlaps && t.conn == msg.r.Conn {
			m.served = true
			l.Settle(msg)
		}
		of.owed.Done = true
	}
	if of.end != nil {
		of.end.Done = true
		on, owes := named(of.end)
		m.tally.Add(on, owes, obligation.Coverage{Settled: 1})
	}
	if !t.overlaps {
		l.Fence(of.r.N, msg.r.N, msg.r.At)
	}
	if of.cut && msg.text(vocab.Subtype) != vocab.Interrupted { // it may have ended before the interrupt
		t.lenient = true
	}
	t.before = t.last.record.r.N
	pieces, whole := of.saidIn(vocab.StreamMessage), of.saidIn(vocab.AssistantMessage)
	slices.SortFunc(whole, func(a, b string) int { return len(b) - len(a) })
	t.last = ending{record: msg, of: of, wordless: len(pieces)+len(whole)+len(m.noncesIn(msg)) == 0,
		undivided: len(t.chats) == 1, pieces: strings.Join(pieces, ""),
		answer: cmp.Or(slices.Insert(whole, 0, of.answer)...)}
	t.chats = t.chats[1:]
}

// turned notes a message of a turn once it is judged.
func (m *Model) turned(msg message) {
	t := m.talks[m.key(msg)]
	if t == nil || !ofTurn[msg.kind] {
		return
	}
	if msg.id != "" {
		t.id = msg.id
	}
	if msg.kind != vocab.ResultMessage {
		t.begun, t.since = true, true
		t.answers = append(t.answers, msg)
		return
	}
	t.begun, t.since, t.answers = false, false, nil
	if t.turns++; len(t.chats) == 0 {
		clear(t.meanwhile)
	}
	m.ids.named(m, t, msg)
}

// said judges words while no turn runs: either they came after the end of their turn, or the supposed end was a
// second result of the previous turn.
func (t *talk) said(m *Model, msg message) {
	if t.muddled || !m.ours() || !words[msg.kind] || len(t.chats) > 0 || t.last.record.r.N == 0 {
		return
	}
	if len(t.doubted) > 0 || t.before > 0 && t.last.wordless && t.last.undivided && t.named(m, msg) {
		t.doubted = append(t.doubted, msg) // it was a second one if another result follows before the next chat
		return
	}
	t.behind(m, msg)
}

// behind judges words after the end of their turn.
func (t *talk) behind(m *Model, msg message) {
	if t.named(m, msg) || t.last.goesOn(msg) {
		m.fail(msg, fmt.Sprintf("no further message of the turn that ended in record %d", t.last.record.r.N), "SC-020")
	}
}

// named reports whether words mention a chat of their agent_id.
func (t *talk) named(m *Model, msg message) bool {
	return slices.ContainsFunc(m.noncesIn(msg), func(n string) bool { return m.nonces[n] == t.agent })
}

// settle decides whether the latest result was a second one of the turn before, as another result shows: the words
// that came meanwhile are then those of the turn that goes on.
func (t *talk) settle(m *Model, another bool) {
	doubted := t.doubted
	t.doubted = nil
	switch {
	case len(doubted) == 0:
	case another:
		if !t.lenient {
			m.add(t.last.record, second(t.before, t.last.record))
		}
		t.chats = []*Chat{t.last.of}
		t.last = ending{record: message{}}
		t.last.record.r.N = t.before
	default:
		for _, msg := range doubted {
			t.behind(m, msg)
		}
	}
}

// tail is the shortest text without a nonce, in bytes, that is the model's because its answer ends with it.
const tail = 4

// goesOn reports whether a stream message is a piece of the answer of the turn that has ended: it continues the pieces
// that came before the end, or repeats the last of them. Other words may be the target's own.
func (e *ending) goesOn(msg message) bool {
	text := msg.text(vocab.Text)
	if msg.kind != vocab.StreamMessage || msg.r.Cut > 0 || strings.TrimSpace(text) == "" ||
		!e.undivided || e.pieces == "" || e.answer == "" {
		return false
	}
	return strings.HasPrefix(e.answer, e.pieces+text) ||
		e.pieces == e.answer && len(text) >= tail && strings.HasSuffix(e.answer, text)
}

func second(ended int, msg message) verdict.Finding {
	f := failed(msg, fmt.Sprintf("one %s of the turn that ended in record %d", vocab.ResultMessage, ended), "SC-020")
	f.Observed = "another one: " + f.Observed
	return f
}
