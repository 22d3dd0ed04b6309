package model

import (
	"slices"
	"strings"

	vocab "parley/protocol/sessionruntime"
	wjson "parley/transport/wire/json"
)

// handover is one handover (scenario F).
type handover struct {
	asked     Message
	from, to  string
	prompt    Message // N 0: not yet
	confirmed Message
	rejected  bool
	misnamed  bool // a confirmation of another handover has come meanwhile
	handed    bool // the new agent has been sent the context
	free      bool // the source leaves open whether it takes place
	maybe     bool // a confirmation that may have been meant for it has come
}

func (h *handover) open() bool { return h.confirmed.N == 0 && !h.rejected }

// unconfirmed returns the clauses broken by a switch that comes before the handover is confirmed.
func (h *handover) unconfirmed() (clauses []string, expected string) {
	if h.misnamed { // its ids distinguish it from the one confirmed
		return []string{"RT-062", "RT-133"}, "no SWITCH_AGENT for a confirmation of another handover"
	}
	return []string{"RT-133", "RT-061", "RT-128"}, "no SWITCH_AGENT before the frontend has confirmed the handover"
}

// handover handles an agent's HANDOVER_REQUEST.
func (m *Model) handover(d Message) {
	h := &handover{asked: d, from: d.From, to: d.TargetAgent}
	was, sure := m.sole()
	h.free = m.has(h.from) != present || m.has(h.to) != present || sure && was == h.to || h.from == h.to || !sure
	for _, other := range m.handovers {
		// Another one of the same turn, or between the same agents, is still open: the user has been asked that already.
		same := other.asked.Turn == d.Turn || other.from == h.from && other.to == h.to
		if other.open() && (m.watched || same) {
			h.free = true
			m.doubtHandovers()
		}
	}
	m.handovers = append(m.handovers, h)
	if m.has(h.to) != present { // the orchestrator may ask for it first
		m.mayAsk(d, h.to)
	}
	m.owe(Prompt, &owed{What: "CONTROL HANDOVER_UI_PROMPT to the frontend", Cause: d, About: about{agent: h.to},
		Clauses: append([]string{"RT-007", "RT-019", "RT-038", "RT-130", "RT-131"}, m.broadcast(d)...),
		Shown:   []string{"RT-061", "RT-128"}, Optional: h.free,
		Amiss: m.elsewhere(d, []string{"RT-131"}, func(p Message) bool { return p.Subtype == vocab.HandoverUIPrompt }),
		Match: kindOf(Prompt, func(p Message) bool {
			return h.prompt.N == 0 && m.isAbout(h, p)
		}), Met: func(p Message) { m.prompted(h, p) }})
}

// isAbout reports whether a prompt is about a handover: it contains that request's mark, or no request's.
func (m *Model) isAbout(h *handover, p Message) bool {
	for _, other := range m.handovers {
		if token := Token(other.asked.Payload); mentions(p.Payload, token) {
			return token == Token(h.asked.Payload)
		}
	}
	return true
}

// prompted judges the prompt to the user (RT-132).
func (m *Model) prompted(h *handover, p Message) {
	h.prompt = p
	m.Hold(p, "RT-061", "RT-128", "RT-133")
	m.correlates(p)
	parts := [][2]string{{"the agent that asks", h.from}, {"the new agent", h.to}}
	if !m.watched { // else it may be told in other words
		parts = append(parts, [2]string{"the reason", text(h.asked.Payload, "reason")})
	}
	for _, part := range parts {
		if m.watched && h.free {
			break
		}
		m.Member(part[1] == "" || Mentions(p, part[1]) || p.TargetAgent == part[1], p, []string{"RT-132", "RT-130"},
			"a prompt with the context of the request: "+part[0]+" "+quote(part[1]), "%s", clip(p.Payload))
	}
	m.Member(m.watched || p.Turn != "" || m.wordsOf(h.from, p) || mentions(p.Payload, text(h.asked.Payload, "summary")), p,
		[]string{"RT-132"},
		"the last output of agent "+h.from+", its summary, or the turn_id", "%s", clip(p.Payload))
}

// correlates records that a message about a removal or a handover identifies its transaction (RT-062). One that does
// not breaks nothing: the source asks that transactions can be told apart, but lists no id in the payload of a
// request, and accepts a summary instead of a turn_id in a prompt.
func (m *Model) correlates(p Message) {
	if p.named() {
		m.Keep(p, "RT-062")
	}
}

// named reports whether a message carries an id of its transaction.
func (m Message) named() bool { return m.Tx != "" || m.Turn != "" }

// wordsOf reports whether a message contains output of an agent.
func (m *Model) wordsOf(agent string, p Message) bool {
	all := wjson.Compact(p.Payload)
	for token, o := range m.outputs {
		if o.d.From == agent && token != "" && strings.Contains(all, token) {
			return true
		}
	}
	return false
}

// lastWords reports whether a message contains the last output of an agent that was forwarded: that of the turn which
// it hands over, or of any, by the time of the request or by now.
func (m *Model) lastWords(h *handover, p Message) bool {
	all := wjson.Compact(p.Payload)
	for _, by := range []struct {
		turn   string
		before int
	}{{h.asked.Turn, p.N}, {h.asked.Turn, h.asked.N}, {"", h.asked.N}, {"", p.N}} {
		last := Message{}
		for _, o := range m.outputs {
			if o.d.From == h.from && o.passed > 0 && Token(o.d.Payload) != "" && o.d.N > last.N && o.d.N < by.before &&
				(by.turn == "" || by.turn == o.d.Turn) {
				last = o.d
			}
		}
		if last.N > 0 && strings.Contains(all, Token(last.Payload)) {
			return true
		}
	}
	return false
}

// decide handles the frontend's HANDOVER_CONFIRM or HANDOVER_REJECT.
func (m *Model) decide(d Message) {
	if open := m.openHandovers(); len(open) > 1 && !d.named() {
		m.decideAny(d, open)
		return
	}
	h := m.decided(d)
	if h == nil {
		for _, other := range m.handovers {
			other.misnamed = other.misnamed || other.open() && d.Subtype == vocab.HandoverConfirm
		}
		if d.Subtype == vocab.HandoverConfirm {
			m.forbid(d, "no handover is open that it names", []Kind{Switch, Context}, m.unasked()...)
		}
		return
	}
	if d.Subtype == vocab.HandoverReject {
		h.rejected = true
		m.forbid(d, "the handover was rejected", []Kind{Switch, Context}, "RT-137")
		return
	}
	h.confirmed = d
	m.takePlace(h, d)
}

// takePlace expects what a confirmation of a handover leads to.
func (m *Model) takePlace(h *handover, d Message) {
	if m.has(h.to) != present {
		m.mayAsk(d, h.to)
	}
	was, sure := m.sole()
	free := h.free || !sure || was == h.to || m.has(h.to) != present
	clauses := []string{"RT-006", "RT-019", "RT-035", "RT-061", "RT-063", "RT-134", "RT-065", "RT-165"}
	change := m.announce(d, was, []string{h.to}, clauses, free)
	change.Shown = append(change.Shown, "RT-133")
	wrong, met := change.Amiss, change.Met
	change.Mere, change.Met = true, func(p Message) {
		if h.handed {
			m.Member(false, p, []string{"RT-136", "RT-061"}, "SWITCH_AGENT before the context", "the context comes first")
		}
		met(p)
	}
	change.Amiss = func() ([]string, string) {
		if broken, how := wrong(); broken != nil || !h.handed {
			return broken, how
		}
		// the confirmation was evidently accepted
		return []string{"RT-006", "RT-061", "RT-063", "RT-065", "RT-134"}, "no switch, and agent " + h.to + " has the context"
	}
	m.owe(Context, &owed{What: "HANDOVER_CONTEXT, or USER_INPUT, to agent " + h.to, Cause: d,
		About:   about{agent: h.to},
		Clauses: []string{"RT-061", "RT-135"}, Shown: []string{"RT-007"}, Optional: free,
		Amiss: func() ([]string, string) { return m.contextAmiss(d, h.to) },
		Match: func(p Message) bool {
			return p.Kind() == Context && (!free || p.TargetID == h.to) || p.Kind() == Route && m.isContext(h, p)
		},
		Met: func(p Message) { m.handed(h, change, d, p) }})
	if free {
		m.activate(append(listOf(m.active), h.to)...)
	} else {
		m.activate(h.to)
	}
	for _, t := range m.order { // what happens to the old agent's turn is left open
		if t.agent == h.from && t.live() {
			t.status = unclear
		}
	}
}

// contextAmiss finds a context that was sent otherwise than it has to be.
func (m *Model) contextAmiss(cause Message, to string) ([]string, string) {
	broken, how := m.elsewhere(cause, []string{"RT-135"}, func(p Message) bool {
		return p.Subtype == vocab.HandoverContext
	})()
	if broken == nil {
		broken, how = m.elsewhere(cause, []string{"RT-135", "RT-173"}, func(p Message) bool {
			return p.Target == vocab.ToAgent && p.TargetID == to
		})()
	}
	return broken, how
}

// unasked returns the clauses by which a confirmation of a handover that was not requested, or is decided already,
// changes nothing.
func (m *Model) unasked() []string {
	clauses := []string{"RT-061", "RT-065", "RT-133", "RT-135", "RT-137"}
	if len(m.openHandovers()) > 0 { // the confirmation does not name it
		clauses = append(clauses, "RT-062")
	}
	return clauses
}

// handed judges the context sent to the new agent.
func (m *Model) handed(h *handover, change *owed, d, p Message) {
	h.handed = true
	m.Member(!m.bus.strict || p.Kind() == Context, p, []string{"RT-173"}, "CONTROL HANDOVER_CONTEXT", "%s", p.Name())
	m.Check(p.TargetID == h.to, p, []string{"RT-135", "RT-015"}, "the context for agent "+h.to, "it goes to %q",
		p.TargetID)
	if change.Done && !change.Optional {
		m.Keep(p, "RT-136", "RT-061")
	}
	if m.watched && change.Done {
		m.judgeAttached(h, p)
	}
	if !m.watched && m.spoke(h) {
		m.Member(m.lastWords(h, p), p, []string{"RT-129", "RT-135"},
			"the context with the last output of agent "+h.from+"", "%s", clip(p.Payload))
	}
	m.contextTurn(d, p)
	m.Allow(d, "the context in the other form", func(c Message) bool {
		return c.Kind() != p.Kind() && (c.Kind() == Context || c.Kind() == Route && m.isContext(h, c))
	}).Met = func(c Message) { m.contextTurn(d, c) }
}

// contextTurn tracks the turn of the new agent that the context may begin.
func (m *Model) contextTurn(d, p Message) {
	if p.Turn == "" || m.turns[p.Turn] != nil {
		return
	}
	t := &turn{id: p.Turn, trace: p.Trace, agent: p.TargetID, in: &input{said: d}, routed: p, status: unclear}
	m.turns[t.id], m.bus.turns[t.id] = t, m.id
	m.order = append(m.order, t)
	m.Allow(p, "TURN_ACCEPTED", kindOf(Accepted, m.ofTurn(t)))
	m.awaitTimeout(t)
}

// decided returns the handover that the frontend's answer is about: the one with its tx_id or turn_id, or the only
// open one.
func (m *Model) decided(d Message) *handover {
	open := m.openHandovers()
	for _, h := range open {
		if d.Tx != "" && h.prompt.N > 0 && h.prompt.Tx == d.Tx {
			return h
		}
	}
	for _, h := range open {
		if d.Tx == "" && d.Turn != "" && h.prompt.Turn == d.Turn || len(open) == 1 && d.Tx == "" {
			h.free = h.free || !d.echoes(h.prompt) // the answer does not match the prompt
			return h
		}
	}
	for _, h := range open { // the prompt carried no id, so no answer can
		if h.prompt.N > 0 && !h.prompt.named() && Mentions(d, h.to) {
			h.free = true
			return h
		}
	}
	return nil
}

// openHandovers lists the handovers that the frontend has not answered.
func (m *Model) openHandovers() []*handover {
	return slices.DeleteFunc(slices.Clone(m.handovers), func(h *handover) bool { return !h.open() })
}

// decideAny handles an answer without any id while several handovers are open: each of them may be meant.
func (m *Model) decideAny(d Message, open []*handover) {
	for _, h := range open {
		h.free = true
		if d.Subtype == vocab.HandoverConfirm {
			h.maybe = true
			m.takePlace(h, d)
		}
	}
}

// isContext reports whether an input is the context of a handover rather than something the user said.
func (m *Model) isContext(h *handover, p Message) bool {
	for _, in := range m.inputs {
		if in.token == m.key(p.Payload) && in.routed == nil && in.forbid == nil && wjson.Equal(in.said.Payload, p.Payload) {
			return false
		}
	}
	return p.TargetID == h.to || m.wordsOf(h.from, p)
}

// spoke reports whether the old agent's output was forwarded in the turn it hands over, before its request.
func (m *Model) spoke(h *handover) bool {
	for _, o := range m.outputs {
		if o.d.From == h.from && o.d.Turn == h.asked.Turn && o.d.N < h.asked.N && o.passed > 0 &&
			Token(o.d.Payload) != "" {
			return true
		}
	}
	return false
}

// awaitsContext reports whether a USER_INPUT may be the context of a handover whose outcome is left open.
func (m *Model) awaitsContext() bool {
	return slices.ContainsFunc(m.handovers, func(h *handover) bool {
		return h.free && (h.maybe || h.confirmed.N > 0) && !h.handed
	})
}

// handingOver reports whether a handover was confirmed: the old agent may then be stopped.
func (m *Model) handingOver() bool {
	return slices.ContainsFunc(m.handovers, func(h *handover) bool { return h.maybe || h.confirmed.N > 0 })
}

func (m *Model) strayContext(p Message) {
	for _, h := range m.handovers {
		if h.rejected && h.to == p.TargetID {
			m.Fail(p, []string{"RT-137"}, "nothing for agent "+h.to+": the handover was rejected", "%s", p.Name())
			return
		}
	}
	m.Fail(p, []string{"RT-133", "RT-135", "RT-061"}, "HANDOVER_CONTEXT once, after the frontend has confirmed",
		"%s without that, or a second time", p.Name())
}
