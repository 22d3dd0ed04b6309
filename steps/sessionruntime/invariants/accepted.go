package invariants

import (
	"fmt"

	vocab "parley/protocol/sessionruntime"
)

// awaitAccepted owes TURN_ACCEPTED to the frontend, unless it already came.
func (m *Model) awaitAccepted(t *turn) {
	in := t.in
	if in.accepted.N > 0 {
		m.keep(in.accepted, "RT-009", "RT-074")
		m.agree(in)
		return
	}
	o := &owed{what: "TURN_ACCEPTED to the frontend", cause: in.said, turn: t, of: Accepted,
		clauses: []string{"RT-009", "RT-074", "RT-076"},
		amiss: m.elsewhere(in.said, []string{"RT-009", "RT-076"}, func(a Message) bool {
			return a.Subtype == vocab.TurnAccepted
		}),
		match: kindOf(Accepted, func(a Message) bool {
			return a.Turn == t.id || a.Turn == "" || t.id == "" && m.turns[a.Turn] == nil
		}),
		met: func(a Message) { in.accepted = a; m.agree(in) },
		late: func(a Message) []string {
			if a.Turn == t.id && t.answered == 0 { // before any acknowledgement: "at once" means no more
				return nil
			}
			return []string{"RT-074"}
		}}
	if in.mentions {
		o.clauses = append(o.clauses, "RT-093")
	}
	m.owe(o)
}

func (m *Model) strayAccepted(p Message) {
	if !m.acceptedFirst(p) {
		m.fail(p, []string{"RT-076", "RT-009"}, "one TURN_ACCEPTED for each turn", "%s for turn %q a second time, or for "+
			"no turn",
			p.Kind(), p.Turn)
	}
}

// acceptedFirst reports whether a TURN_ACCEPTED belongs to an input that is yet to be routed: either may come first
// (RT-170).
func (m *Model) acceptedFirst(p Message) bool {
	for _, in := range m.inputs {
		if in.routed == nil && in.forbid == nil && in.accepted.N == 0 && m.turns[p.Turn] == nil &&
			(in.said.Turn == "" || in.said.Turn == p.Turn) {
			in.accepted = p
			return true
		}
	}
	return false
}

// agree checks that TURN_ACCEPTED names the routed turn (RT-076). An id that was not routed is broken already, and
// nothing can be told to differ from it.
func (m *Model) agree(in *input) {
	t, a := in.routed, in.accepted
	agrees := (t.id == "" || a.Turn == t.id) && (t.trace == "" || a.Trace == t.trace)
	if !agrees || t.id != "" && t.trace != "" {
		m.member(agrees, a, []string{"RT-076"}, fmt.Sprintf("turn_id %q and trace_id %q", t.id, t.trace), "%q and %q",
			a.Turn, a.Trace)
	}
	m.member(a.TargetAgent == t.agent, a, []string{"RT-076", "RT-055"}, "target_agent "+t.agent, "%q", a.TargetAgent)
}
