package passive

import (
	"slices"
	"time"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
)

// acked handles an agent's INPUT_ACK.
func (s *session) acked(m judge.Message) {
	t := s.turns[m.Turn]
	if t == nil || t.agent != m.From && !s.present(m.From) { // it may belong to any turn
		s.hidden = s.hidden || m.Turn != ""
		for _, o := range s.order {
			o.lost = o.lost || o.live() && (o.agent == m.From || o == t || !s.present(m.From))
		}
		return
	}
	if t.timeout > 0 {
		s.hold(acks, m, "RT-079")
	}
	if t.acked.N == 0 && t.agent == m.From && t.live() {
		t.acked = m
	}
}

// started judges AGENT_STARTED.
func (s *session) started(p judge.Message) {
	t := s.turns[p.Turn]
	if p.Subtype != vocab.AgentStarted || t == nil || t.lost {
		return
	}
	s.announced(t, p)
	switch {
	case t.timeout > 0:
		s.broken(acks, p, "no further message of a turn that has timed out, record "+number(t.timeout), "RT-079")
	case t.acked.N == 0 && t.said.N == 0 && len(t.outputs) == 0:
		s.broken(acks, p, "AGENT_STARTED once the agent has sent its INPUT_ACK", "RT-077")
	}
}

// timedOut judges ROUTE_TIMEOUT.
func (s *session) timedOut(p judge.Message) {
	t := s.turns[p.Turn]
	if t == nil || t.lost {
		return
	}
	s.announced(t, p)
	clauses := []string{"RT-003", "RT-077", "RT-080", "RT-161"}
	if t.in != nil && t.in.form != "" {
		clauses = append(clauses, "RT-094")
	}
	switch {
	case t.timeout > 0:
		s.broken(acks, p, "one outcome of the turn, which has timed out in record "+number(t.timeout), "RT-056")
	case t.canceledAt > 0 || t.ended > 0:
		s.broken(acks, p, "one outcome of the turn, which ended in record "+number(max(t.canceledAt, t.ended)),
			"RT-056", "RT-080")
	case t.told > 0 && t.acked.N > 0 && t.acked.N < t.said.N && t.acked.Target == t.said.Target:
		s.broken(acks, p, "no ROUTE_TIMEOUT after the INPUT_ACK in record "+number(t.acked.N)+
			", which was handled before the output in record "+number(t.said.N), clauses...)
	case t.told > 0 && t.acked.N == 0:
		s.broken(acks, p, "no ROUTE_TIMEOUT once output was forwarded, which is an implicit start", "RT-169")
	}
	t.timeout = p.N
	s.uncertain()
	s.hold(acks, p, "RT-056")
}

// completed names the clauses that the final output of a turn shows to hold.
func (s *session) completed(t *turn, p judge.Message) {
	s.hold(acks, p, "RT-056")
	if t.acked.N == 0 || t.acked.N > t.said.N {
		return
	}
	s.kept(acks, p, "RT-003", "RT-077", "RT-080", "RT-161")
	if t.in != nil && t.in.form != "" {
		s.kept(acks, p, "RT-094")
	}
}

// cancel handles a CANCEL or INTERRUPT of the frontend.
func (s *session) cancel(m judge.Message) {
	t := s.speaker()
	idle := !s.busy() && len(s.order) > 0
	s.stir(m)
	if !firm(m, false) {
		return
	}
	if idle {
		last := s.order[len(s.order)-1]
		clauses := []string{"RT-097"}
		switch {
		case last.ended > 0:
			clauses = append(clauses, "RT-145")
		case last.canceledAt > 0:
			clauses = append(clauses, "RT-103")
		}
		s.hold(cancels, m, clauses...)
	}
	if t == nil {
		return
	}
	t.byUser = m
	clauses := []string{"RT-004", "RT-016", "RT-031", "RT-050", "RT-099", "RT-142"}
	if m.Subtype == vocab.Interrupt {
		clauses = append(clauses, "RT-095")
	}
	s.owe(&due{subject: cancels, cause: m, what: "CONTROL CANCEL to agent " + t.agent + ", which is speaking",
		clauses: clauses, met: func(p judge.Message) bool { return p.Kind() == judge.CancelSent },
		excused: func(o judge.Message) bool {
			return news(o) || o.Delivered && (o.Event == vocab.Error || o.Final || o.Event == vocab.UserInput ||
				control(o, vocab.CancelAck) || o.Subtype == vocab.StreamStopped)
		}})
}

// cancelSent judges a CANCEL to an agent.
func (s *session) cancelSent(p judge.Message) {
	if p.Turn == "" || p.Trace == "" || p.TargetID == "" {
		s.broken(cancels, p, "CANCEL with target_id, turn_id and trace_id", "RT-099", "RT-053")
		return
	}
	t := s.turns[p.Turn]
	if t == nil || t.lost {
		return
	}
	over := max(t.ended, t.canceledAt)
	switch {
	case p.TargetID != t.agent:
		s.broken(cancels, p, "the CANCEL for agent "+t.agent+", whose turn it names", "RT-050", "RT-099")
	case p.Trace != t.trace:
		s.broken(cancels, p, "trace_id "+t.trace+", which is that of the turn", "RT-099", "RT-053")
	case t.ended > 0 && s.stops > over && t.stirred == 0:
		s.broken(cancels, p, "no CANCEL to an agent whose turn ended in record "+number(over), "RT-097", "RT-098",
			"RT-145")
	case t.canceledAt > 0 && s.stops > over && t.cancelAfter(over):
		s.broken(cancels, p, "no CANCEL to an agent that has stopped, as record "+number(over), "RT-097", "RT-098",
			"RT-103")
	case t.byUser.N > 0 && t.cancel.N == 0:
		s.kept(cancels, p, "RT-004", "RT-016", "RT-031", "RT-050", "RT-053", "RT-098", "RT-099", "RT-142")
		if t.byUser.Subtype == vocab.Interrupt {
			s.kept(cancels, p, "RT-095")
		}
	}
	if t.cancel.N == 0 {
		t.cancel = p
	}
}

// cancelAfter reports whether nothing after the end of a turn can have been caused by the CANCEL before it.
func (t *turn) cancelAfter(end int) bool { return t.cancel.N > 0 && t.cancel.N < end && t.stops == 1 }

// stopped handles an agent's CANCEL_ACK or STREAM_STOPPED.
func (s *session) stopped(m judge.Message) {
	t := s.turns[m.Turn]
	if t == nil || t.agent != m.From {
		s.loose++
		return
	}
	t.stops++
	t.byControl = t.byControl || m.Event == vocab.Control
	s.owesRequest(t, m)
	if t.cancel.N == 0 || t.stops > 1 || !t.live() || t.final > 0 || t.lost || s.ackLimit < time.Minute ||
		!firm(m, true) {
		return
	}
	clauses := []string{"RT-016", "RT-102", "RT-105"}
	if m.Event == vocab.Control {
		clauses = append(clauses, "RT-005", "RT-038", "RT-162")
	}
	s.owe(&due{subject: cancels, cause: m, what: "EVENT CANCELED to the frontend", clauses: clauses,
		met:     func(p judge.Message) bool { return p.Kind() == judge.Canceled },
		excused: func(o judge.Message) bool { return o.Kind() == judge.Failure || o.Delivered && o.Event == vocab.Error }})
}

// canceled judges EVENT CANCELED.
func (s *session) canceled(p judge.Message) {
	t := s.turns[p.Turn]
	if t == nil || t.lost || s.loose > 0 {
		if t != nil {
			t.canceledAt = p.N
		}
		return
	}
	switch {
	case t.stops == 0:
		s.broken(cancels, p, "CANCELED once the agent has sent CANCEL_ACK or STREAM_STOPPED", "RT-016", "RT-100",
			"RT-102", "RT-105", "RT-160")
	case t.canceled >= t.stops:
		s.broken(cancels, p, "one CANCELED for each ack", "RT-105", "RT-100")
	default:
		s.kept(cancels, p, "RT-016", "RT-100", "RT-102", "RT-105", "RT-160")
		if t.byControl {
			s.kept(cancels, p, "RT-005", "RT-038", "RT-162")
		}
	}
	t.canceled, t.canceledAt = t.canceled+1, p.N
	s.hold(acks, p, "RT-056")
}

// fault handles an ERROR of any party.
func (s *session) fault(m judge.Message) {
	t := s.turns[m.Turn]
	fits := func(p judge.Message) bool { return p.Event == vocab.Error && p.Target == vocab.ToFrontend }
	if firm(m, true) && m.From != judge.Frontend && (m.Turn == "" || t != nil && t.live() && t.agent == m.From) {
		s.owe(&due{subject: errors, cause: m, what: "the ERROR sent to the frontend", clauses: []string{"RT-011",
			"RT-040"}, met: fits})
	}
	s.faults = append(s.faults, m)
	if len(s.faults) > mostDue {
		s.faults = s.faults[1:]
	}
	s.uncertain()
	for _, t := range s.order {
		if t.agent == m.From && (m.Turn == "" || m.Turn == t.id) && t.fault == 0 {
			t.fault, t.lost = m.N, true
		}
	}
	s.stir(m)
}

// faultIn returns the index of the ERROR of another party that an ERROR to the frontend passes on; -1 if it is the
// orchestrator's own.
func (s *session) faultIn(p judge.Message) int {
	return slices.IndexFunc(s.faults, func(m judge.Message) bool {
		return m.Turn != "" && m.Turn == p.Turn && m.Subtype == p.Subtype || equalPayload(m, p)
	})
}

// failure names the clauses that an ERROR to the frontend shows to hold.
func (s *session) failure(p judge.Message) {
	if i := s.faultIn(p); i >= 0 {
		s.kept(errors, p, "RT-011", "RT-040")
		s.round(s.faults[i], p)
		s.faults = slices.Delete(s.faults, i, i+1)
	} else {
		s.mayRefuse()
	}
	s.denied(p)
	s.refused(p)
}
