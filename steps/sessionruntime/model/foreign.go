package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/sessionruntime"
	wjson "parley/transport/wire/json"
)

// patience is the time that an effect may take, even if later messages were handled meanwhile.
const patience = 30 * time.Second

// foreign is what a model keeps besides for traffic that the harness has not caused. An orchestrator handles deliveries
// in order, but when is not seen: a delivery counts as handled only when a published message needs it as its cause, or
// a fence shows it. So a message that was under way is never taken for an answer.
type foreign struct {
	watched    bool            // it is foreign traffic
	now        time.Duration   // of the last message
	unhandled  []Message       // delivered, and perhaps not handled yet
	off        bool            // no longer judged
	open       bool            // agents that are not known may be in the session
	switchedAt int             // the latest SWITCH_AGENT published: an input from before may have been routed already
	failing    bool            // an agent has failed
	hidden     bool            // there are turns whose beginning was not seen
	loose      int             // acknowledgements of a cancel that name no known turn
	known      map[string]bool // of messages in both directions
	// agent → the record that told of its addition, since when nobody has asked for its removal
	arrived map[string]int
	ring    []string
	proof
}

// proof collects what shows that deliveries were handled where there is no fence: two later ones that were handled one
// after the other, and time.
type proof struct {
	first  round // a delivery and its effect
	before int   // everything delivered before this record was handled, as record by shows
	by     int
	times  []instant // of deliveries, since the last that patience is over for
}

type round struct{ cause, effect int }

type instant struct {
	n  int
	at time.Duration
}

// saw notes that a delivered message has shown an effect.
func (p *proof) saw(cause, effect int) {
	if p.first.cause > 0 && cause <= p.first.effect {
		return
	}
	if p.first.cause > p.before {
		p.before, p.by = p.first.cause, effect
	}
	p.first = round{cause, effect}
}

// handled returns the record before which everything has been handled by now, and the record that shows it.
func (p *proof) handled(now time.Duration) (before, by int) {
	for len(p.times) > 0 && now-p.times[0].at >= patience {
		p.times = p.times[1:]
	}
	if before = p.before; len(p.times) > 0 {
		before = min(before, p.times[0].n)
	}
	return before, p.by
}

// see takes a message of foreign traffic.
func (m *Model) see(p Message) {
	if m.off || p.Delivered && p.From == Self || p.From == Logger {
		return
	}
	m.now = p.At
	m.remember(p)
	switch {
	case p.Delivered:
		m.unhandled, m.times = append(m.unhandled, p), append(m.times, instant{p.N, p.At})
		m.off = len(m.unhandled) > mostIDs
	case p.Turn != "" && m.turns[p.Turn] != nil && m.turns[p.Turn].lost:
	default:
		for !m.Expects(p) && !m.tolerates(p) && len(m.unhandled) > 0 {
			m.handleNext()
		}
		if t := m.turns[p.Turn]; p.Turn == "" || t == nil || !t.lost {
			m.Published(p)
		}
	}
	if m.Deviated() {
		m.off = true
		return
	}
	if before, by := m.handled(p.At); before > m.Handled() {
		m.fenced(before, by, p.At)
	}
	m.prune()
}

// watch makes it a model of foreign traffic, in which any agent may be in the session.
func (m *Model) watch() {
	m.Patient, m.Until = true, "although what came later was handled (record %d)"
	m.watched, m.open, m.known = true, true, map[string]bool{}
}

// end judges what is missing when no message will come.
func (m *Model) end() {
	if !m.watched || m.off {
		return
	}
	for _, d := range m.unhandled {
		m.disturb(d)
	}
	m.Prove()
	m.off = true
}

// has reports whether an agent is in the session.
func (m *Model) has(agent string) presence {
	p, known := m.presence[agent]
	if !known && m.open && agent != "" {
		return maybe
	}
	return p
}

// remember keeps the id of a message. One that the orchestrator has published comes back as a message that was handled.
func (m *Model) remember(p Message) {
	if p.ID == "" || m.known[p.ID] {
		return
	}
	m.known[p.ID] = true
	m.seen[p.ID] = !p.Delivered
	if m.ring = append(m.ring, p.ID); len(m.ring) > mostIDs {
		delete(m.known, m.ring[0])
		delete(m.seen, m.ring[0])
		m.ring = m.ring[1:]
	}
}

// key returns what a payload is recognised by: the harness's mark or, in foreign traffic, the payload itself.
func (m *Model) key(payload any) string {
	if m.watched {
		return wjson.Compact(payload)
	}
	return Token(payload)
}

// piece returns what an output is recognised by.
func (m *Model) piece(p Message) string {
	if m.watched {
		return fmt.Sprintf("%s %v %s", p.Turn, p.Final, wjson.Compact(p.Payload))
	}
	return PieceToken(p)
}

// fenced records that everything delivered before a record was handled.
func (m *Model) fenced(before, at int, now time.Duration) {
	for len(m.unhandled) > 0 && m.unhandled[0].N < before {
		m.handleNext()
	}
	m.Fenced(before, at, now)
}

// tolerates reports whether a message that nothing calls for breaks nothing as long as no further delivery has been
// handled.
func (m *Model) tolerates(p Message) bool {
	t := m.turns[p.Turn]
	if p.Kind() != CancelSent || t == nil || p.TargetID != t.agent {
		return false
	}
	return t.stopping.N > 0 && !t.stopped || t.status == failed ||
		(t.live() || t.status == unclear) && (t.mayStop || m.handingOver() || m.leaving(t.agent))
}

// handleNext takes the next delivery as handled.
func (m *Model) handleNext() {
	d := m.unhandled[0]
	m.unhandled = m.unhandled[1:]
	if m.stranger(d) {
		return
	}
	m.disturb(d)
	if loose := m.Loose; !firm(d) {
		m.Loose = true // what an orchestrator does with it is left open
		defer func() { m.Loose = loose }()
	}
	m.Delivered(d)
}

// firm reports whether an orchestrator must handle a message: of agents on SYSTEM or BROADCAST, of others on SYSTEM.
func firm(d Message) bool {
	agent := d.From != Frontend && d.From != Manager
	return d.Target == vocab.ToSystem || agent && d.Target == vocab.ToBroadcast
}

// stranger handles a message of a party that is not known as an agent of the session: it may be an agent that is called
// otherwise as a sender. Turns that it may be about are no longer judged.
func (m *Model) stranger(d Message) bool {
	if d.From == Frontend || d.From == Manager {
		return false
	}
	t := m.turns[d.Turn]
	about := t != nil || d.is(vocab.AgentOutput, "", "") || control(d, vocab.InputAck, vocab.CancelAck) ||
		d.Subtype == vocab.StreamStopped
	switch {
	case !about:
		return false
	case t != nil && t.agent == d.From:
		return false
	case t == nil && m.presence[d.From] == present:
		m.hidden = m.hidden || d.Turn != ""
		m.acknowledgesAny(d)
		return d.Turn == ""
	case t != nil && m.presence[d.From] == present && m.presence[t.agent] == present:
		return false
	}
	for _, o := range m.order {
		if o == t || t == nil && o.live() {
			m.lose(o)
		}
	}
	m.acknowledgesAny(d)
	m.hidden = m.hidden || t == nil
	return true
}

// acknowledgesAny notes an acknowledgement that does not name its turn.
func (m *Model) acknowledgesAny(d Message) {
	if m.turns[d.Turn] != nil {
		return
	}
	if control(d, vocab.CancelAck) || d.Subtype == vocab.StreamStopped {
		m.loose++
	}
	if d.Turn == "" {
		for _, t := range m.order {
			if t.live() && t.agent == d.From {
				m.lose(t)
			}
		}
	}
}

// lose ends the judging of a turn.
func (m *Model) lose(t *turn) {
	t.lost, t.status = true, unclear
	m.Each(func(o *owed) {
		if o.About.turn == t {
			o.Done = true
		}
	})
}

// control reports whether a message is a CONTROL with one of the subtypes.
func control(m Message, subtypes ...string) bool {
	return m.Event == vocab.Control && slices.Contains(subtypes, m.Subtype)
}

// disturb makes optional what a delivery leaves open: frontend and agents need not reach the orchestrator by one
// subscription, in one order.
func (m *Model) disturb(d Message) {
	var open []Kind
	switch {
	case d.Event == vocab.UserInput:
		open = []Kind{Route, CancelSent, Switch, RequestAdd, RequestRemove, RequestOpen, RequestClose, Context}
	case d.Event == vocab.Error:
		open = []Kind{CancelSent, Canceled, Output, Switch, RequestAdd, RequestRemove, RequestOpen, RequestClose, Context}
	case d.Event == vocab.AgentOutput && d.Final, control(d, vocab.CancelAck), d.Subtype == vocab.StreamStopped:
		open = []Kind{CancelSent}
	case d.Event == vocab.Control && d.Subtype != vocab.InputAck:
		open = []Kind{Route, Switch, RequestAdd, RequestRemove, RequestOpen, RequestClose, Context}
	}
	m.leaveOpen(func(o *owed) bool {
		return o.Cause.From == Frontend && slices.Contains(open, o.About.kind) ||
			o.About.kind == Output && slices.Contains(open, Output)
	})
}

// leaveOpen makes owed messages optional.
func (m *Model) leaveOpen(which func(*owed) bool) {
	m.Each(func(o *owed) {
		o.Optional = o.Optional || o.Proof == 0 && which(o)
	})
}

// news handles a message to the frontend that may say why something is not done.
func (m *Model) news(p Message) {
	k := p.Kind()
	asked := map[Kind]Kind{Added: RequestAdd, Removed: RequestRemove, Opened: RequestOpen, Closed: RequestClose}[k]
	if asked != "" {
		m.leaveOpen(func(o *owed) bool { return o.About.kind == asked })
	}
	switch {
	case k == Notice && p.Subtype == vocab.NobodySpeaks:
		m.leaveOpen(func(o *owed) bool { return o.About.kind == CancelSent })
		return
	case k == Notice && slices.Contains(others, p.Subtype): // it tells of what is done
		return
	case k != Failure && k != Notice && k != RouteTimeout && k != RemoveFailed:
		return
	}
	if k == RouteTimeout {
		m.doubtHandovers()
	} else {
		for _, mv := range m.moves {
			mv.refused = mv.refused || mv.request.N == 0
		}
		for _, rq := range m.requests {
			rq.open = rq.open || rq.sent.N == 0
		}
	}
	m.leaveOpen(func(o *owed) bool {
		switch o.About.kind {
		case Route, CancelSent, Switch, RequestAdd, RequestRemove, RequestOpen, RequestClose, Prompt, Context:
			return true
		case Output:
			return o.Cause.Turn == p.Turn || p.Turn == ""
		case Canceled, Added, Removed, Opened, Closed:
			return k == Failure
		}
		return false
	})
}

// alludes reports whether an input may name an agent in an undocumented form.
func (m *Model) alludes(d Message) bool {
	if d.Subtype != "" || d.TargetAgent != "" || d.AgentID != "" || d.TargetID != "" ||
		strings.Contains(wjson.Compact(d.Payload), "@") || strings.Contains(wjson.Compact(d.Payload), "agent_id") {
		return true
	}
	for a := range m.presence {
		if Mentions(d, a) {
			return true
		}
	}
	return false
}

// doubtHandovers notes that an orchestrator may switch on its own, because an agent has failed.
func (m *Model) doubtHandovers() {
	m.failing = m.watched
	for _, h := range m.handovers {
		h.free = h.free || m.watched && h.open()
	}
}

// prune drops the oldest state, so that a long session needs no more memory than a short one.
func (m *Model) prune() {
	if len(m.order) > mostTurns {
		t := m.order[0]
		m.hidden = m.hidden || t.live()
		m.order = m.order[1:]
		delete(m.turns, t.id)
		m.lose(t)
	}
	if len(m.inputs) > mostTurns {
		m.inputs = m.inputs[1:]
	}
	m.Forget(mostHeard)
}
