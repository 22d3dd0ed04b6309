package model

import (
	"fmt"
	"slices"

	vocab "parley/protocol/sessionruntime"
)

// move is the addition of an agent to the session, or its removal (scenarios D and E).
type move struct {
	add      bool
	agent    string
	asked    Message  // the frontend's request
	request  Message  // the request to SessionManager; N 0: not yet
	inputs   []*input // inputs that mention the agent and wait for it
	invited  bool     // not only mentioned
	answered bool
	again    bool // the same or similar was requested and not answered yet: the outcome is left open
	fallback *owed
	refused  bool // in foreign traffic: the frontend may have been told that it does not take place
}

// remove handles scenario D.
func (m *Model) remove(d Message) {
	mv := &move{agent: d.AgentID, asked: d}
	mv.again = m.pending(mv)
	known := m.has(mv.agent) == present && !mv.again
	m.moves = append(m.moves, mv)
	clauses := []string{"RT-008", "RT-018", "RT-020", "RT-034", "RT-108", "RT-110"}
	stopped := []string{"RT-018", "RT-110"} // the CANCEL already shows that it was accepted
	if m.was(RequestRemove) {
		stopped = append(stopped, "RT-060", "RT-106")
	}
	if !known {
		m.stop(d, nil, true, func(t *turn) bool { return t.agent == mv.agent })
		m.request(mv, d, clauses, true)
		m.mayLeave(mv, d)
		return
	}
	var speaking, may []*turn
	for _, t := range m.stop(d, []string{"RT-106", "RT-109", "RT-060"}, false, func(t *turn) bool {
		return t.agent == mv.agent
	}) {
		if m.mustStop(t) {
			speaking = append(speaking, t)
		} else {
			may = append(may, t)
		}
	}
	var request *owed
	goOn := func(cause Message, clauses []string, open bool) {
		open = open || len(may) > 0 || m.goesOn(mv.agent) || mv.refused
		if request == nil {
			request = m.request(mv, cause, clauses, open || mv.request.N > 0) // a request that came too early still counts
			m.unbind(mv)
		} else if !request.Done {
			request.Optional, request.Cause = open, cause
		}
	}
	m.fallBack(mv, d)
	if len(speaking) == 0 {
		goOn(d, clauses, false)
		return
	}
	m.Hold(d, "RT-060", "RT-100", "RT-106", "RT-109", "RT-160")
	m.after(speaking, func(cause Message, open bool) { goOn(cause, stopped, open) })
}

// mayAsk allows a request to SessionManager for an agent.
func (m *Model) mayAsk(d Message, agent string) {
	m.Allow(d, "REQUEST_ADD_AGENT for "+agent,
		kindOf(RequestAdd, func(p Message) bool { return Mentions(p, agent) })).Met = func(p Message) {
		m.moves = append(m.moves, &move{add: true, agent: agent, asked: d, request: p, again: true})
	}
}

// pending reports whether the same move was requested before and not answered yet.
func (m *Model) pending(mv *move) bool {
	return slices.ContainsFunc(m.moves, func(other *move) bool {
		return other.add == mv.add && other.agent == mv.agent && !other.answered
	})
}

// after calls do once all turns have stopped.
func (m *Model) after(turns []*turn, do func(cause Message, open bool)) {
	left, doubt := len(turns), false
	for _, t := range turns {
		over := false
		t.resume = append(t.resume, func(ack Message, open bool) {
			if !over && ack.Event != vocab.AgentOutput && ack.Event != vocab.Error {
				over = true
				left--
			}
			doubt = doubt || open
			if left == 0 || open && len(turns)-left < 2 {
				do(ack, doubt && left > 0 || open)
			}
		})
	}
}

// afterOne calls do once one of several turns that speak side by side has stopped, and again for each further one. It
// waits only for those that the orchestrator has sent a CANCEL.
func (m *Model) afterOne(turns []*turn, do func(cause Message, open bool)) {
	over, doubt := map[*turn]bool{}, false
	for _, t := range turns {
		t.resume = append(t.resume, func(by Message, open bool) {
			over[t], doubt = true, doubt || open
			waits := slices.ContainsFunc(turns, func(o *turn) bool { return o.stopping.N > 0 && !over[o] })
			if !waits {
				do(by, doubt || len(over) < len(turns))
			}
		})
	}
}

// request owes the REQUEST_REMOVE_AGENT to SessionManager (RT-110), and what follows from it.
func (m *Model) request(mv *move, cause Message, clauses []string, optional bool) *owed {
	return m.owe(RequestRemove, &owed{What: "CONTROL REQUEST_REMOVE_AGENT for " + mv.agent + " to SYSTEM", Cause: cause,
		About: about{agent: mv.agent}, Clauses: clauses,
		Shown:    []string{"RT-008", "RT-020", "RT-034", "RT-060", "RT-100", "RT-106", "RT-109", "RT-113", "RT-172"},
		Optional: optional,
		Amiss:    func() ([]string, string) { return m.requestAmiss(cause, mv.agent, vocab.RequestRemoveAgent) },
		Match: kindOf(RequestRemove, func(p Message) bool {
			return mv.request.N == 0 && (p.AgentID == mv.agent || p.AgentID == "" && len(m.moves) == 1)
		}),
		Met: func(p Message) { m.requested(mv, p) }})
}

func (m *Model) requested(mv *move, p Message) {
	mv.request = p
	m.Hold(p, "RT-115", "RT-116", "RT-159", "RT-160", "RT-171")
	m.correlates(p)
	m.Member(p.AgentID == mv.agent, p, []string{"RT-110"}, "payload.agent_id "+mv.agent, "%s", clip(p.Payload))
	object, _ := p.Payload.(map[string]any)
	session, inPayload := object["session_id"].(string)
	m.Member(!inPayload && p.Session == m.id || session == m.id, p, []string{"RT-110"},
		"session_id "+m.id+", in the payload or as the message's own", "%s", clip(p.Payload))
	_, reason := p.Data[Reason]
	m.Member(reason, p, []string{"RT-110"}, "a reason in the payload", "%s", clip(p.Payload))
}

// mayLeave handles a removal whose outcome is left open.
func (m *Model) mayLeave(mv *move, cause Message) {
	if m.has(mv.agent) == absent {
		return
	}
	m.presence[mv.agent] = maybe
	m.mayFallBack(mv.agent, cause)
}

// mayFallBack allows another agent to become active instead of the given one.
func (m *Model) mayFallBack(agent string, cause Message) {
	if m.active[agent] {
		m.announce(cause, "", nil, nil, true).Passing = false
		m.activate(append(m.agents(maybe), "")...)
	}
}

// unbind marks the agent of a move as possibly gone: it leaves now or with the receipt (RT-171).
func (m *Model) unbind(mv *move) {
	m.presence[mv.agent] = maybe
	for _, t := range m.order {
		if t.agent == mv.agent && t.live() {
			t.status = unclear
		}
	}
}

// fallBack expects another agent to become active when the active one leaves (RT-112).
func (m *Model) fallBack(mv *move, cause Message) {
	if !m.active[mv.agent] {
		return
	}
	rest := slices.DeleteFunc(m.agents(maybe), func(a string) bool { return a == mv.agent })
	_, sure := m.sole()
	if sure && slices.ContainsFunc(rest, func(a string) bool { return m.has(a) == present }) {
		mv.fallback = m.announce(cause, mv.agent, rest, []string{"RT-006", "RT-063", "RT-065", "RT-112"}, true)
		mv.fallback.Passing = false // it may come with the request or with the receipt
	} else {
		m.announce(cause, "", nil, nil, true).Passing = false // to nobody or to any agent: left open (RT-G08)
	}
	m.activate(append(rest, mv.agent, "")...)
}

// invite handles scenario E.
func (m *Model) invite(d Message) {
	mv := &move{add: true, agent: d.AgentID, asked: d, invited: true}
	mv.again = m.pending(mv) || m.has(mv.agent) != absent
	m.moves = append(m.moves, mv)
	m.owe(RequestAdd, &owed{What: "CONTROL REQUEST_ADD_AGENT for " + mv.agent + " to SYSTEM", Cause: d,
		Optional: mv.again, About: about{agent: mv.agent}, Shown: []string{"RT-025", "RT-172"},
		Clauses: []string{"RT-017", "RT-020", "RT-033", "RT-119", "RT-120", "RT-121"},
		Amiss:   func() ([]string, string) { return m.requestAmiss(d, mv.agent, vocab.RequestAddAgent) },
		Match:   kindOf(RequestAdd, func(p Message) bool { return Mentions(p, mv.agent) }), Met: func(p Message) {
			mv.request = p
			m.Hold(p, "RT-025", "RT-119", "RT-122", "RT-126", "RT-127", "RT-159", "RT-160")
		}})
}

// invited reports whether an agent was invited.
func (m *Model) invited(agent string) bool {
	return slices.ContainsFunc(m.moves, func(mv *move) bool { return mv.invited && mv.agent == agent })
}

// moved handles SessionManager's receipt for a move.
func (m *Model) moved(d Message) {
	add := d.Subtype == vocab.AddAgentDone || d.Subtype == vocab.AddAgentFailed
	done := d.Subtype == vocab.AddAgentDone || d.Subtype == vocab.RemoveAgentDone
	var mv *move
	open := false
	for _, c := range m.moves {
		if c.add != add || c.agent != d.AgentID {
			continue
		}
		if !c.answered && !d.echoes(c.request) { // the receipt does not answer this request
			c.again = true
		}
		open = open || c.again // with several requests, nothing says which one is meant
		if mv == nil && !c.answered && c.request.N > 0 {
			mv = c
		}
	}
	if mv != nil && open {
		mv.answered, mv = true, nil
	}
	if mv == nil {
		m.strayReceipt(d, add, done)
		return
	}
	mv.answered = true
	switch {
	case add && done:
		m.added(mv, d)
	case add:
		m.presence[mv.agent] = absent
		m.Hold(d, "RT-127")
		m.owe(Failure, &owed{What: "the failure sent to the frontend", Cause: d,
			About:   about{agent: mv.agent, name: d.Subtype},
			Clauses: []string{"RT-043", "RT-046", "RT-163"}, Shown: []string{"RT-126", "RT-127"},
			Amiss: func() ([]string, string) {
				if p, ok := m.InPlace(d.N, kind(Added)); ok {
					return []string{"RT-126", "RT-127"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
				}
				return m.elsewhere(d, []string{"RT-046"}, func(p Message) bool {
					return p.Target != vocab.ToFrontend && (p.Event == vocab.Error || p.Subtype == d.Subtype)
				})()
			}, Match: TellsOfFailure})
	case done:
		m.presence[mv.agent] = absent
		m.removed(mv, d)
	default:
		m.notRemoved(mv, d)
	}
}

// strayReceipt handles a receipt without a pending request: what follows is left open.
func (m *Model) strayReceipt(d Message, add, done bool) {
	named := func(p Message) bool { return p.AgentID == d.AgentID || p.AgentID == "" }
	if !done {
		if !add {
			m.may(RemoveFailed, d, named)
		}
		return
	}
	if (m.has(d.AgentID) == present) != add {
		m.presence[d.AgentID] = maybe
	}
	if !add {
		m.may(Removed, d, named)
		m.mayFallBack(d.AgentID, d)
		return
	}
	m.may(Added, d, named)
	m.announce(d, "", []string{d.AgentID}, nil, true) // RT-123
	m.activate(append(listOf(m.active), d.AgentID)...)
	for _, c := range m.moves {
		if c.add && c.agent == d.AgentID {
			m.release(c, d)
		}
	}
}

func (m *Model) notRemoved(mv *move, d Message) {
	m.Hold(d, "RT-115", "RT-116")
	m.owe(RemoveFailed, &owed{What: "ERROR REMOVE_AGENT_FAILED to the frontend", Cause: d,
		About:   about{agent: mv.agent},
		Clauses: m.beside(RemoveFailed, "RT-044", "RT-046", "RT-117", "RT-164"), Shown: []string{"RT-115"},
		Amiss: func() ([]string, string) {
			if p, ok := m.InPlace(d.N, func(p Message) bool { return p.Kind() == Removed && ofMove(mv)(p) }); ok {
				return []string{"RT-115", "RT-116", "RT-117"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
			}
			if p, ok := m.InPlace(d.N, func(p Message) bool {
				return p.Subtype == vocab.RemoveAgentFailed || p.is(vocab.Error, "", vocab.ToFrontend)
			}); ok {
				clauses := []string{"RT-117"}
				if p.Target != vocab.ToFrontend {
					clauses = append(clauses, "RT-046")
				}
				return clauses, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
			}
			return nil, ""
		},
		Match: kindOf(RemoveFailed, ofMove(mv)), Met: m.tells(RemoveFailed)})
	m.activate(append(listOf(m.active), m.agents(maybe)...)...)
}

func (m *Model) added(mv *move, d Message) {
	m.presence[mv.agent] = present
	clauses := []string{"RT-017", "RT-043", "RT-046", "RT-124", "RT-127", "RT-163"}
	m.owe(Added, &owed{What: "EVENT AGENT_ADDED to the frontend", Cause: d,
		About: about{agent: mv.agent}, Clauses: m.beside(Added, clauses...),
		Shown: []string{"RT-010", "RT-111", "RT-122", "RT-126", "RT-160"}, Optional: !mv.invited, Met: func(p Message) {
			m.results[Added], m.arrived[mv.agent] = true, p.N
		},
		Amiss: m.toldAmiss(d, vocab.AgentAdded, []string{"RT-127"}, []string{"RT-124", "RT-127"}),
		Match: kindOf(Added, ofMove(mv))})
	m.announce(d, "", []string{mv.agent}, nil, true) // RT-123
	m.activate(append(listOf(m.active), mv.agent)...)
	m.release(mv, d)
	if sole := listOf(m.active); len(mv.inputs) == 0 && len(sole) > 1 {
		m.settleBy(d, sole, mv.agent)
	}
}

// release lets the inputs that wait for an agent be routed.
func (m *Model) release(mv *move, d Message) {
	for _, in := range m.inputs {
		if in.routed != nil || !slices.Contains(mv.inputs, in) && in.absent != mv.agent {
			continue
		}
		if in.forbid != nil {
			in.forbid, in.optional = nil, true
			m.awaitRoute(in)
		}
		m.announceFor(m.queue(in), d, "", []string{mv.agent}, nil, true)
		m.activate(append(listOf(m.active), mv.agent)...)
	}
}

func (m *Model) removed(mv *move, d Message) {
	m.left[mv.agent] = true
	m.owe(Removed, &owed{What: "EVENT AGENT_REMOVED to the frontend", Cause: d, About: about{agent: mv.agent},
		Clauses: m.beside(Removed, "RT-018", "RT-044", "RT-046", "RT-116", "RT-164"), Met: m.tells(Removed),
		Shown: []string{"RT-010", "RT-111", "RT-115", "RT-160", "RT-171"},
		Amiss: m.toldAmiss(d, vocab.AgentRemoved, []string{"RT-116"}, []string{"RT-116"}),
		Match: kindOf(Removed, ofMove(mv))})
	if mv.fallback != nil && !mv.fallback.Done && m.active[mv.agent] { // due by now
		mv.fallback.Optional, mv.fallback.Cause = false, d
	}
}
