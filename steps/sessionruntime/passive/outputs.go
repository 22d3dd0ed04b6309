package passive

import (
	"maps"
	"slices"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
	wjson "parley/transport/wire/json"
)

// output is one AGENT_OUTPUT of an agent.
type output struct {
	judge.Message
	alien  bool   // it comes from another agent than the turn's
	behind string // the message that ended its turn before it was delivered; "": none
	must   bool   // it must be forwarded
	lone   bool   // a final without chunks
	twice  bool   // it was delivered through two subscriptions
	passed *due   // a later one was forwarded first
}

// reasons are the clauses about output after the end of its turn.
var reasons = map[string][]string{"its final": {"RT-141", "RT-145"}, "ROUTE_TIMEOUT": {"RT-141", "RT-079"},
	"CANCELED": {"RT-141", "RT-104", "RT-162"}}

func (s *session) output(m judge.Message) {
	t := s.turns[m.Turn]
	if t == nil || m.Turn == "" {
		s.hidden = true
		return
	}
	o := t.record(m)
	switch {
	case m.From == t.agent:
	case s.present(m.From) && s.present(t.agent):
		o.alien = true
	default: // sender names differ from target names
		t.lost = true
	}
	switch {
	case t.ended > 0:
		o.behind = "its final"
	case t.timeout > 0:
		o.behind = "ROUTE_TIMEOUT"
	case t.canceledAt > 0:
		o.behind = "CANCELED"
	}
	if t.lost {
		return
	}
	if len(t.outputs) >= mostOutputs {
		t.lost, t.outputs = true, nil
		return
	}
	t.outputs = append(t.outputs, o)
	switch {
	case o.behind != "":
		s.hold(outputs, m, reasons[o.behind]...)
		return
	case o.alien:
		s.hold(outputs, m, "RT-141", "RT-055")
		return
	}
	o.must = t.live() && t.acked.N > 0 && t.final == 0 && t.cancel.N == 0 && s.stops <= max(t.n, t.acked.N) &&
		firm(m, true) && (t.acked.Target == m.Target || t.told > 0)
	o.lone = m.Final && t.said.N == 0
	if t.said.N == 0 {
		t.said = m
	}
	if !m.Final {
		return
	}
	t.final = m.N
	if o.must {
		clauses := []string{"RT-002", "RT-015", "RT-039", "RT-139", "RT-140"}
		if o.lone {
			clauses = append(clauses, "RT-146")
		}
		s.owe(&due{subject: outputs, cause: m, what: "the final output forwarded to the frontend", clauses: clauses,
			met: func(p judge.Message) bool { return p.Event == vocab.AgentOutput && p.Turn == m.Turn && p.Final },
			excused: func(o judge.Message) bool {
				return news(o) || o.Kind() == judge.CancelSent || o.Delivered && o.Event == vocab.Error
			}})
	}
}

// record notes what the agent of a turn says in it.
func (t *turn) record(m judge.Message) *output {
	if m.From == t.agent {
		t.spoken = m.N
		t.speech.add(m.Payload)
	}
	return &output{Message: m}
}

// repeated notes that a second subscription delivers a message.
func (s *session) repeated(m judge.Message) {
	for _, in := range append(slices.Clone(s.inputs), s.routed...) {
		in.twice = in.twice || in.ID == m.ID
	}
	if t := s.turns[m.Turn]; t != nil && m.Event == vocab.AgentOutput {
		s.hold(outputs, m, "RT-042")
		for _, o := range t.outputs {
			o.twice = o.twice || o.ID == m.ID
		}
		t.twice = true
	}
}

// forwarded judges output that was forwarded to the frontend.
func (s *session) forwarded(p judge.Message) {
	t := s.turns[p.Turn]
	if t == nil || t.lost {
		return
	}
	s.announced(t, p)
	i := t.find(p)
	if i < 0 {
		s.unknown(t, p)
		return
	}
	o := t.outputs[i]
	switch {
	case o.alien:
		s.broken(outputs, p, "no output of agent "+o.From+" in a turn of agent "+t.agent+", record "+number(o.N),
			"RT-141", "RT-055")
	case o.behind != "":
		s.broken(outputs, p, "no output delivered after the end of its turn ("+o.behind+"), record "+number(o.N),
			reasons[o.behind]...)
	case !keeps(o.Message, p):
		s.broken(outputs, p, "the metadata that the agent set, record "+number(o.N)+": "+wjson.Compact(o.Metadata),
			"RT-149")
	case o.passed != nil:
		s.broken(outputs, p, "output forwarded in the order in which the agent has sent it, record "+number(o.N),
			"RT-139", "RT-150")
	}
	s.overtakes(t, i, p)
	t.outputs = slices.Delete(t.outputs, slices.Index(t.outputs, o), slices.Index(t.outputs, o)+1)
	s.shown(t, o, p)
	t.forwarded = append(t.forwarded, o.Payload)
	if len(t.forwarded) > mostDue {
		t.forwarded = t.forwarded[1:]
	}
	if t.told == 0 {
		t.told = p.N
		if t.acked.N == 0 {
			s.hold(acks, p, "RT-169")
		}
	}
	s.round(o.Message, p)
	if o.Final {
		t.ended = p.N
		s.completed(t, p)
	}
}

// shown names the clauses that forwarded output shows to hold.
func (s *session) shown(t *turn, o *output, p judge.Message) {
	s.kept(outputs, p, "RT-002", "RT-015", "RT-039", "RT-139", "RT-140", "RT-148")
	if object, _ := o.Metadata.(map[string]any); len(object) > 0 {
		s.kept(outputs, p, "RT-149")
	}
	if !o.Final && !slices.ContainsFunc(t.outputs, func(c *output) bool { return c.N > o.N }) {
		s.kept(outputs, p, "RT-150")
	}
	if o.lone {
		s.kept(outputs, p, "RT-146")
	}
	if o.Target == vocab.ToBroadcast {
		s.kept(outputs, p, "RT-042", "RT-168")
	}
}

// find returns the index of the output that is forwarded; -1 if no output is equal. One that may be forwarded comes
// first.
func (t *turn) find(p judge.Message) int {
	fits := func(fine bool) int {
		return slices.IndexFunc(t.outputs, func(o *output) bool {
			return (!o.alien && o.behind == "") == fine && wjson.Equal(o.Payload, p.Payload) && o.Final == p.Final
		})
	}
	if i := fits(true); i >= 0 {
		return i
	}
	return fits(false)
}

// keeps reports whether forwarded output has all metadata set by the agent.
func keeps(was, is judge.Message) bool {
	had, _ := was.Metadata.(map[string]any)
	has, _ := is.Metadata.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if v, there := has[name]; !there || !wjson.Equal(had[name], v) {
			return false
		}
	}
	return true
}

// unknown judges output of a turn that its agent did not send.
func (s *session) unknown(t *turn, p judge.Message) {
	waiting := slices.DeleteFunc(slices.Clone(t.outputs), func(o *output) bool { return o.alien || o.behind != "" })
	before := slices.ContainsFunc(t.forwarded, func(v any) bool { return wjson.Equal(v, p.Payload) })
	switch {
	case before && len(waiting) == 0:
		clauses := []string{"RT-002"}
		if t.twice {
			clauses = []string{"RT-042"}
		}
		s.broken(outputs, p, "each output of the turn forwarded once", clauses...)
	case len(waiting) == 0 && (len(t.forwarded) > 0 || t.said.N == 0 && len(t.outputs) == 0):
		s.broken(outputs, p, "only output that the agent of the turn has sent", "RT-002", "RT-141")
	case len(waiting) == 1 && wjson.Equal(waiting[0].Payload, p.Payload):
		s.broken(outputs, p, "the metadata that the agent set, record "+number(waiting[0].N), "RT-149")
	case len(waiting) > 0:
		s.broken(outputs, p, "output of the turn with its payload unchanged, such as record "+number(waiting[0].N),
			"RT-148")
	}
}

// overtakes notes the outputs that were overtaken by forwarded ones: they come too late, or never.
func (s *session) overtakes(t *turn, i int, p judge.Message) {
	for _, o := range t.outputs[:i] {
		if !o.must || o.passed != nil || o.Target != t.outputs[i].Target || o.behind != "" || o.alien {
			continue
		}
		clauses := []string{"RT-002", "RT-015", "RT-039", "RT-139", "RT-140"}
		if o.Target == vocab.ToBroadcast {
			clauses = append(clauses, "RT-042", "RT-168")
		}
		o.passed = &due{subject: outputs, cause: o.Message, what: "the output forwarded before the one of record " +
			number(t.outputs[i].N), clauses: clauses, met: func(f judge.Message) bool {
			return f.Kind() == judge.Output && f.Turn == p.Turn && wjson.Equal(f.Payload, o.Payload)
		}}
		s.owe(o.passed)
		o.passed.fenced, o.passed.by = true, p.N
	}
}
