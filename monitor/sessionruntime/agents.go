package sessionruntime

import (
	"fmt"
	"slices"

	vocab "parley/protocol/sessionruntime"
)

// move is an agent's way into the session, or out of it (scenarios D and E).
type move struct {
	add      bool
	agent    string
	asked    Message  // by the frontend
	request  Message  // to SessionManager; N 0: not yet
	inputs   []*input // that mention the agent, and wait for it
	invited  bool     // and not only mentioned
	answered bool
	again    bool // the same was asked for before, and not answered yet, or the like: what comes of it is left open
	fallback *owed
}

// announce owes the SWITCH_AGENT by which an active change is told (section 3). to are the agents that it may name; none is any.
func (m *Model) announce(cause Message, from string, to []string, clauses []string, optional bool) *owed {
	copies := map[string]bool{}
	var judge func(p Message)
	names := func(p Message) bool { return len(to) == 0 || slices.Contains(to, data(p, SwitchTo)) }
	match := func(p Message) bool {
		return p.Kind() == Switch && p.Target != vocab.ToFrontend && !copies[p.Target] && names(p)
	}
	judge = func(p Message) {
		copies[p.Target] = true
		// The same may be told on SYSTEM, on BROADCAST and to the frontend: it is one switch (RT-167).
		m.owe(&owed{what: "SWITCH_AGENT elsewhere", cause: p, optional: true, passing: true, copy: true, match: func(c Message) bool {
			return c.Kind() == Switch && !copies[c.Target] && data(c, SwitchTo) == data(p, SwitchTo)
		}, met: judge})
		m.switched(p, from)
	}
	m.owe(&owed{what: "SWITCH_AGENT to the frontend", cause: cause, optional: true, passing: true, copy: true,
		match: func(p Message) bool {
			return p.Kind() == Switch && p.Target == vocab.ToFrontend && !copies[p.Target] && names(p)
		}, met: judge})
	o := &owed{what: "CONTROL SWITCH_AGENT to " + words(to) + " on SYSTEM or BROADCAST", cause: cause, of: Switch, clauses: clauses, optional: optional, passing: true, match: match, met: judge}
	if len(clauses) > 0 {
		o.shown = []string{"RT-091", "RT-167"}
		o.amiss = func() ([]string, string) { return m.switchAmiss(cause, names) }
	}
	return m.owe(o)
}

// switchAmiss is a switch that is told, and not as it has to be.
func (m *Model) switchAmiss(cause Message, names func(Message) bool) ([]string, string) {
	for _, h := range m.heard { // one for the frontend beside the other is fine: it may have been taken for that
		if h.N > cause.N && h.as == nil && h.Kind() == Switch && data(h.Message, SwitchTo) == "" {
			return []string{"RT-066"}, fmt.Sprintf("only %s (record %d), which does not say to whom: %s", h.Name(), h.N, clip(h.Payload))
		}
		if h.N <= cause.N || h.Subtype != vocab.SwitchAgent || !names(h.Message) || h.as != nil && h.Target != vocab.ToFrontend {
			continue
		}
		clauses := []string{"RT-091", "RT-167"}
		if h.Event != vocab.Control {
			clauses = []string{"RT-065", "RT-066"}
		}
		return clauses, fmt.Sprintf("only %s (record %d)", h.Name(), h.N)
	}
	return nil, ""
}

func data(p Message, name string) string { s, _ := p.Data[name].(string); return s }

// switched judges a SWITCH_AGENT (RT-066, RT-091), and goes by it.
func (m *Model) switched(p Message, from string) {
	if p.Target != vocab.ToFrontend {
		m.check(p.Target == vocab.ToSystem || p.Target == vocab.ToBroadcast, p, []string{"RT-091", "RT-167"}, "SWITCH_AGENT on SYSTEM or BROADCAST", "on %q", p.Target)
	}
	for _, name := range []string{SwitchFrom, SwitchTo, Reason, Trigger} {
		_, there := p.Data[name]
		m.member(there, p, []string{"RT-066"}, "payload with from, to, reason and trigger", "%s without %s: %s", p.Name(), name, clip(p.Payload))
	}
	if from != "" {
		m.check(data(p, SwitchFrom) == from, p, []string{"RT-066", "RT-048"}, "from "+from, "from %s", clip(p.Data[SwitchFrom]))
	}
	m.keep(p, "RT-006")
	m.activate(data(p, SwitchTo))
}

func (m *Model) straySwitch(p Message) {
	clauses := []string{"RT-065"}
	why := "an active change, told once"
	for _, h := range m.handovers {
		if h.open() && data(p, SwitchTo) == h.to {
			clauses, why = []string{"RT-133", "RT-061", "RT-128"}, "no SWITCH_AGENT before the frontend has confirmed the handover"
		} else if h.rejected && data(p, SwitchTo) == h.to {
			clauses, why = []string{"RT-137"}, "no SWITCH_AGENT for a handover that was rejected"
		}
	}
	for _, mv := range m.moves {
		if mv.add && !mv.answered && mv.agent == data(p, SwitchTo) {
			clauses, why = []string{"RT-122"}, "no agent active that SessionManager has not added yet"
		}
	}
	m.fail(p, clauses, why, "%s: %s", p.Name(), clip(p.Payload))
}

// switchTo is the frontend's SWITCH_AGENT (RT-032).
func (m *Model) switchTo(d Message) {
	to := data(d, SwitchTo)
	was, sure := m.sole()
	needed := sure && was != to && m.presence[to] == present
	m.mayStop(func(*turn) bool { return true })
	if m.presence[to] != present { // it may be asked for first
		m.mayAsk(d, to)
	}
	m.announce(d, was, []string{to}, []string{"RT-006", "RT-032", "RT-063", "RT-065"}, !needed)
	if needed {
		m.activate(to)
	} else if was != to {
		m.activate(append(listOf(m.active), to)...)
	}
}

// remove is scenario D.
func (m *Model) remove(d Message) {
	mv := &move{agent: d.AgentID, asked: d}
	mv.again = m.pending(mv)
	known := m.presence[mv.agent] == present && !mv.again
	m.moves = append(m.moves, mv)
	clauses := []string{"RT-008", "RT-018", "RT-020", "RT-034", "RT-110"}
	stopped := []string{"RT-018", "RT-110"} // that it was accepted shows by the CANCEL
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
	for _, t := range m.stop(d, []string{"RT-106", "RT-109", "RT-060"}, false, func(t *turn) bool { return t.agent == mv.agent }) {
		if m.mustStop(t) {
			speaking = append(speaking, t)
		} else {
			may = append(may, t)
		}
	}
	var request *owed
	goOn := func(cause Message, clauses []string, open bool) {
		open = open || len(may) > 0
		if request == nil {
			request = m.request(mv, cause, clauses, open || mv.request.N > 0) // too early, and it is the request all the same
			m.unbind(mv, cause)
		} else if !request.done {
			request.optional, request.cause = open, cause
		}
	}
	m.fallBack(mv, d)
	if len(speaking) == 0 {
		goOn(d, clauses, false)
		return
	}
	m.hold(d, "RT-060", "RT-106", "RT-109")
	m.after(speaking, func(cause Message, open bool) { goOn(cause, stopped, open) })
}

// mayAsk: SessionManager may be asked for an agent.
func (m *Model) mayAsk(d Message, agent string) {
	m.allow(d, "REQUEST_ADD_AGENT for "+agent, kindOf(RequestAdd, func(p Message) bool { return Mentions(p, agent) })).met = func(p Message) {
		m.moves = append(m.moves, &move{add: true, agent: agent, asked: d, request: p, again: true})
	}
}

// pending tells whether the same as a move was asked for, and not answered yet.
func (m *Model) pending(mv *move) bool {
	return slices.ContainsFunc(m.moves, func(other *move) bool { return other.add == mv.add && other.agent == mv.agent && !other.answered })
}

// after does something once all of some turns have been stopped.
func (m *Model) after(turns []*turn, do func(cause Message, open bool)) {
	left, doubt := len(turns), false
	for _, t := range turns {
		over := false
		t.resume = append(t.resume, func(ack Message, open bool) {
			if !over && ack.Event != vocab.AgentOutput {
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

// afterOne does something once one of some turns that speak side by side has been stopped, and again with each other one: it need not wait
// for them, but for whom the orchestrator has asked to stop.
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

// request owes the request to SessionManager (RT-110), and what follows from it.
func (m *Model) request(mv *move, cause Message, clauses []string, optional bool) *owed {
	return m.owe(&owed{what: "CONTROL REQUEST_REMOVE_AGENT for " + mv.agent + " to SYSTEM", cause: cause, of: RequestRemove, agent: mv.agent, clauses: clauses, shown: []string{"RT-008", "RT-020", "RT-034", "RT-113"}, optional: optional,
		amiss: m.elsewhere(cause, []string{"RT-113"}, func(p Message) bool {
			return p.is(vocab.Control, vocab.RequestRemoveAgent, "") && p.Target != vocab.ToSystem
		}),
		match: kindOf(RequestRemove, func(p Message) bool {
			return mv.request.N == 0 && (p.AgentID == mv.agent || p.AgentID == "" && len(m.moves) == 1)
		}),
		met: func(p Message) { m.requested(mv, p) }})
}

func (m *Model) requested(mv *move, p Message) {
	mv.request = p
	m.hold(p, "RT-115", "RT-116", "RT-171")
	m.member(p.AgentID == mv.agent, p, []string{"RT-110"}, "payload.agent_id "+mv.agent, "%s", clip(p.Payload))
	object, _ := p.Payload.(map[string]any)
	session, inPayload := object["session_id"].(string)
	m.member(!inPayload && p.Session == m.id || session == m.id, p, []string{"RT-110"}, "session_id "+m.id+", in the payload or as the message's own", "%s", clip(p.Payload))
	_, reason := p.Data[Reason]
	m.member(reason, p, []string{"RT-110"}, "a reason in the payload", "%s", clip(p.Payload))
}

// mayLeave is a removal of which it is left open whether it is one.
func (m *Model) mayLeave(mv *move, cause Message) {
	if m.presence[mv.agent] == absent {
		return
	}
	m.presence[mv.agent] = maybe
	m.mayFallBack(mv.agent, cause)
}

// mayFallBack: it is left open whether another agent is active in place of one.
func (m *Model) mayFallBack(agent string, cause Message) {
	if m.active[agent] {
		m.announce(cause, "", nil, nil, true).passing = false
		m.activate(append(m.agents(maybe), "")...)
	}
}

// unbind: the agent leaves now, or with the receipt (RT-171).
func (m *Model) unbind(mv *move, cause Message) {
	m.presence[mv.agent] = maybe
	for _, t := range m.order {
		if t.agent == mv.agent && t.live() {
			t.status = unclear
		}
	}
}

// fallBack: another agent is active in place of one that leaves (RT-112).
func (m *Model) fallBack(mv *move, cause Message) {
	if !m.active[mv.agent] {
		return
	}
	rest := slices.DeleteFunc(m.agents(maybe), func(a string) bool { return a == mv.agent })
	_, sure := m.sole()
	if sure && slices.ContainsFunc(rest, func(a string) bool { return m.presence[a] == present }) {
		mv.fallback = m.announce(cause, mv.agent, rest, []string{"RT-006", "RT-112", "RT-065"}, true)
		mv.fallback.passing = false // with the request, or with the receipt
	} else {
		m.announce(cause, "", nil, nil, true).passing = false // to nobody, or to whoever: left open (RT-G08)
	}
	m.activate(append(rest, mv.agent, "")...)
}

// invite is scenario E.
func (m *Model) invite(d Message) {
	mv := &move{add: true, agent: d.AgentID, asked: d, invited: true}
	mv.again = m.pending(mv) || m.presence[mv.agent] != absent
	m.moves = append(m.moves, mv)
	m.owe(&owed{what: "CONTROL REQUEST_ADD_AGENT for " + mv.agent + " to SYSTEM", cause: d, optional: mv.again, of: RequestAdd, agent: mv.agent,
		clauses: []string{"RT-017", "RT-020", "RT-033", "RT-119", "RT-120", "RT-121"}, amiss: func() ([]string, string) { return m.addAmiss(d) },
		match: kindOf(RequestAdd, func(p Message) bool { return Mentions(p, mv.agent) }), met: func(p Message) { mv.request = p; m.hold(p, "RT-122", "RT-126", "RT-127") }})
}

// addAmiss is a request for an agent that names another one, or that goes elsewhere.
func (m *Model) addAmiss(cause Message) ([]string, string) {
	p, ok := m.inPlace(cause, func(p Message) bool { return p.is(vocab.Control, vocab.RequestAddAgent, "") })
	switch {
	case !ok:
		return nil, ""
	case p.Target == vocab.ToSystem:
		return []string{"RT-120"}, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
	}
	return []string{"RT-121"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
}

// moved is SessionManager's receipt for a move.
func (m *Model) moved(d Message) {
	add := d.Subtype == vocab.AddAgentDone || d.Subtype == vocab.AddAgentFailed
	done := d.Subtype == vocab.AddAgentDone || d.Subtype == vocab.RemoveAgentDone
	var mv *move
	open := false
	for _, c := range m.moves {
		if c.add != add || c.agent != d.AgentID {
			continue
		}
		if !c.answered && c.request.N == 0 { // SessionManager answers what it has not been asked
			c.again = true
		}
		open = open || c.again // of several that were asked for, nothing says which is meant
		if mv == nil && !c.answered && c.request.N > 0 {
			mv = c
		}
	}
	if mv != nil && open {
		mv.answered, mv = true, nil
	}
	if mv == nil { // a receipt that nobody waits for: what follows is left open
		if done {
			k := map[bool]Kind{true: Added, false: Removed}[add]
			m.allow(d, "told to the frontend", kind(k))
			if (m.presence[d.AgentID] == present) != add {
				m.presence[d.AgentID] = maybe
			}
			if add {
				m.announce(d, "", []string{d.AgentID}, nil, true) // RT-123
				m.activate(append(listOf(m.active), d.AgentID)...)
			} else {
				m.mayFallBack(d.AgentID, d)
			}
			for _, c := range m.moves {
				if add && c.add && c.agent == d.AgentID {
					m.release(c, d)
				}
			}
		} else if !add {
			m.allow(d, "told to the frontend", kind(RemoveFailed))
		}
		return
	}
	mv.answered = true
	switch {
	case add && done:
		m.added(mv, d)
	case add:
		m.presence[mv.agent] = absent
		m.hold(d, "RT-127")
		m.owe(&owed{what: "the failure told to the frontend", cause: d, agent: mv.agent, name: d.Subtype, clauses: []string{"RT-043", "RT-046", "RT-163"}, shown: []string{"RT-126"},
			amiss: m.elsewhere(d, []string{"RT-046"}, func(p Message) bool {
				return p.Target != vocab.ToFrontend && (p.Event == vocab.Error || p.Subtype == d.Subtype)
			}), match: TellsOfFailure})
	case done:
		m.presence[mv.agent] = absent
		m.removed(mv, d)
	default:
		m.owe(&owed{what: "ERROR REMOVE_AGENT_FAILED to the frontend", cause: d, of: RemoveFailed, agent: mv.agent, clauses: []string{"RT-044", "RT-046", "RT-117", "RT-164"},
			amiss: func() ([]string, string) {
				if p, ok := m.inPlace(d, func(p Message) bool { return p.Kind() == Removed && about(mv)(p) }); ok {
					return []string{"RT-115", "RT-116", "RT-117"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
				}
				if p, ok := m.inPlace(d, func(p Message) bool {
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
			match: kindOf(RemoveFailed, about(mv))})
		m.activate(append(listOf(m.active), m.agents(maybe)...)...)
	}
}

// TellsOfFailure tells whether a message may give the frontend the failure of an invitation: nothing says how (RT-043), but not
// what tells it of something else.
func TellsOfFailure(p Message) bool {
	switch p.Kind() {
	case Added, Output, Accepted, RouteTimeout, Canceled, Prompt, Opened, Closed, Switch:
		return false
	case Notice:
		return p.Subtype != vocab.AgentStarted && p.Subtype != vocab.NobodySpeaks && p.Subtype != vocab.CancelSent && p.Subtype != vocab.ActiveChanged
	}
	return p.Target == vocab.ToFrontend
}

// toldAmiss is EVENT AGENT_ADDED, or AGENT_REMOVED, that is told elsewhere, in another form, or of another agent. agents are the clauses
// that the last of these breaks.
func (m *Model) toldAmiss(d Message, name string, always, agents []string) func() ([]string, string) {
	return func() ([]string, string) {
		p, ok := m.inPlace(d, func(p Message) bool {
			return p.Subtype == name || p.is("", d.Subtype, vocab.ToFrontend)
		})
		if !ok {
			return nil, ""
		}
		clauses := agents
		if p.Kind() != Added && p.Kind() != Removed { // nor where, nor in the form in which it has to be told
			clauses = append(slices.Clone(always), "RT-010")
			if p.Target != vocab.ToFrontend {
				clauses = append(clauses, "RT-046")
			}
		}
		return clauses, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
	}
}

// about matches what is about a move's agent, or names none.
func about(mv *move) func(Message) bool {
	return func(p Message) bool {
		return p.AgentID == mv.agent || p.AgentID == "" && (p.Tx == "" || p.Tx == mv.request.Tx)
	}
}

func (m *Model) added(mv *move, d Message) {
	m.presence[mv.agent] = present
	clauses := []string{"RT-017", "RT-043", "RT-046", "RT-124", "RT-127", "RT-163"}
	m.owe(&owed{what: "EVENT AGENT_ADDED to the frontend", cause: d, of: Added, agent: mv.agent, clauses: clauses, shown: []string{"RT-010"}, optional: !mv.invited,
		amiss: m.toldAmiss(d, vocab.AgentAdded, []string{"RT-127"}, []string{"RT-124", "RT-127"}), match: kindOf(Added, about(mv))})
	m.announce(d, "", []string{mv.agent}, nil, true) // RT-123
	m.activate(append(listOf(m.active), mv.agent)...)
	m.release(mv, d)
	if sole := listOf(m.active); len(mv.inputs) == 0 && len(sole) > 1 {
		m.settleBy(d, sole, mv.agent)
	}
}

// release lets the inputs that wait for an agent go their way.
func (m *Model) release(mv *move, d Message) {
	for _, in := range mv.inputs {
		if in.routed != nil {
			continue
		}
		if in.forbid != nil {
			in.forbid, in.optional = nil, true
			m.awaitRoute(in)
		}
		m.announce(d, "", []string{mv.agent}, nil, true)
		m.activate(append(listOf(m.active), mv.agent)...)
	}
}

// settleBy: an invited agent is active only where that was published by the next fence, as each active change is.
func (m *Model) settleBy(d Message, candidates []string, added string) {
	m.unsettled = append(m.unsettled, unsettled{cause: d.N, candidates: candidates, without: added})
}

// unsettled are agents of which one is active, and which it is shows by the next fence.
type unsettled struct {
	cause      int
	candidates []string
	without    string
}

// settle: a change that was not published by a fence was none (RT-065).
func (m *Model) settle(before int) {
	m.unsettled = slices.DeleteFunc(m.unsettled, func(u unsettled) bool {
		if u.cause >= before {
			return false
		}
		if slices.Equal(listOf(m.active), sorted(u.candidates)) {
			m.activate(slices.DeleteFunc(slices.Clone(u.candidates), func(a string) bool { return a == u.without })...)
		}
		return true
	})
}

func sorted(all []string) []string { return listOf(setOf(all)) }

func (m *Model) removed(mv *move, d Message) {
	m.owe(&owed{what: "EVENT AGENT_REMOVED to the frontend", cause: d, of: Removed, agent: mv.agent, clauses: []string{"RT-018", "RT-044", "RT-046", "RT-116", "RT-164"},
		shown: []string{"RT-010", "RT-115"}, amiss: m.toldAmiss(d, vocab.AgentRemoved, []string{"RT-116"}, []string{"RT-116"}), match: kindOf(Removed, about(mv))})
	if mv.fallback != nil && !mv.fallback.done && m.active[mv.agent] { // due by now: with the request, or with the receipt
		mv.fallback.optional, mv.fallback.cause = false, d
	}
}

func (m *Model) strayRequest(p Message) {
	if p.Kind() == RequestAdd {
		m.fail(p, []string{"RT-121"}, "one REQUEST_ADD_AGENT for each invitation", "%s without one, or once more: %s", p.Name(), clip(p.Payload))
		return
	}
	for _, mv := range m.moves {
		if !mv.add && mv.agent == p.AgentID && mv.request.N == 0 {
			mv.request = p // it is the request all the same
			m.fail(p, []string{"RT-060", "RT-106", "RT-109"}, "REQUEST_REMOVE_AGENT once agent "+mv.agent+", which is speaking, has acknowledged the CANCEL", "it is requested before that")
			return
		}
	}
	m.fail(p, []string{"RT-110"}, "one REQUEST_REMOVE_AGENT for each removal", "%s without one, or once more: %s", p.Name(), clip(p.Payload))
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
		} else if answered && m.presence[p.AgentID] == absent { // it could not be added
			clauses = []string{"RT-126", "RT-127"}
		}
		m.fail(p, clauses, "AGENT_ADDED once, when SessionManager has said ADD_AGENT_DONE", "%s without that, or once more: %s", p.Name(), clip(p.Payload))
	case Removed:
		clauses := []string{"RT-116"}
		if waits {
			clauses = []string{"RT-115", "RT-116", "RT-171"}
		} else if answered && m.presence[p.AgentID] != absent { // it could not be removed
			clauses = []string{"RT-115", "RT-116"}
		}
		m.fail(p, clauses, "AGENT_REMOVED once, when SessionManager has said REMOVE_AGENT_DONE", "%s without that, or once more: %s", p.Name(), clip(p.Payload))
	case RemoveFailed:
		for _, mv := range m.moves { // one that waits for an acknowledgement may be given up
			if !mv.add && mv.request.N == 0 && (p.AgentID == mv.agent || p.AgentID == "") {
				return
			}
		}
		m.fail(p, []string{"RT-117"}, "REMOVE_AGENT_FAILED once SessionManager has said so", "%s without that, or once more: %s", p.Name(), clip(p.Payload))
	}
}
