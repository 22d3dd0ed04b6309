package passive

import (
	"slices"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
)

// transfer is a handover that an agent requested.
type transfer struct {
	judge.Message
	to        string
	active    string // when it was requested
	prompt    judge.Message
	confirmed judge.Message
	rejected  judge.Message
	doubted   bool // another one was open at the same time
	switched  bool
}

func (h *transfer) open() bool { return h.confirmed.N == 0 && h.rejected.N == 0 }

// handover handles an agent's HANDOVER_REQUEST.
func (s *session) handover(m judge.Message) {
	h := &transfer{Message: m, to: m.TargetAgent}
	for _, other := range s.handovers {
		if other.open() || other.confirmed.N > 0 && !other.switched {
			other.doubted, h.doubted = true, true
		}
	}
	was, sure := s.sure()
	h.active = was
	if s.handovers = append(s.handovers, h); len(s.handovers) > mostDue {
		s.handovers = s.handovers[1:]
	}
	if h.doubted || !sure || h.to == "" || h.to == was || h.to == m.From || !s.present(h.to) || !s.present(m.From) ||
		!firm(m, true) {
		h.doubted = h.doubted || h.to == "" || h.to == m.From || !sure || h.to == was
		return
	}
	s.owe(&due{subject: handovers, cause: m, what: "HANDOVER_UI_PROMPT to the frontend",
		clauses: []string{"RT-007", "RT-019", "RT-038", "RT-128", "RT-130", "RT-131"},
		met:     func(p judge.Message) bool { return p.Kind() == judge.Prompt },
		excused: news})
}

// prompted judges the prompt to the frontend.
func (s *session) prompted(p judge.Message) {
	var open []*transfer
	for _, h := range s.handovers {
		if h.open() && h.prompt.N == 0 {
			open = append(open, h)
		}
	}
	if len(open) != 1 {
		for _, h := range open {
			h.doubted = true
		}
		return
	}
	h := open[0]
	h.prompt = p
	s.round(h.Message, p)
	if h.doubted {
		return
	}
	if s.present(h.From) && (!judge.Mentions(p, h.From) || !judge.Mentions(p, h.to) && p.TargetAgent != h.to) {
		s.broken(handovers, p, "a prompt that names agent "+h.From+", which asks, and agent "+h.to, "RT-132")
	}
	s.kept(handovers, p, "RT-007", "RT-019", "RT-038", "RT-128", "RT-130", "RT-131", "RT-132")
}

// decided handles the frontend's HANDOVER_CONFIRM or HANDOVER_REJECT.
func (s *session) decided(m judge.Message) {
	confirms := m.Subtype == vocab.HandoverConfirm
	s.stir(m)
	var open []*transfer
	for _, h := range s.handovers {
		if h.open() {
			open = append(open, h)
		}
	}
	if len(open) > 1 {
		for _, h := range open {
			h.doubted = true
		}
	}
	if len(open) == 0 || m.Tx != "" && len(open) == 1 && open[0].prompt.Tx != "" && open[0].prompt.Tx != m.Tx {
		if confirms {
			s.expect(m, "", true)
		}
		for _, h := range open {
			h.doubted = true
		}
		return
	}
	for _, h := range open {
		if confirms {
			h.confirmed = m
			s.expect(m, h.to, true)
		} else {
			h.rejected = m
		}
	}
	h := open[0]
	if h.doubted || h.prompt.N == 0 || !firm(m, false) || !echoes(m, h.prompt) {
		return
	}
	if !confirms {
		s.hold(handovers, m, "RT-035", "RT-137", "RT-165")
		return
	}
	if slices.ContainsFunc(s.order, (*turn).live) || !s.present(h.to) {
		return
	}
	excused := func(o judge.Message) bool {
		return news(o) || o.Delivered && o.Event != vocab.AgentOutput && !control(o, vocab.InputAck)
	}
	s.owe(&due{subject: handovers, cause: m, what: "SWITCH_AGENT to " + h.to + " published",
		clauses: []string{"RT-035", "RT-065", "RT-134", "RT-165"}, excused: excused, met: func(p judge.Message) bool {
			return p.Subtype == vocab.SwitchAgent
		}})
	s.owe(&due{subject: handovers, cause: m, what: "HANDOVER_CONTEXT or USER_INPUT to agent " + h.to,
		clauses: []string{"RT-135", "RT-173"}, excused: excused, met: func(p judge.Message) bool {
			return p.Target == vocab.ToAgent && p.TargetID == h.to
		}})
}

// byHandover judges a switch to an agent that a handover names.
func (s *session) byHandover(p judge.Message, to string) {
	var h *transfer
	for _, c := range s.handovers {
		if c.to == to && !c.switched {
			h = c
		}
	}
	if h == nil || h.doubted {
		return
	}
	other := slices.ContainsFunc(s.changes, func(c *change) bool {
		return (c.who == to || c.who == "") && c.N != h.confirmed.N
	})
	switch {
	case other:
		h.doubted = true
	case h.rejected.N > 0:
		s.broken(handovers, p, "no SWITCH_AGENT for the handover that was rejected in record "+number(h.rejected.N),
			"RT-137", "RT-133")
	case h.confirmed.N == 0:
		s.broken(handovers, p, "HANDOVER_CONFIRM first, for the request of record "+number(h.N), "RT-061", "RT-128",
			"RT-133")
	default:
		h.switched = true
		s.kept(handovers, p, "RT-035", "RT-061", "RT-065", "RT-133", "RT-134", "RT-165")
		s.round(h.confirmed, p)
	}
}

// handed judges the context that an agent receives.
func (s *session) handed(p judge.Message) {
	var h *transfer
	for _, c := range s.handovers {
		if c.to == p.TargetID {
			h = c
		}
	}
	if h == nil || h.doubted {
		return
	}
	switch {
	case h.rejected.N > 0:
		s.broken(handovers, p, "nothing to agent "+h.to+": its handover was rejected in record "+number(h.rejected.N),
			"RT-137")
	case h.confirmed.N == 0:
		s.broken(handovers, p, "HANDOVER_CONFIRM first, for the request of record "+number(h.N), "RT-061", "RT-133",
			"RT-135")
	case !h.switched && h.active != "" && h.active != h.to && s.active == h.active:
		s.owe(&due{subject: handovers, cause: p, what: "SWITCH_AGENT to " + h.to + " before the context",
			clauses: []string{"RT-134"}, late: []string{"RT-061", "RT-136"}, met: func(o judge.Message) bool {
				return o.Kind() == judge.Switch && data(o, judge.SwitchTo) == h.to
			}})
	case h.switched:
		s.judgeAttached(h, p)
		s.kept(handovers, p, "RT-135", "RT-136", "RT-173")
	}
}

// uncertain notes that an orchestrator may switch on its own, because an agent has failed.
func (s *session) uncertain() {
	for _, h := range s.handovers {
		h.doubted = h.doubted || h.open()
	}
}
