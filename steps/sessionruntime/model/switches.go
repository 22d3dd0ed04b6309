package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
)

// announce owes the SWITCH_AGENT that announces a change of the active agent (section 3). It may name the agents in
// to, or any agent if to is empty.
func (m *Model) announce(cause Message, from string, to []string, clauses []string, optional bool) *owed {
	return m.announceFor(nil, cause, from, to, clauses, optional)
}

// announceFor is announce for the switch that an input brings about when it is released, if it is queued; release is
// nil if it cannot be.
func (m *Model) announceFor(release *input, cause Message, from string, to []string, clauses []string,
	optional bool) *owed {
	copies := map[string]bool{}
	var judge func(p Message)
	names := func(p Message) bool { return len(to) == 0 || slices.Contains(to, data(p, SwitchTo)) }
	match := func(p Message) bool {
		return p.Kind() == Switch && p.Target != vocab.ToFrontend && !copies[p.Target] && names(p)
	}
	judge = func(p Message) {
		copies[p.Target] = true
		// The same switch may be told on SYSTEM, on BROADCAST and to the frontend (RT-167).
		m.Owe(&owed{What: "SWITCH_AGENT elsewhere", Cause: p, Optional: true, Passing: true, About: about{copy: true},
			Match: func(c Message) bool {
				return c.Kind() == Switch && !copies[c.Target] && data(c, SwitchTo) == data(p, SwitchTo)
			}, Met: judge})
		if release != nil && m.Handled() > cause.N { // another agent may have become active meanwhile
			from = ""
		}
		m.switched(p, from)
	}
	m.Owe(&owed{What: "SWITCH_AGENT to the frontend", Cause: cause, Optional: true, Passing: true,
		About:  about{copy: true, release: release},
		Queued: queued(release), Match: func(p Message) bool {
			return p.Kind() == Switch && p.Target == vocab.ToFrontend && !copies[p.Target] && names(p)
		}, Met: judge})
	o := &owed{What: "CONTROL SWITCH_AGENT to " + words(to) + " on SYSTEM or BROADCAST", Cause: cause,
		Clauses: clauses, Optional: optional, Passing: true, About: about{release: release}, Queued: queued(release),
		Match: match, Met: judge}
	if len(clauses) > 0 {
		o.Shown = []string{"RT-091", "RT-167"}
		o.Amiss = func() ([]string, string) { return m.switchAmiss(cause, names) }
	}
	return m.owe(Switch, o)
}

// switchAmiss finds a switch that was published, but not in the required way.
func (m *Model) switchAmiss(cause Message, names func(Message) bool) ([]string, string) {
	for _, h := range m.Heard() {
		p := h.Message
		// an extra one for the frontend is allowed: this may be that one
		if p.N > cause.N && h.As == nil && p.Kind() == Switch && data(p, SwitchTo) == "" {
			return []string{"RT-066"},
				fmt.Sprintf("only %s (record %d), which does not name the new agent: %s", p.Name(), p.N, clip(p.Payload))
		}
		if p.N <= cause.N || p.Subtype != vocab.SwitchAgent || !names(p) || h.As != nil &&
			p.Target != vocab.ToFrontend {
			continue
		}
		clauses := []string{"RT-091", "RT-167"}
		if p.Event != vocab.Control {
			clauses = []string{"RT-065", "RT-066"}
		}
		return clauses, fmt.Sprintf("only %s (record %d)", p.Name(), p.N)
	}
	return nil, ""
}

func data(p Message, name string) string { s, _ := p.Data[name].(string); return s }

// switched judges a SWITCH_AGENT (RT-066, RT-091) and makes the agent that it names active.
func (m *Model) switched(p Message, from string) {
	if p.Target != vocab.ToFrontend {
		m.Check(p.Target == vocab.ToSystem || p.Target == vocab.ToBroadcast, p, []string{"RT-091", "RT-167"},
			"SWITCH_AGENT on SYSTEM or BROADCAST", "on %q", p.Target)
	}
	for _, name := range []string{SwitchFrom, SwitchTo, Reason, Trigger} {
		_, there := p.Data[name]
		m.Member(there, p, []string{"RT-066"}, "payload with from, to, reason and trigger", "%s without %s: %s", p.Name(),
			name, clip(p.Payload))
	}
	if from != "" {
		m.Member(data(p, SwitchFrom) == from, p, []string{"RT-066", "RT-048"}, "from "+from, "from %s",
			clip(p.Data[SwitchFrom]))
	}
	m.Keep(p, "RT-006")
	m.switchedAt = p.N
	for _, mv := range m.moves { // whatever led to it, the agent that leaves has a fallback
		if !mv.add && !mv.answered && mv.fallback != nil && mv.agent == data(p, SwitchFrom) {
			mv.fallback.Done = true
		}
	}
	m.activate(data(p, SwitchTo))
}

func (m *Model) straySwitch(p Message) {
	if from, to := data(p, SwitchFrom), data(p, SwitchTo); m.active[from] && from != to && m.has(to) != absent &&
		m.leaves(from) {
		m.switched(p, from) // the agent to be removed has become active meanwhile
		return
	}
	clauses := []string{"RT-065"}
	why := "a change of the active agent, published once"
	for _, h := range m.handovers {
		if h.open() && data(p, SwitchTo) == h.to {
			clauses, why = h.unconfirmed()
		} else if h.rejected && data(p, SwitchTo) == h.to {
			clauses, why = []string{"RT-137"}, "no SWITCH_AGENT for a handover that was rejected"
		}
	}
	for _, mv := range m.moves {
		switch {
		case mv.add && !mv.answered && mv.agent == data(p, SwitchTo):
			clauses, why = []string{"RT-122"}, "no agent active that SessionManager has not added yet"
		case !mv.add && mv.fallback != nil && !mv.fallback.Done && mv.agent == data(p, SwitchFrom):
			clauses, why = append(clauses, "RT-112"), "a switch to one of the remaining agents"
		}
	}
	for _, in := range m.inputs {
		form, who := mentioned(in.said)
		switch {
		case form == nil || in.routed != nil:
		case in.forbid != nil && data(p, SwitchTo) == who:
			clauses, why = append(slices.Clone(in.forbid), clauses...), "no agent active because of a mention: "+in.why
		case in.change != nil && in.change.State() == obligation.Open && data(p, SwitchTo) != "":
			clauses = append(append(clauses, "RT-049", "RT-086", "RT-092"), form...)
			why = "a switch to the agent mentioned: " + who
		}
	}
	from, due := data(p, SwitchFrom), m.Owes(func(o *owed) bool { return o.About.kind == Switch })
	if len(clauses) == 1 && m.active[from] && from != data(p, SwitchTo) && !due {
		clauses = append(clauses, m.shift...) // who has become active stays so until something changes it
	}
	m.Fail(p, clauses, why, "%s: %s", p.Name(), clip(p.Payload))
}

// leaves reports whether an agent is being removed without a fallback owed for it. It may have become active again
// since one was announced.
func (m *Model) leaves(agent string) bool {
	return slices.ContainsFunc(m.moves, func(mv *move) bool {
		return !mv.add && !mv.answered && mv.agent == agent && (mv.fallback == nil || mv.fallback.Done)
	})
}

// switchTo handles the frontend's SWITCH_AGENT (RT-032).
func (m *Model) switchTo(d Message) {
	to := data(d, SwitchTo)
	was, sure := m.sole()
	needed := sure && was != to && m.has(to) == present
	m.mayStop(func(*turn) bool { return true })
	if m.has(to) != present { // the orchestrator may ask for it first
		m.mayAsk(d, to)
	}
	clauses := []string{"RT-006", "RT-032", "RT-063", "RT-065"}
	if len(m.speakers()) > 0 && m.was(Switch) { // a switch was published while no agent was speaking
		clauses = append(clauses, "RT-176")
	}
	o := m.announce(d, was, []string{to}, clauses, !needed)
	if o.Mere = true; slices.ContainsFunc(m.order, (*turn).live) {
		o.Shown, m.busySince = append(o.Shown, "RT-176"), d
	}
	if needed {
		m.activate(to)
	} else if was != to {
		m.activate(append(listOf(m.active), to)...)
	}
}

// refusedAsBusy judges an ERROR to the frontend that refuses a switch because a turn is in progress (RT-176).
func (m *Model) refusedAsBusy(p Message) {
	object, _ := p.Payload.(map[string]any)
	code, _ := object["code"].(string)
	if m.busySince.N > 0 && (strings.EqualFold(p.Subtype, "agent_busy") || strings.EqualFold(code, "agent_busy")) {
		m.Fail(p, []string{"RT-176"}, "the SWITCH_AGENT of record "+strconv.Itoa(m.busySince.N)+
			" carried out, although a turn is in progress", "%s", p.Name())
	}
}

// unsettled is a set of agents one of which is active; the next fence decides which.
type unsettled struct {
	cause      int
	candidates []string
	without    string
}

// settleBy records that an invited agent is active only if that is published by the next fence, like any change of
// the active agent.
func (m *Model) settleBy(d Message, candidates []string, added string) {
	m.unsettled = append(m.unsettled, unsettled{cause: d.N, candidates: candidates, without: added})
}

// settle drops changes that were not published by a fence (RT-065).
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
