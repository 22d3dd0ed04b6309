package passive

import (
	"slices"
	"strconv"
	"strings"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
	wjson "parley/transport/wire/json"
)

// input is one input of the user.
type input struct {
	judge.Message
	who     string // the mentioned agent; "": none
	form    string // the clause about the form of the mention
	plain   bool   // it does not name an agent in any form
	active  string // the active agent when it was delivered; "": unknown
	by      string // the cause that made that agent active
	quiet   bool   // no turn was in flight
	twice   bool   // it was delivered through two subscriptions
	removed bool   // the mentioned agent was removed before
}

// turn is an input that an agent is handling.
type turn struct {
	id, trace, agent string
	in               *input
	n                int // record of the routing
	accepted         int
	acked, said      judge.Message // its agent's INPUT_ACK, and first output
	spoken           int           // its agent's latest output
	speech           speech
	told             int // its first output forwarded
	final            int // its final output delivered
	fault            int // its agent's ERROR delivered
	ended            int // its final output forwarded
	timeout          int
	cancel           judge.Message
	stops            int // acks of its cancel
	canceled         int // CANCELED published
	canceledAt       int
	byUser           judge.Message // the frontend's CANCEL while it spoke
	byControl        bool          // its cancel was acked by CANCEL_ACK
	twice            bool          // an output was delivered through two subscriptions
	stirred          int           // a message that may stop it was delivered before its final was forwarded
	lost             bool          // some of its output is unknown
	outputs          []*output
	forwarded        []any // the latest payloads
}

// live reports whether a turn has not ended so far.
func (t *turn) live() bool {
	return t.ended == 0 && t.canceledAt == 0 && t.timeout == 0 && t.fault == 0
}

// speaks reports whether a turn's agent is certainly speaking.
func (t *turn) speaks() bool {
	return t.live() && t.told > 0 && t.final == 0 && t.stops == 0 && t.cancel.N == 0
}

// busy reports whether a turn is or may be in flight.
func (s *session) busy() bool {
	return s.hidden || len(s.inputs) > 0 || slices.ContainsFunc(s.order, (*turn).live) || s.loose > 0
}

// stir notes a message that may stop the turns in flight.
func (s *session) stir(m judge.Message) {
	s.stops = m.N
	for _, t := range s.order {
		if t.live() {
			t.stirred = m.N
		}
	}
}

// speaker returns the speaking turn, if it is the only one in flight.
func (s *session) speaker() *turn {
	var only *turn
	for _, t := range s.order {
		if t.live() {
			if only != nil || !t.speaks() {
				return nil
			}
			only = t
		}
	}
	if s.hidden || s.loose > 0 || len(s.inputs) > 0 {
		return nil
	}
	return only
}

func (s *session) input(m judge.Message) {
	in := &input{Message: m, quiet: !s.busy()}
	s.stir(m)
	if a, sure := s.sure(); sure {
		in.active, in.by = a, s.activeBy
	}
	in.who, in.form = mentioned(m)
	in.plain = in.form == "" && !s.alludes(m)
	in.removed = s.removed[in.who]
	switch {
	case in.plain:
	case in.form != "" && in.who != "" && in.who == in.active:
	default:
		s.expect(m, in.who, true)
	}
	if len(s.inputs) >= mostDue {
		s.inputs = s.inputs[1:]
	}
	s.inputs = append(s.inputs, in)
	if in.plain && in.quiet && firm(m, false) && s.present(in.active) {
		s.owe(&due{subject: inputs, cause: m, what: "the input routed to agent " + in.active,
			clauses: []string{"RT-001", "RT-013", "RT-015", "RT-067", "RT-075"},
			met:     func(p judge.Message) bool { return p.Event == vocab.UserInput }, excused: disturbed})
	}
	if in.form != "" && s.absent(in.who) {
		s.hold(moves, m, "RT-086")
	}
}

// disturbed reports whether a message makes the result of an input uncertain.
func disturbed(m judge.Message) bool {
	if !m.Delivered {
		return news(m) || m.Event == vocab.Control && m.Subtype != vocab.TurnAccepted
	}
	return m.Event == vocab.UserInput || m.Event == vocab.Control && m.Subtype != vocab.InputAck
}

// mentioned returns the agent that an input mentions in a documented form, and the clause about that form.
func mentioned(m judge.Message) (who, form string) {
	object, picked := m.Payload.(map[string]any)
	who, _ = object["mentioned_agent_id"].(string)
	other, marked := m.Data["mention"].(string)
	switch {
	case marked && who != "" && who != other:
		return "", ""
	case marked && !picked:
		return other, "RT-083"
	case marked:
		return other, "RT-085"
	case who != "":
		return who, "RT-084"
	}
	return "", ""
}

// alludes reports whether an input may name an agent in an undocumented form.
func (s *session) alludes(m judge.Message) bool {
	if m.Subtype != "" || m.TargetAgent != "" || m.AgentID != "" || m.TargetID != "" ||
		strings.Contains(wjson.Compact(m.Payload), "@") || strings.Contains(wjson.Compact(m.Payload), "agent_id") {
		return true
	}
	for a := range s.agents {
		if judge.Mentions(m, a) {
			return true
		}
	}
	return false
}

// match returns the input of a routed message, and whether that is certain.
func (s *session) match(p judge.Message) (in *input, sure bool) {
	var equal []*input
	for _, c := range s.inputs {
		if c.Turn != "" && c.Turn == p.Turn {
			return c, true
		}
		if wjson.Equal(c.Payload, p.Payload) {
			equal = append(equal, c)
		}
	}
	for _, c := range s.routed {
		if wjson.Equal(c.Payload, p.Payload) {
			return nil, len(equal) == 0
		}
	}
	switch {
	case len(equal) > 0:
		return equal[0], len(equal) == 1
	case len(s.inputs) == 1 && len(s.handovers) == 0 && !s.hidden && s.inputs[0].quiet && s.inputs[0].plain &&
		s.inputs[0].Target == vocab.ToSystem: // unless it is routed too
		in := s.inputs[0]
		s.owe(&due{subject: inputs, cause: p, what: "the payload of the user's input, record " + number(in.N),
			clauses: []string{"RT-068"}, met: func(r judge.Message) bool {
				return r.Event == vocab.UserInput && wjson.Equal(r.Payload, in.Payload)
			}})
	}
	return nil, false
}

// route judges an input that goes to an agent.
func (s *session) route(p judge.Message) {
	switch {
	case p.TargetID == "":
		s.broken(inputs, p, "USER_INPUT with the target_id of its agent", "RT-075", "RT-015")
	case p.Turn == "" || p.Trace == "":
		s.broken(inputs, p, "USER_INPUT with turn_id and trace_id", "RT-072", "RT-075", "RT-053")
	}
	if who := s.inOtherForm(p.TargetID); who != "" {
		s.broken(inputs, p, "target_id "+strconv.QuoteToASCII(who)+", as the agent is called, and not "+
			strconv.QuoteToASCII(p.TargetID), "RT-015", "RT-075")
	}
	in, sure := s.match(p)
	old := s.turns[p.Turn]
	t := &turn{id: p.Turn, trace: p.Trace, agent: p.TargetID, in: in, n: p.N}
	switch {
	case in == nil && sure:
		s.again(p)
		t.lost = true
	case in != nil && sure:
		s.sameInput(in, p)
		if old != nil && old.in != nil && in.Turn == "" && !wjson.Equal(old.in.Payload, p.Payload) {
			s.broken(inputs, p, "a turn_id of its own for each turn", "RT-052", "RT-072")
		}
		s.toAgent(in, p)
		s.round(in.Message, p)
	}
	if in != nil {
		s.answersAbout(in.who)
		s.inputs = slices.DeleteFunc(s.inputs, func(c *input) bool { return c == in })
		if s.routed = append(s.routed, in); len(s.routed) > mostDue {
			s.routed = s.routed[1:]
		}
	}
	if old != nil {
		t.lost = true // a retry, or another input under the same id
		s.order = slices.DeleteFunc(s.order, func(o *turn) bool { return o == old })
	}
	s.turns[t.id] = t
	if s.order = append(s.order, t); len(s.order) > mostTurns {
		s.hidden = s.hidden || s.order[0].live()
		delete(s.turns, s.order[0].id)
		s.order = s.order[1:]
	}
}

// again judges an input that is routed a second time, without a reason such as a time-out.
func (s *session) again(p judge.Message) {
	for _, in := range s.routed {
		if in.twice && wjson.Equal(in.Payload, p.Payload) && s.turns[p.Turn] == nil && !s.hidden &&
			!slices.ContainsFunc(s.order, func(t *turn) bool { return t.in == in && !t.live() }) {
			s.broken(outputs, p, "an input that two subscriptions deliver handled once", "RT-042")
			return
		}
	}
}

// sameInput judges that an input is routed as the user sent it.
func (s *session) sameInput(in *input, p judge.Message) {
	switch {
	case in.Target == vocab.ToBroadcast:
		return
	case !wjson.Equal(in.Payload, p.Payload):
		s.broken(inputs, p, "the payload of the user's input, record "+number(in.N), "RT-068")
	case in.Turn != "" && in.Turn != p.Turn || in.Trace != "" && in.Trace != p.Trace:
		s.broken(inputs, p, "turn_id and trace_id as the user's input gives them, record "+number(in.N), "RT-072")
	}
	s.kept(inputs, p, "RT-001", "RT-013", "RT-015", "RT-067", "RT-072", "RT-075")
	if _, object := in.Payload.(map[string]any); object {
		s.kept(inputs, p, "RT-068")
	}
	named := func(t *turn) bool { return t.in != nil && t.in.Turn == "" }
	if in.Turn == "" && slices.ContainsFunc(s.order, named) {
		s.kept(inputs, p, "RT-052")
	}
}

// accepted judges TURN_ACCEPTED.
func (s *session) accepted(p judge.Message) {
	t := s.turns[p.Turn]
	switch {
	case p.Turn == "" || p.Trace == "" || p.TargetAgent == "":
		s.broken(inputs, p, "TURN_ACCEPTED with turn_id, trace_id and target_agent", "RT-076")
	case t == nil:
		s.owe(&due{subject: inputs, cause: p, what: "target_agent and trace_id of TURN_ACCEPTED those of the turn",
			late: []string{"RT-076", "RT-055"}, met: func(r judge.Message) bool {
				return r.Kind() == judge.Route && r.Turn == p.Turn && (r.TargetID != p.TargetAgent || r.Trace != p.Trace)
			}})
		if len(s.accepts) < mostDue {
			s.accepts = append(s.accepts, p)
		}
	case t.lost:
	case p.TargetAgent != t.agent || p.Trace != t.trace:
		s.broken(inputs, p, "target_agent "+t.agent+" and trace_id "+t.trace+", as the routed input has them",
			"RT-076", "RT-055")
	default:
		t.accepted = p.N
		s.agreed(t, p)
	}
}

func (s *session) agreed(t *turn, p judge.Message) {
	s.kept(inputs, p, "RT-009", "RT-074", "RT-076", "RT-055", "RT-053")
	if t.told == 0 {
		s.kept(inputs, p, "RT-170")
	}
	if t.in != nil && t.in.form != "" {
		s.kept(inputs, p, "RT-093")
	}
}

// announced judges that TURN_ACCEPTED was published before any other message of a turn.
func (s *session) announced(t *turn, p judge.Message) {
	if t.accepted > 0 || t.lost || t.in == nil { // a turn without an input, or whose beginning was not observed
		return
	}
	for _, a := range s.accepts {
		if a.Turn == t.id {
			t.accepted = a.N
			s.agreed(t, a)
			return
		}
	}
	clauses := []string{"RT-009", "RT-074", "RT-076", "RT-170"}
	if t.in != nil && t.in.form != "" {
		clauses = append(clauses, "RT-093")
	}
	s.broken(inputs, p, "TURN_ACCEPTED of the turn sent to the frontend before this", clauses...)
}
