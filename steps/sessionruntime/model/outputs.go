package model

import (
	vocab "parley/protocol/sessionruntime"
	wjson "parley/transport/wire/json"
)

// output is one AGENT_OUTPUT of an agent.
type output struct {
	d      Message
	turn   *turn
	why    string // why it must not be forwarded; "" if it may be
	must   bool
	passed int
	twice  bool
	first  bool // sent in a turn that was not acknowledged
	gone   bool // later output of its turn was forwarded first
	owed   *owed
}

func (m *Model) output(d Message) {
	o := &output{d: d, turn: m.turns[d.Turn]}
	t := o.turn
	m.outputs[m.piece(d)] = o
	if o.why = unfit(d, t); o.why != "" || t == nil {
		m.Hold(d, m.againstOutput(o)...)
		if t != nil {
			t.crossed = t.crossed || t.agent != d.From
		}
		return
	}
	if t.stopping.N > 0 {
		m.Hold(d, "RT-100", "RT-105")
	}
	o.must = t.status == running && !t.asked && m.has(t.agent) == present && (m.watched || m.sure(t))
	t.said, t.sent = append(t.said, o), append(t.sent, o)
	fits := func(p Message) bool { return m.piece(p) == m.piece(d) && o.passed == 0 }
	if o.must {
		o.owed = m.owe(Output, &owed{What: "the output forwarded to the frontend as it comes", Cause: d,
			About: about{turn: t}, Clauses: m.aboutOutput(d, t), Shown: []string{"RT-015", "RT-141", "RT-142", "RT-150"},
			Amiss: m.elsewhere(d, []string{"RT-002", "RT-015", "RT-139"}, func(p Message) bool {
				return m.piece(p) == m.piece(d) && p.Kind() != Output && p.N > d.N
			}),
			Late: func(Message) []string {
				if m.latestOf(t) == d.N { // its agent has not sent more: the fence was early
					return nil
				}
				return []string{"RT-139", "RT-150"}
			},
			Match: kindOf(Output, fits), Met: func(p Message) { m.forwarded(o, p) }})
	} else {
		o.owed = m.owe(Output, &owed{What: "the output forwarded", Cause: d, Optional: true, Match: kindOf(Output, fits),
			Met: func(p Message) { m.forwarded(o, p) }})
	}
	if t.status == running && !m.watched && !m.sure(t) { // the turn may have timed out by now
		t.status = unclear
	}
	switch {
	case d.Final:
		m.ends(t)
		for _, goOn := range t.resume { // it has stopped by itself: waiting steps may continue
			goOn(d, true)
		}
		if t.status == running && !t.asked {
			t.status = completed
		} else {
			t.status = unclear
		}
	case t.status == routing: // an implicit start, or not (RT-169)
		o.first = true
		m.Hold(d, "RT-169")
		t.status = unclear
		m.begins(t)
	default:
		m.begins(t)
		t.speaking = !t.asked
	}
}

// aboutOutput returns the clauses by which an output must be forwarded.
func (m *Model) aboutOutput(d Message, t *turn) []string {
	clauses := append([]string{"RT-002", "RT-039", "RT-082", "RT-139", "RT-140"}, m.broadcast(d)...)
	if t.crossed {
		clauses = append(clauses, "RT-141")
	}
	if d.Final && !d.Chunk {
		clauses = append(clauses, "RT-146")
	}
	for _, other := range m.order {
		if other != t && other.speaking { // each turn has its own speaker
			return append(clauses, "RT-052", "RT-142")
		}
	}
	return clauses
}

// latestOf returns the record of the last output in a turn.
func (m *Model) latestOf(t *turn) (last int) {
	for _, o := range t.sent {
		last = max(last, o.d.N)
	}
	return last
}

// unfit says why an output must not be forwarded; "" if it may be.
func unfit(d Message, t *turn) string {
	switch {
	case t == nil || d.Turn == "":
		return "its turn is unknown"
	case t.agent != d.From:
		return "it comes from agent " + d.From + ", but the turn belongs to agent " + t.agent
	case t.status == completed:
		return "its turn has completed"
	case t.status == failed:
		return "its turn has failed: ROUTE_TIMEOUT was published"
	case t.stopped:
		return "its turn was cancelled, and the cancel acknowledged"
	case t.status == cancelled:
		return "its turn was cancelled"
	}
	return ""
}

// forwarded judges output forwarded to the frontend (RT-148, RT-149).
func (m *Model) forwarded(o *output, p Message) {
	o.passed++
	t := o.turn
	t.inTime = t.inTime || m.watched && t.acked.N > 0 && t.acked.N < o.d.N && t.acked.Target == o.d.Target
	if t.told == 0 {
		t.told = p.N
	}
	if m.watched {
		m.saw(o.d.N, p.N)
	}
	o.turn.implicit, o.turn.spoke, o.turn.crossed = o.turn.implicit || o.first, true, false
	m.Member(wjson.Equal(o.d.Payload, p.Payload), p, []string{"RT-148"}, "the agent's payload: "+clip(o.d.Payload),
		"%s", clip(p.Payload))
	m.kept(o.d, p, nil, []string{"RT-149"})
	if o.d.Target == vocab.ToBroadcast {
		m.Keep(p, "RT-042", "RT-168")
	}
	if o.d.Final && t.acked.N > 0 && t.acked.N < t.sent[0].d.N {
		m.Keep(p, "RT-003", "RT-056", "RT-077", "RT-080", "RT-161")
		if t.in.mentions {
			m.Keep(p, "RT-094")
		}
	}
	if o.gone {
		m.Member(false, p, []string{"RT-139", "RT-150"}, "output forwarded as it comes",
			"this was forwarded after a later one of its turn")
	}
	for i, other := range o.turn.said {
		if o.gone {
			break
		}
		if other == o {
			o.turn.said = o.turn.said[i+1:] // earlier output comes too late from here on
			break
		}
		if other.gone = true; m.watched && other.owed != nil {
			other.owed.Proof = p.N
		}
	}
}

func (m *Model) strayOutput(p Message) {
	o := m.outputs[m.piece(p)]
	switch {
	case o == nil:
		m.Fail(p, []string{"RT-002", "RT-141"}, "only output of agents forwarded",
			"AGENT_OUTPUT that no agent has sent: %s", clip(p.Payload))
	case o.why != "":
		m.Fail(p, m.againstOutput(o), "no AGENT_OUTPUT to the frontend: "+o.why, "it was forwarded")
	default:
		clauses := []string{"RT-002"}
		if o.twice {
			clauses = []string{"RT-042"}
		}
		m.Fail(p, clauses, "the output forwarded once", "forwarded a second time")
	}
}

// againstOutput returns the clauses that forbid forwarding an output.
func (m *Model) againstOutput(o *output) []string {
	clauses := []string{"RT-141"}
	switch {
	case o.turn == nil:
		clauses = append(clauses, "RT-052")
		if of := m.bus.turns[o.d.Turn]; of != "" && of != m.id { // it is one of another session
			clauses = append(clauses, "RT-015")
		}
	case o.turn.stopped:
		clauses = append(clauses, "RT-104", "RT-162")
	case o.turn.status == failed:
		clauses = append(clauses, "RT-079")
	case o.turn.status == completed:
		clauses = append(clauses, "RT-056")
	}
	return clauses
}
