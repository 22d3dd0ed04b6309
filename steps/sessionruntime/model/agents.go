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
}

// remove handles scenario D.
func (m *Model) remove(d Message) {
	mv := &move{agent: d.AgentID, asked: d}
	mv.again = m.pending(mv)
	known := m.presence[mv.agent] == present && !mv.again
	m.moves = append(m.moves, mv)
	clauses := []string{"RT-008", "RT-018", "RT-020", "RT-034", "RT-110"}
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
		open = open || len(may) > 0 || m.goesOn(mv.agent)
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
	m.Hold(d, "RT-060", "RT-106", "RT-109")
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
	return m.Owe(&owed{What: "CONTROL REQUEST_REMOVE_AGENT for " + mv.agent + " to SYSTEM", Cause: cause,
		Like: kind(RequestRemove), About: about{agent: mv.agent}, Clauses: clauses,
		Shown:    []string{"RT-008", "RT-020", "RT-034", "RT-113"},
		Optional: optional,
		Amiss: m.elsewhere(cause, []string{"RT-113"}, func(p Message) bool {
			return p.is(vocab.Control, vocab.RequestRemoveAgent, "") && p.Target != vocab.ToSystem
		}),
		Match: kindOf(RequestRemove, func(p Message) bool {
			return mv.request.N == 0 && (p.AgentID == mv.agent || p.AgentID == "" && len(m.moves) == 1)
		}),
		Met: func(p Message) { m.requested(mv, p) }})
}

func (m *Model) requested(mv *move, p Message) {
	mv.request = p
	m.Hold(p, "RT-115", "RT-116", "RT-171")
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
	if m.presence[mv.agent] == absent {
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
	if sure && slices.ContainsFunc(rest, func(a string) bool { return m.presence[a] == present }) {
		mv.fallback = m.announce(cause, mv.agent, rest, []string{"RT-006", "RT-112", "RT-065"}, true)
		mv.fallback.Passing = false // it may come with the request or with the receipt
	} else {
		m.announce(cause, "", nil, nil, true).Passing = false // to nobody or to any agent: left open (RT-G08)
	}
	m.activate(append(rest, mv.agent, "")...)
}

// invite handles scenario E.
func (m *Model) invite(d Message) {
	mv := &move{add: true, agent: d.AgentID, asked: d, invited: true}
	mv.again = m.pending(mv) || m.presence[mv.agent] != absent
	m.moves = append(m.moves, mv)
	m.Owe(&owed{What: "CONTROL REQUEST_ADD_AGENT for " + mv.agent + " to SYSTEM", Cause: d, Optional: mv.again,
		Like: kind(RequestAdd), About: about{agent: mv.agent},
		Clauses: []string{"RT-017", "RT-020", "RT-033", "RT-119", "RT-120", "RT-121"}, Amiss: func() ([]string, string) {
			return m.addAmiss(d)
		},
		Match: kindOf(RequestAdd, func(p Message) bool { return Mentions(p, mv.agent) }), Met: func(p Message) {
			mv.request = p
			m.Hold(p, "RT-122", "RT-126", "RT-127")
		}})
}

// addAmiss finds a REQUEST_ADD_AGENT that names another agent or goes to another target.
func (m *Model) addAmiss(cause Message) ([]string, string) {
	p, ok := m.InPlace(cause.N, func(p Message) bool { return p.is(vocab.Control, vocab.RequestAddAgent, "") })
	switch {
	case !ok:
		return nil, ""
	case p.Target == vocab.ToSystem:
		return []string{"RT-120"}, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
	}
	return []string{"RT-121"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
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
		m.Owe(&owed{What: "the failure sent to the frontend", Cause: d, About: about{agent: mv.agent, name: d.Subtype},
			Clauses: []string{"RT-043", "RT-046", "RT-163"}, Shown: []string{"RT-126"},
			Amiss: m.elsewhere(d, []string{"RT-046"}, func(p Message) bool {
				return p.Target != vocab.ToFrontend && (p.Event == vocab.Error || p.Subtype == d.Subtype)
			}), Match: TellsOfFailure})
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
			m.Allow(d, "sent to the frontend", kindOf(RemoveFailed, named))
		}
		return
	}
	if (m.presence[d.AgentID] == present) != add {
		m.presence[d.AgentID] = maybe
	}
	if !add {
		m.Allow(d, "sent to the frontend", kindOf(Removed, named))
		m.mayFallBack(d.AgentID, d)
		return
	}
	m.Allow(d, "sent to the frontend", kindOf(Added, named))
	m.announce(d, "", []string{d.AgentID}, nil, true) // RT-123
	m.activate(append(listOf(m.active), d.AgentID)...)
	for _, c := range m.moves {
		if c.add && c.agent == d.AgentID {
			m.release(c, d)
		}
	}
}

func (m *Model) notRemoved(mv *move, d Message) {
	m.Owe(&owed{What: "ERROR REMOVE_AGENT_FAILED to the frontend", Cause: d, Like: kind(RemoveFailed),
		About:   about{agent: mv.agent},
		Clauses: []string{"RT-044", "RT-046", "RT-117", "RT-164"},
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
		Match: kindOf(RemoveFailed, ofMove(mv))})
	m.activate(append(listOf(m.active), m.agents(maybe)...)...)
}

// TellsOfFailure reports whether a message may tell the frontend that an invitation failed. The source does not say
// how (RT-043), so only messages that report something else are excluded.
func TellsOfFailure(p Message) bool {
	switch p.Kind() {
	case Added, Output, Accepted, RouteTimeout, Canceled, Prompt, Opened, Closed, Switch:
		return false
	case Notice:
		return p.Subtype != vocab.AgentStarted && p.Subtype != vocab.NobodySpeaks && p.Subtype != vocab.CancelSent &&
			p.Subtype != vocab.ActiveChanged
	}
	return p.Target == vocab.ToFrontend
}

// toldAmiss finds an EVENT AGENT_ADDED or AGENT_REMOVED with another target, in another form, or about another agent.
// agents are the clauses that the last of these breaks.
func (m *Model) toldAmiss(d Message, name string, always, agents []string) func() ([]string, string) {
	return func() ([]string, string) {
		p, ok := m.InPlace(d.N, func(p Message) bool {
			return p.Subtype == name || p.is("", d.Subtype, vocab.ToFrontend)
		})
		if !ok {
			return nil, ""
		}
		clauses := agents
		if p.Kind() != Added && p.Kind() != Removed { // wrong target or wrong form
			clauses = append(slices.Clone(always), "RT-010")
			if p.Target != vocab.ToFrontend {
				clauses = append(clauses, "RT-046")
			}
		}
		return clauses, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
	}
}

// ofMove matches messages about a move's agent, or of its transaction if they name no agent.
func ofMove(mv *move) func(Message) bool {
	return func(p Message) bool {
		return p.AgentID == mv.agent || p.AgentID == "" && (p.Tx == "" || p.Tx == mv.request.Tx)
	}
}

func (m *Model) added(mv *move, d Message) {
	m.presence[mv.agent] = present
	clauses := []string{"RT-017", "RT-043", "RT-046", "RT-124", "RT-127", "RT-163"}
	m.Owe(&owed{What: "EVENT AGENT_ADDED to the frontend", Cause: d, Like: kind(Added),
		About: about{agent: mv.agent}, Clauses: clauses,
		Shown: []string{"RT-010"}, Optional: !mv.invited,
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
	m.Owe(&owed{What: "EVENT AGENT_REMOVED to the frontend", Cause: d, Like: kind(Removed), About: about{agent: mv.agent},
		Clauses: []string{"RT-018", "RT-044", "RT-046", "RT-116", "RT-164"},
		Shown:   []string{"RT-010", "RT-115"},
		Amiss:   m.toldAmiss(d, vocab.AgentRemoved, []string{"RT-116"}, []string{"RT-116"}),
		Match:   kindOf(Removed, ofMove(mv))})
	if mv.fallback != nil && !mv.fallback.Done && m.active[mv.agent] { // due by now
		mv.fallback.Optional, mv.fallback.Cause = false, d
	}
}

func (m *Model) strayRequest(p Message) {
	if p.Kind() == RequestAdd {
		m.Fail(p, []string{"RT-121"}, "one REQUEST_ADD_AGENT for each invitation", "%s without one, or a second time: %s",
			p.Name(), clip(p.Payload))
		return
	}
	for _, mv := range m.moves {
		if !mv.add && mv.agent == p.AgentID && mv.request.N == 0 {
			mv.request = p // it still counts as the request
			m.Fail(p, []string{"RT-060", "RT-106", "RT-109"},
				"REQUEST_REMOVE_AGENT once agent "+mv.agent+", which is speaking, has acknowledged the CANCEL",
				"it is requested before that")
			return
		}
	}
	m.Fail(p, []string{"RT-110"}, "one REQUEST_REMOVE_AGENT for each removal", "%s without one, or a second time: %s",
		p.Name(), clip(p.Payload))
}

func (m *Model) strayMove(p Message) {
	waits, answered := false, false
	for _, mv := range m.moves {
		if mv.add == (p.Kind() == Added) && (mv.agent == p.AgentID || p.AgentID == "") {
			waits, answered = waits || !mv.answered, answered || mv.answered
		}
	}
	switch p.Kind() {
	case Added:
		clauses := []string{"RT-127"}
		if waits {
			clauses = []string{"RT-122", "RT-126", "RT-127"}
		} else if answered && m.presence[p.AgentID] == absent { // adding it failed
			clauses = []string{"RT-126", "RT-127"}
		}
		m.Fail(p, clauses, "AGENT_ADDED once, after ADD_AGENT_DONE from SessionManager",
			"%s without that, or a second time: %s", p.Name(), clip(p.Payload))
	case Removed:
		clauses := []string{"RT-116"}
		if waits {
			clauses = []string{"RT-115", "RT-116", "RT-171"}
		} else if answered && m.presence[p.AgentID] != absent { // removing it failed
			clauses = []string{"RT-115", "RT-116"}
		}
		m.Fail(p, clauses, "AGENT_REMOVED once, after REMOVE_AGENT_DONE from SessionManager",
			"%s without that, or a second time: %s", p.Name(), clip(p.Payload))
	case RemoveFailed:
		for _, mv := range m.moves { // a removal that waits for an acknowledgement may be given up
			if !mv.add && mv.request.N == 0 && (p.AgentID == mv.agent || p.AgentID == "") {
				return
			}
		}
		m.Fail(p, []string{"RT-117"}, "REMOVE_AGENT_FAILED once SessionManager has reported it",
			"%s without that, or a second time: %s", p.Name(), clip(p.Payload))
	}
}
