package model

import (
	"fmt"
	"slices"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
)

// speakers returns the turns whose agents are speaking and have not been asked to stop.
func (m *Model) speakers() (out []*turn) {
	for _, t := range m.order {
		if t.speaking && !t.asked {
			out = append(out, t)
		}
	}
	return out
}

// unsure reports whether the source leaves open whether some agent is speaking (RT-G02, RT-G06).
func (m *Model) unsure() bool {
	for _, t := range m.order {
		if !t.stopped && (t.status == unclear || t.live() && !t.speaking || t.asked) {
			return true
		}
	}
	return false
}

// goesOn reports whether an agent has a turn that may have to be stopped.
func (m *Model) goesOn(agent string) bool {
	return slices.ContainsFunc(m.order, func(t *turn) bool {
		return t.agent == agent && !t.stopped && (t.live() || t.status == unclear || t.asked && t.status != completed)
	})
}

// cancel handles scenario C.
func (m *Model) cancel(d Message) {
	m.canceled = d
	clauses := []string{"RT-004", "RT-016", "RT-031", "RT-099"}
	if d.Subtype == vocab.Interrupt {
		clauses = append(clauses, "RT-095")
	}
	m.stop(d, clauses, false, nil)
	if len(m.speakers()) == 0 && !m.unsure() {
		m.Hold(d, m.silent(nil)...)
	}
}

// stop expects a CANCEL for each speaking turn, optional where the source leaves that open: for the turns that of
// selects, or for whichever speak if of is nil. The source has a single speaking_agent_id: if several turns speak
// side by side, one CANCEL is enough for all, and none is required for only some of them.
func (m *Model) stop(d Message, clauses []string, open bool, of func(*turn) bool) (stopping []*turn) {
	either, byUser := &obligation.Choice{}, of == nil && d.Subtype != vocab.SessionClose
	for _, t := range m.order {
		if of != nil && !of(t) {
			continue
		}
		if t.due && !t.stopped { // already required
			stopping = append(stopping, t)
			continue
		}
		speaks := t.speaking && !t.asked && !t.passed && (of == nil || !t.shared)
		may := speaks || !t.stopped && (t.live() || t.status == unclear)
		if !may {
			continue
		}
		o := &owed{What: "CONTROL CANCEL to agent " + t.agent + ", which is speaking", Cause: d, Clauses: clauses,
			Shown: []string{"RT-004", "RT-050", "RT-098", "RT-142"}, Optional: open || !speaks || t.status == unclear,
			About: about{turn: t},
			Match: kindOf(CancelSent, func(p Message) bool { return m.means(p, t) }),
			Met:   func(p Message) { m.stopSent(t, p) }}
		if len(clauses) > 0 && m.was(CancelSent) { // an earlier speaker got a CANCEL
			o.Clauses = append(slices.Clone(clauses), "RT-142")
			if !m.active[t.agent] { // another agent has become active meanwhile
				o.Clauses = append(o.Clauses, "RT-050")
			}
		}
		if byUser {
			o.Shown = append(o.Shown, "RT-095")
		}
		o.Amiss = func() ([]string, string) { return m.otherCancel(d, byUser) }
		if byUser && (speaks || t.status == unclear) || of == nil && t.shared && speaks {
			o.Choice = either
		}
		m.owe(CancelSent, o)
		t.asked, t.due = true, t.due || !o.Optional && !t.shared
		stopping = append(stopping, t)
	}
	for _, t := range stopping {
		m.passOn(t)
	}
	return stopping
}

// otherCancel returns what a CANCEL that was published after d breaks if it is not the one that was due, and describes
// it; no clauses if none was published.
func (m *Model) otherCancel(d Message, byUser bool) (clauses []string, what string) {
	for _, h := range m.Heard() {
		p := h.Message
		switch {
		case p.N <= d.N:
		case byUser && p.Kind() == CancelSent && p.TargetID != "":
			return []string{"RT-050", "RT-098", "RT-099"}, fmt.Sprintf("%s for turn %q (record %d)", p.Name(), p.Turn, p.N)
		case p.Subtype == vocab.Cancel && p.Kind() != CancelSent && p.Target != vocab.ToFrontend:
			return []string{"RT-004", "RT-099"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
		case p.Subtype == vocab.Interrupt:
			return []string{"RT-031", "RT-095", "RT-099"}, fmt.Sprintf("%s (record %d)", p.Name(), p.N)
		}
	}
	return nil, ""
}

// begins records that a turn is speaking. If another one speaks too, or may, the single speaking_agent_id is that of
// either, and nobody's as soon as either ends (RT-050). The orchestrator may also keep one for each.
func (m *Model) begins(t *turn) {
	if !t.speaking {
		for _, o := range m.order {
			if o == t || !o.speaking && !o.begun {
				continue
			}
			sure := o.speaking && !o.asked && !o.passed && o.status != unclear && !t.asked && t.status != unclear
			o.shared, t.shared = true, true
			o.passed, t.passed = o.passed || !sure, t.passed || !sure
		}
	}
	t.speaking, t.begun = true, true
}

// passOn records that a turn has ended or is about to end. It is then open whether turns that spoke at the same time
// still count as speaking.
func (m *Model) passOn(t *turn) {
	for _, o := range m.order {
		if t.shared && o.shared {
			o.passed = true
		}
	}
}

// ends records that a turn no longer speaks.
func (m *Model) ends(t *turn) {
	t.speaking, t.begun = false, false
	m.passOn(t)
}

// means reports whether a published CANCEL is about a turn: it names the turn, or it goes to the turn's agent and
// names a turn that has ended.
func (m *Model) means(p Message, t *turn) bool {
	of := m.meant(p)
	return of == t || p.TargetID == t.agent && of != nil && !of.live() && of.status != unclear
}

// meant returns the turn that a published CANCEL is about.
func (m *Model) meant(p Message) *turn {
	if t := m.turns[p.Turn]; t != nil && p.Turn != "" {
		return t
	}
	for _, t := range m.speakers() {
		if t.agent == p.TargetID {
			return t
		}
	}
	for _, t := range m.order {
		if t.agent == p.TargetID && !t.stopped && (t.live() || t.status == unclear) {
			return t
		}
	}
	return nil
}

// stopSent judges the published CANCEL (RT-099).
func (m *Model) stopSent(t *turn, p Message) {
	m.Check(p.TargetID == t.agent, p, []string{"RT-099", "RT-050", "RT-015"}, "the CANCEL for agent "+t.agent,
		"it goes to %q", p.TargetID)
	if p.Turn != "" {
		m.Member(p.Turn == t.id, p, []string{"RT-099", "RT-098"},
			"turn_id "+quote(t.id)+", which is that of the turn that is speaking", "%q", p.Turn)
	}
	m.Member(p.Turn != "" && (p.Trace == t.trace || p.Turn != t.id), p, []string{"RT-099"},
		"turn_id "+quote(t.id)+" and trace_id "+quote(t.trace), "%q and %q", p.Turn, p.Trace)
	if t.stopping.N == 0 {
		t.stopping = p
	}
	t.speaking = false
	m.passOn(t)
	m.Hold(p, "RT-100", "RT-102", "RT-105", "RT-160")
}

func quote(s string) string { return `"` + s + `"` }

// cancelAck handles CANCEL_ACK, or STREAM_STOPPED instead (RT-102).
func (m *Model) cancelAck(d Message) {
	t := m.turns[d.Turn]
	if t == nil || t.agent != d.From || t.stopped {
		m.Hold(d, "RT-102", "RT-105")
	}
	if t == nil || t.agent != d.From {
		return
	}
	if t.timeout != nil && t.status == routing && m.was(RouteTimeout) { // it is no INPUT_ACK
		t.timeout.Clauses = append(t.timeout.Clauses, "RT-059")
	}
	if t.stopping.N == 0 && !t.due { // no CANCEL was due: what follows is left open
		if t.live() || t.status == unclear {
			t.status = unclear
			m.ends(t)
			m.Allow(d, "EVENT CANCELED", kindOf(Canceled, m.ofTurn(t)))
			for _, goOn := range t.resume {
				goOn(d, true)
			}
		}
		return
	}
	if t.stopped {
		return
	}
	late := m.hasty() // it may be late by the orchestrator's clock
	clauses := append([]string{"RT-016", "RT-102", "RT-105"}, m.broadcast(d)...)
	if d.Event == vocab.Control {
		clauses = append(clauses, "RT-005", "RT-038")
	}
	shown := []string{"RT-095", "RT-100", "RT-103", "RT-160"}
	if d.Event == vocab.Control {
		shown = append(shown, "RT-162")
	}
	m.owe(Canceled, &owed{What: "EVENT CANCELED to the frontend", Cause: d, About: about{turn: t},
		Clauses: clauses, Shown: shown,
		Amiss:    m.elsewhere(d, []string{"RT-105"}, func(p Message) bool { return p.is("", vocab.Canceled, "") }),
		Optional: late || t.mayStop || t.status == unclear || t.status == completed || t.status == failed,
		Match:    kindOf(Canceled, m.ofTurn(t))})
	t.stopped, t.status, t.confirmed = true, cancelled, d.N
	m.ends(t)
	for _, goOn := range t.resume {
		goOn(d, late)
	}
	t.resume = nil
}

// hasty reports whether the CANCEL_ACK limit is so short that no acknowledgement is sure to be in time.
func (m *Model) hasty() bool { return m.limits.CancelAck > 0 && m.limits.CancelAck < leisure }

// mustStop reports whether a dependent step has to wait for a turn: it is speaking, or was when a CANCEL was
// requested.
func (m *Model) mustStop(t *turn) bool {
	return (t.speaking || t.due && !t.stopped && !m.hasty()) && t.status != unclear && !t.shared
}

// ofTurn matches messages that name a turn, or name none.
func (m *Model) ofTurn(t *turn) func(Message) bool {
	return func(p Message) bool { return p.Turn == t.id || p.Turn == "" }
}

func (m *Model) strayCancel(p Message) {
	t := m.meant(p)
	switch {
	case t != nil && t.stopping.N > 0 && p.TargetID == t.agent && (!t.stopped || m.canceled.N < t.confirmed):
		// a repeated CANCEL is only observed
	case t != nil && t.status == failed: // an agent that has not acknowledged may be told
	case t != nil && p.TargetID != t.agent:
		m.Fail(p, []string{"RT-099", "RT-015"}, "a CANCEL for the agent of the turn: "+t.agent, "%s for turn %q", p.Name(),
			p.Turn)
	// it may have been sent before the final was handled
	case t != nil && t.status == completed && t.mayStop && t.stirred >= m.Handled():
		t.asked, t.stopping = true, p
	case t == nil || !t.live() && t.status != unclear:
		m.Fail(p, m.silent(t), "no CANCEL to an agent that is not speaking", "%s for turn %q", p.Name(), p.Turn)
	case t.mayStop, m.handingOver(), m.leaving(p.TargetID):
		t.asked, t.stopping, t.mayStop, t.speaking = true, p, true, false
		t.due = true // steps that wait for a stop wait for this one too
		m.passOn(t)
	default:
		m.Fail(p, []string{"RT-160"}, "a CANCEL to an agent only if the frontend requests one, or another step has to wait "+
			"for it",
			"%s for turn %q", p.Name(), p.Turn)
	}
}

// silent returns the clauses that forbid a CANCEL to an agent that is not speaking: by how the named turn ended or,
// if none is named, by how any turn ended.
func (m *Model) silent(t *turn) []string {
	clauses := []string{"RT-097"}
	ended := func(as status) bool {
		return t != nil && t.status == as || t == nil &&
			slices.ContainsFunc(m.order, func(t *turn) bool { return t.status == as })
	}
	if ended(completed) {
		clauses = append(clauses, "RT-145")
	}
	if ended(cancelled) {
		clauses = append(clauses, "RT-103")
	}
	if ended(failed) {
		clauses = append(clauses, "RT-079")
	}
	return clauses
}

// leaving reports whether an agent is being removed or the session closed: its output may then be stopped.
func (m *Model) leaving(agent string) bool {
	return m.closing != nil ||
		slices.ContainsFunc(m.moves, func(mv *move) bool { return !mv.add && !mv.answered && mv.agent == agent })
}

func (m *Model) strayCanceled(p Message) {
	t := m.turns[p.Turn]
	switch {
	case t == nil && p.Turn != "":
		m.Fail(p, []string{"RT-105"}, "EVENT CANCELED of the turn whose cancel was acknowledged",
			"it names the unknown turn %q", p.Turn)
	case t != nil && t.stopped:
		m.Fail(p, []string{"RT-105"}, "one EVENT CANCELED for each acknowledgement", "it is sent again for turn %q",
			p.Turn)
	default:
		m.Fail(p, []string{"RT-105", "RT-102", "RT-100"},
			"EVENT CANCELED once the agent has acknowledged with CANCEL_ACK or STREAM_STOPPED",
			"EVENT CANCELED of turn %q before that", p.Turn)
	}
}
