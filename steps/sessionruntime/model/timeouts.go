package model

import (
	"fmt"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
)

// awaitTimeout expects ROUTE_TIMEOUT for a turn that is not acknowledged (RT-078).
func (m *Model) awaitTimeout(t *turn) {
	clauses := []string{"RT-073", "RT-077", "RT-078", "RT-082"}
	if t.in.mentions {
		clauses = append(clauses, "RT-094")
	}
	t.timeout = m.owe(RouteTimeout, &owed{What: "ERROR ROUTE_TIMEOUT to the frontend", Cause: t.routed, Timed: true,
		About: about{turn: t}, Clauses: clauses,
		Match: kindOf(RouteTimeout, func(p Message) bool { return p.Turn == t.id || p.Turn == "" && m.waiting() == t }),
		Amiss: func() ([]string, string) {
			p, ok := m.InPlace(t.in.said.N, func(p Message) bool { return p.Subtype == vocab.RouteTimeout })
			if !ok {
				return nil, ""
			}
			clauses := []string{"RT-073", "RT-078"}
			if p.Kind() == RouteTimeout { // it names another turn, or none
				clauses = append(clauses, "RT-052", "RT-053")
			}
			return clauses, fmt.Sprintf("%s of turn %q (record %d)", p.Name(), p.Turn, p.N)
		},
		Met: func(p Message) { m.timedOut(t, p) }})
}

// waiting returns the only turn that waits for its acknowledgement; nil if there is none or more than one.
func (m *Model) waiting() (only *turn) {
	for _, t := range m.order {
		if t.status == routing {
			if only != nil {
				return nil
			}
			only = t
		}
	}
	return only
}

func (m *Model) timedOut(t *turn, p Message) {
	clauses := []string{"RT-077", "RT-080"}
	if t.in.mentions {
		clauses = append(clauses, "RT-094")
	}
	switch {
	case t.implicit:
		m.Fail(p, []string{"RT-169"}, "no ROUTE_TIMEOUT once a chunk was forwarded, which is an implicit start",
			"%s for turn %q", p.Name(), t.id)
	case t.acked.N > 0 && !m.sure(t): // undecided: the two clocks may differ
	case t.status == completed, t.status == cancelled:
		m.Fail(p, append(clauses, "RT-003", "RT-056", "RT-161"), "one outcome of a turn", "%s for turn %q, which has ended",
			p.Name(), t.id)
	case t.status == running:
		clauses = append(append(clauses, "RT-003", "RT-161"), m.broadcast(t.acked)...)
		m.Fail(p, clauses, "no ROUTE_TIMEOUT for a turn that its agent has acknowledged", "%s for turn %q", p.Name(), t.id)
	case m.limits.InputAck > 0 && t.status == routing && p.At-t.in.said.At < m.limits.InputAck*9/10:
		m.Fail(p, []string{"RT-077"}, fmt.Sprintf("INPUT_ACK awaited for %v", m.limits.InputAck), "ROUTE_TIMEOUT after %v",
			(p.At - t.in.said.At).Round(time.Millisecond))
	}
	t.status = failed
	m.ends(t)
}

// leisure is a limit far longer than any stall of the machine.
const leisure = 10 * time.Second

// sure reports whether a turn was acknowledged in time by any clock: the acknowledgement was handled before the limit
// expired, counted from the delivery of the input.
func (m *Model) sure(t *turn) bool {
	return t.acked.N > 0 && (t.inTime || !m.watched && (m.limits.InputAck == 0 || m.limits.InputAck > leisure))
}

// excuse makes the time-outs of turns optional about which the source leaves open what becomes of them.
func (m *Model) excuse(d Message) {
	for _, t := range m.order {
		own := d.Turn == t.id && d.From == t.agent &&
			(d.Event == vocab.AgentOutput || d.is(vocab.Control, vocab.InputAck, ""))
		if t.timeout != nil && (own || d.Event == vocab.Error || d.From == Manager ||
			d.From == Frontend && d.Event == vocab.Control && d.Subtype != vocab.SwitchAgent) {
			t.timeout.Optional = true
		}
	}
}

// past records that a limit has expired for everything up to a record, as the remark in record at says: what has not
// come by then does not come.
func (m *Model) past(limit string, last, at int) {
	for _, t := range m.order {
		var clauses []string
		switch {
		case t.in.said.N > last || t.timeout == nil:
		case limit == "confirming a cancel":
			if t.stopping.N > 0 && !t.stopped {
				clauses = []string{"RT-100", "RT-102", "RT-105", "RT-160"}
			}
		case t.timeout.Done:
		case t.acked.N > 0:
			clauses = append([]string{"RT-003", "RT-077", "RT-080", "RT-161"}, m.broadcast(t.acked)...)
		case t.implicit:
			clauses = []string{"RT-077", "RT-169"}
		}
		if clauses != nil {
			m.Findings = append(m.Findings, verdict.Finding{Clauses: clauses, OK: true, Expected: obligation.Absence, At: at,
				Model: m.book.Model})
		}
	}
}

func (m *Model) strayTimeout(p Message) {
	m.Fail(p, []string{"RT-056", "RT-078"}, "one ROUTE_TIMEOUT for each turn that is not acknowledged",
		"%s for turn %q a second time, or for no turn", p.Name(), p.Turn)
}
