package model

import (
	"slices"
	"strconv"

	vocab "parley/protocol/sessionruntime"
)

// unexplained judges a published message of foreign traffic that nothing calls for: less than uncalledFor does, because
// an orchestrator may act on its own, and on what is not seen.
func (m *Model) unexplained(p Message) {
	t := m.turns[p.Turn]
	if m.misspelt(p) {
		return
	}
	switch k := p.Kind(); k {
	case Prompt, RequestAdd, RequestOpen, RequestRemove, RequestClose, Switch, Added, Removed, Opened, Closed, Context:
		if m.certain() {
			m.uncalledFor(p)
			return
		}
	}
	switch k := p.Kind(); k {
	case Route:
		m.unexplainedInput(p)
	case Output:
		m.unexplainedOutput(t, p)
	case Accepted:
		if m.acceptedFirst(p) || t == nil {
			return
		}
		m.strayAccepted(p)
	case RouteTimeout, CancelSent:
		if t != nil {
			m.uncalledFor(p)
		}
	case Canceled:
		if t != nil && m.loose == 0 {
			m.uncalledFor(p)
		}
	case Notice:
		if t != nil {
			m.started(p)
		}
	case Switch:
		m.unexplainedSwitch(p)
	case RequestRemove, RequestClose:
		m.tooEarly(p)
	case Added, Removed:
		if slices.ContainsFunc(m.moves, func(mv *move) bool {
			return mv.add == (k == Added) && mv.agent == p.AgentID && !mv.again && (mv.request.N > 0 || !m.open)
		}) {
			m.strayMove(p)
		}
	case Opened, Closed:
		if slices.ContainsFunc(m.requests, func(rq *request) bool {
			return rq.close == (k == Closed) && rq.sent.N > 0
		}) {
			m.strayResult(p)
		}
	case Context:
		m.unexplainedContext(p)
	}
}

// certain reports whether everything about the session was seen, and no agent has failed in it, so that nothing is
// published without a visible cause.
func (m *Model) certain() bool {
	return !m.open && !m.hidden && m.loose == 0 && !slices.ContainsFunc(m.order, func(t *turn) bool {
		return t.lost || t.faulty
	}) && !m.failing
}

// unexplainedInput judges an input for an agent: the user's, with another payload, or one that must not be routed.
func (m *Model) unexplainedInput(p Message) {
	token, again := m.key(p.Payload), false
	for _, in := range m.inputs {
		switch {
		case in.token != token:
		case in.forbid != nil && in.routed == nil,
			in.twice && m.turns[p.Turn] == nil && !m.hidden && in.routed != nil && in.routed.live():
			m.strayInput(p)
			return
		case in.routed == nil, in.routed.live() && m.certain():
			again = again || in.routed != nil
		default:
			return // a retry after the end of its turn
		}
	}
	if again {
		m.strayInput(p)
		return
	}
	var waiting []*input
	for _, in := range m.inputs {
		if in.routed == nil && in.forbid == nil {
			waiting = append(waiting, in)
		}
	}
	if len(waiting) != 1 || waiting[0].mentions || len(m.handovers) > 0 || m.hidden || !firm(waiting[0].said) {
		return
	}
	in := waiting[0] // unless it is routed too
	in.altered = m.Owe(&owed{What: "the payload of the user's input (record " + strconv.Itoa(in.said.N) + ")", Cause: p,
		Clauses: []string{"RT-068"}, Match: func(r Message) bool {
			return in.routed == nil && r.Kind() == Route && m.isOf(in, r)
		}, Met: func(r Message) { m.route(in, r) }})
	m.leaveOpen(func(o *owed) bool { return o.Cause.N == in.said.N })
}

// elsewhereRouted judges an input that goes to another agent than the active one: the switch that explains it may be
// under way.
func (m *Model) elsewhereRouted(in *input, p Message, clauses []string) {
	to := p.TargetID
	m.Owe(&owed{What: "the input for agent " + words(listOf(in.to)) + ", which is active, or SWITCH_AGENT to " + to,
		Cause: p, Clauses: clauses, About: about{kind: Switch, agent: to}, Match: func(s Message) bool {
			return s.Subtype == vocab.SwitchAgent && data(s, SwitchTo) == to
		}, Met: func(s Message) { m.switched(s, "") }})
	m.activate(append(listOf(m.active), to)...)
}

// unexplainedOutput judges output of a turn that its agent did not send as it is.
func (m *Model) unexplainedOutput(t *turn, p Message) {
	if t == nil || t.in == nil {
		return
	}
	var waiting []*output
	for _, o := range t.said {
		if o.passed == 0 && !o.gone {
			waiting = append(waiting, o)
		}
	}
	o := m.outputs[m.piece(p)]
	switch {
	case o != nil:
		m.strayOutput(p)
	case len(waiting) > 0:
		m.Fail(p, []string{"RT-148"}, "output of the turn with its payload unchanged, such as record "+
			strconv.Itoa(waiting[0].d.N), "%s", clip(p.Payload))
	default:
		m.strayOutput(p)
	}
}

// unexplainedSwitch judges a switch for a handover that is not confirmed, or that was rejected. An orchestrator may
// switch on its own otherwise.
func (m *Model) unexplainedSwitch(p Message) {
	to := data(p, SwitchTo)
	for _, h := range m.handovers {
		if !h.free && h.to == to && (h.open() || h.rejected) {
			m.straySwitch(p)
			return
		}
	}
	for _, name := range []string{SwitchFrom, SwitchTo, Reason, Trigger} {
		if _, there := p.Data[name]; !there {
			m.Member(false, p, []string{"RT-066"}, "payload with from, to, reason and trigger", "%s without %s: %s", p.Name(),
				name, clip(p.Payload))
		}
	}
	m.activate(to)
}

// tooEarly judges a request to SessionManager that had to wait for a speaking agent to stop.
func (m *Model) tooEarly(p Message) {
	if p.Kind() == RequestClose && m.closing != nil ||
		p.Kind() == RequestRemove && slices.ContainsFunc(m.moves, func(mv *move) bool {
			return !mv.add && mv.agent == p.AgentID && mv.request.N == 0
		}) {
		m.uncalledFor(p)
	}
}

// unexplainedContext judges the context of a handover that is not confirmed, or that was rejected.
func (m *Model) unexplainedContext(p Message) {
	for _, h := range m.handovers {
		if h.to == p.TargetID && !h.free && (h.rejected || h.open()) {
			m.strayContext(p)
			return
		}
	}
}

// denied judges an ERROR that says that an agent is not in the session, although it was added, if the only request that
// may be meant needs it.
func (m *Model) denied(p Message) {
	object, _ := p.Payload.(map[string]any)
	if p.Subtype != vocab.AgentNotFound && object["code"] != vocab.AgentNotFound {
		return
	}
	texts := append(textsOf([]any{p.Payload, p.Metadata}), p.AgentID)
	var about []*owed
	m.Each(func(o *owed) {
		if who := o.About.agent; (o.About.kind == Route || o.About.kind == RequestRemove) && who != "" &&
			slices.ContainsFunc(texts, func(t string) bool { return t != "" && (t == who || t == o.Cause.ID) }) {
			about = append(about, o)
		}
	})
	if len(about) != 1 || about[0].Optional {
		return
	}
	o := about[0]
	if n := m.arrived[o.About.agent]; n == 0 || n > o.Cause.N {
		return
	}
	clauses := []string{"RT-049", "RT-086"}
	if o.About.kind == RequestRemove {
		clauses[1] = "RT-110"
	}
	m.Fail(p, clauses, "agent "+o.About.agent+" taken for one of the session: AGENT_ADDED (record "+
		strconv.Itoa(m.arrived[o.About.agent])+")", "%s: %s", p.Name(), clip(p.Payload))
}
