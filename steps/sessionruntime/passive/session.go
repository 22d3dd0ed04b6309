package passive

import (
	"fmt"
	"slices"
	"time"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
)

// session is the state of a session.
type session struct {
	v        *traffic
	id       string
	lost     bool            // a clause was broken, and it is no longer judged
	mixed    bool            // two connections have it at once
	agents   map[string]bool // known to be in the session, or known not to be
	listed   bool            // unlisted agents are not in the session
	removed  map[string]bool // the frontend was notified
	arrivals map[string]*arrival
	// agent → the ids of requests about it that may not have been answered
	concerned map[string][]string
	ackLimit  time.Duration // for CANCEL_ACK; 0: unknown

	active   string // "": unknown
	activeBy string
	changes  []*change // causes of a change that is not visible yet
	last     judge.Message
	public   map[string]int // agent → latest SWITCH_AGENT to it on SYSTEM or BROADCAST

	inputs    []*input        // not routed yet
	accepts   []judge.Message // TURN_ACCEPTED of turns that are not routed yet
	routed    []*input        // the latest
	turns     map[string]*turn
	order     []*turn
	hidden    bool // messages name turns whose beginning was not observed
	loose     int  // acks of a cancel that name no known turn
	stops     int  // the latest message that may stop a turn
	procs     []*procedure
	faults    []judge.Message // ERRORs of other parties
	gone      judge.Message   // AGENT_REMOVED of the active agent, without a switch so far
	closing   bool            // only messages about the session are still due
	handovers []*transfer

	dues  []*due
	holds []*hold
	ids   map[string]bool // of messages, in both directions
	ring  []string
	at    time.Duration
}

func newSession(v *traffic, id string) *session {
	return &session{v: v, id: id, agents: map[string]bool{}, removed: map[string]bool{}, public: map[string]int{},
		turns: map[string]*turn{}, ids: map[string]bool{}, arrivals: map[string]*arrival{}, concerned: map[string][]string{}}
}

// due is a message that must come.
type due struct {
	subject string
	cause   judge.Message
	what    string
	clauses []string
	met     func(judge.Message) bool
	late    []string                 // clauses that it breaks if it comes; nil: it is a due message
	excused func(judge.Message) bool // by a message in either direction
	progress
}

// hold names clauses that are shown to hold once a message has been handled without breaking them.
type hold struct {
	subject string
	cause   judge.Message
	clauses []string
	progress
}

// progress tracks whether a message has been handled: a fence shows it, or two later messages one after the other, and
// time.
type progress struct {
	fenced        bool
	stages, since int
	from          time.Duration
	by            int // the record that shows it
}

func (p *progress) round(cause, effect int) {
	if cause > p.since && p.stages < 2 {
		p.stages, p.since, p.by = p.stages+1, effect, effect
	}
}

func (p *progress) handled(now time.Duration) bool {
	return p.fenced || p.stages >= 2 && now-p.from >= patience
}

// owe notes a message that must come.
func (s *session) owe(d *due) {
	if s.closing && d.subject != sessions {
		return
	}
	if len(s.dues) >= mostDue {
		s.dues = s.dues[1:]
	}
	d.since, d.from = d.cause.N, d.cause.At
	s.dues = append(s.dues, d)
}

// hold notes clauses that must hold after a message.
func (s *session) hold(subject string, cause judge.Message, clauses ...string) {
	if subject != s.v.subject || len(s.holds) >= mostDue ||
		!slices.ContainsFunc(clauses, func(id string) bool { return !s.v.shown[id] }) {
		return
	}
	h := &hold{subject: subject, cause: cause, clauses: clauses}
	h.since, h.from = cause.N, cause.At
	s.holds = append(s.holds, h)
}

// round notes that a delivered message has shown an effect.
func (s *session) round(cause, effect judge.Message) {
	s.progress(func(p *progress) { p.round(cause.N, effect.N) })
}

func (s *session) fenced(before, at int) {
	s.progress(func(p *progress) {
		if p.since < before && !p.fenced {
			p.fenced, p.by = true, at
		}
	})
	s.changes = slices.DeleteFunc(s.changes, func(c *change) bool { return c.passing && c.fenced })
	s.shows()
}

func (s *session) progress(move func(*progress)) {
	for _, d := range s.dues {
		move(&d.progress)
	}
	for _, h := range s.holds {
		move(&h.progress)
	}
	for _, c := range s.changes {
		move(&c.progress)
	}
}

// shows records that clauses hold if a message was handled without a finding.
func (s *session) shows() {
	s.holds = slices.DeleteFunc(s.holds, func(h *hold) bool {
		done := h.handled(s.at)
		if done {
			s.kept(h.subject, judge.Message{N: h.by}, h.clauses...)
		}
		return done
	})
}

// close judges missing messages at the end of a session's records.
func (s *session) close() {
	if s.mixed {
		return
	}
	s.shows()
	for _, d := range s.dues {
		if len(d.clauses) > 0 && d.handled(s.at) {
			s.fails(d.subject, d.cause, d.what, fmt.Sprintf("no such message, although a later message was handled "+
				"(record %d)", d.by), d.clauses...)
		}
	}
	s.dues, s.holds, s.lost = nil, nil, true
}

// take judges a message.
func (s *session) take(m judge.Message) {
	s.at = m.At
	if s.lost || m.Delivered && m.From == judge.Self || m.From == judge.Logger {
		return
	}
	if m.ID != "" {
		if s.ids[m.ID] && m.Delivered { // through a second subscription, or its own
			s.repeated(m)
			return
		}
		s.ids[m.ID] = true
		if s.ring = append(s.ring, m.ID); len(s.ring) > mostIDs {
			delete(s.ids, s.ring[0])
			s.ring = s.ring[1:]
		}
	}
	var late []*due
	s.dues = slices.DeleteFunc(s.dues, func(d *due) bool {
		met := !m.Delivered && d.met != nil && d.met(m)
		if met && d.late != nil {
			late = append(late, d)
		}
		return met || d.excused != nil && d.excused(m)
	})
	for _, d := range late {
		s.broken(d.subject, m, d.what, d.late...)
	}
	if m.Delivered {
		s.delivered(m)
	} else {
		s.published(m)
	}
}

// firm reports whether an orchestrator must handle a message: requests and receipts on SYSTEM, and messages of agents
// there or on BROADCAST.
func firm(m judge.Message, agents bool) bool {
	return m.Target == vocab.ToSystem || agents && m.Target == vocab.ToBroadcast
}

func (s *session) delivered(m judge.Message) {
	s.concern(m)
	switch {
	case m.Event == vocab.UserInput:
		s.input(m)
	case m.Event == vocab.AgentOutput:
		s.output(m)
	case m.Event == vocab.Error:
		s.fault(m)
	case control(m, vocab.InputAck):
		s.acked(m)
	case control(m, vocab.CancelAck), m.Event == vocab.Event && m.Subtype == vocab.StreamStopped:
		s.stopped(m)
	case control(m, vocab.HandoverRequest):
		s.handover(m)
	case control(m, vocab.HandoverConfirm, vocab.HandoverReject):
		s.decided(m)
	case control(m, vocab.Cancel, vocab.Interrupt):
		s.cancel(m)
	case control(m, vocab.SwitchAgent):
		s.switchTo(m)
	case m.Event == vocab.Control:
		s.asked(m)
		s.receipt(m)
	}
}

func (s *session) published(p judge.Message) {
	switch p.Kind() {
	case judge.Route:
		s.route(p)
	case judge.Accepted:
		s.accepted(p)
	case judge.RouteTimeout:
		s.timedOut(p)
	case judge.Output:
		s.forwarded(p)
	case judge.CancelSent:
		s.cancelSent(p)
	case judge.Canceled:
		s.canceled(p)
	case judge.Prompt:
		s.prompted(p)
	case judge.Context:
		s.handed(p)
	case judge.Notice:
		s.started(p)
	case judge.Failure:
		s.failure(p)
	case judge.Added, judge.Removed, judge.Opened, judge.Closed, judge.RemoveFailed:
		s.told(p)
	}
	if p.Kind() == judge.Switch || control(p, vocab.SwitchAgent) {
		s.switched(p)
	}
	if p.Event == vocab.Control {
		s.requested(p)
	}
}

// present reports whether an agent is known to be in the session.
func (s *session) present(agent string) bool { return s.agents[agent] }

// absent reports whether an agent is known not to be in the session.
func (s *session) absent(agent string) bool {
	in, known := s.agents[agent]
	return known && !in || !known && s.listed && agent != ""
}

// news reports whether a message may tell the frontend why an action was not taken.
func news(m judge.Message) bool {
	return !m.Delivered && (m.Kind() == judge.Failure || m.Kind() == judge.Notice || m.Kind() == judge.RouteTimeout ||
		m.Kind() == judge.RemoveFailed)
}
