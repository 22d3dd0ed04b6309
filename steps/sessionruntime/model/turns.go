package model

import (
	"fmt"
	"maps"
	"slices"
	"time"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
	wjson "parley/transport/wire/json"
)

// Limits are the orchestrator's limits, as requested at set-up or fixed; 0 is unknown.
type Limits struct{ InputAck, CancelAck time.Duration }

// status is the state of a turn (2.2).
type status int

const (
	routing status = iota
	running
	completed
	failed
	cancelled
	unclear // the source leaves open what became of it
)

// turn is the handling of one input by an agent.
type turn struct {
	id, trace, agent string
	in               *input
	routed           Message
	status           status
	speaking         bool    // it has sent a chunk, and has neither ended nor been sent a CANCEL
	begun            bool    // like speaking, but stays set after a CANCEL
	shared           bool    // another turn spoke at the same time
	passed           bool    // also, it is open whether this turn still counts as speaking
	stopping         Message // the published CANCEL; N 0: none
	acked            Message // its agent's INPUT_ACK; N 0: none
	// the record in which its agent first acknowledged it, or sent output; 0: not yet
	answered  int
	inTime    bool                           // the acknowledgement was handled before the limit expired, by any clock
	asked     bool                           // a CANCEL is required or allowed
	due       bool                           // the CANCEL is required
	stopped   bool                           // the cancel was acknowledged
	confirmed int                            // the record of that
	resume    []func(ack Message, open bool) // steps that wait for the turn to stop
	mayStop   bool                           // the source leaves open whether it is stopped
	stirred   int                            // the last record that left it open
	timeout   *owed
	said      []*output // outputs that may still be forwarded
	sent      []*output // outputs of its agent
	spoke     bool      // an output was forwarded
	crossed   bool      // another agent has sent output in it since
	implicit  bool      // a chunk was forwarded before INPUT_ACK
	accept    *owed     // its TURN_ACCEPTED; nil: not owed
	lost      bool      // in foreign traffic: no longer judged
	faulty    bool      // its agent has reported an ERROR
	speech    speech    // in foreign traffic: what its agent has said
	told      int       // the record of the first output forwarded
}

func (t *turn) live() bool { return t.status == routing || t.status == running }

// input is one user input.
type input struct {
	said     Message
	token    string
	to       map[string]bool // agents that it may be routed to
	clauses  []string        // broken if it is not routed
	shown    []string        // also shown kept if it is routed correctly
	astray   []string        // broken if it is routed to another agent
	optional bool
	forbid   []string // clauses broken if it is routed; nil: it may be
	why      string
	routed   *turn
	accepted Message
	twice    bool     // the bus delivered it through two subscriptions
	change   *owed    // the switch that must precede it
	mentions bool     // it mentions an agent
	altered  *owed    // in foreign traffic: what came may be this input with another payload
	absent   string   // the agent that it mentions, which was not in the session while it may be queued
	ended    []string // the clauses about turns that have ended before, after which the next input must be routed
	shift    []string // the clauses about what has made an agent active before, or must not have
}

// afterEnds returns the clauses by which an input must be routed although other turns have ended, by how they did.
func (m *Model) afterEnds() (clauses []string) {
	for _, t := range m.order {
		clauses = append(clauses, map[status][]string{failed: {"RT-079"}, cancelled: {"RT-103", "RT-104"},
			completed: {"RT-145"}}[t.status]...)
	}
	slices.Sort(clauses)
	return slices.Compact(clauses)
}

// userInput handles scenario A, and scenario B if an agent is mentioned.
func (m *Model) userInput(d Message) {
	in := &input{said: d, token: m.key(d.Payload)}
	in.ended, in.shift = m.afterEnds(), m.shift
	m.inputs = append(m.inputs, in)
	m.mayStop(func(*turn) bool { return true }) // RT-G05
	if form, who := mentioned(d); form != nil {
		in.mentions = true
		m.mention(in, who, form)
		return
	}
	if who := addressed(d); who != "" {
		m.perhapsMention(in, who)
		return
	}
	in.optional = m.busy() || m.watched && (d.N < m.switchedAt || m.alludes(d))
	in.clauses = []string{"RT-001", "RT-013", "RT-015", "RT-067", "RT-075"}
	if _, structured := d.Payload.(map[string]any); structured {
		in.clauses = append(in.clauses, "RT-030", "RT-068")
	}
	in.shown = []string{"RT-069"}
	in.astray = append([]string{"RT-014", "RT-015", "RT-048", "RT-069"}, m.shift...)
	who, sure := m.sole()
	switch {
	case m.watched && (d.N < m.switchedAt || m.alludes(d)):
		in.to = setOf(append(listOf(m.active), m.agents(maybe)...))
		m.activate(append(listOf(m.active), m.agents(maybe)...)...)
	case sure && who == "":
		m.withoutActive(in)
		return
	case sure && m.has(who) == present:
		in.to = setOf([]string{who})
		if m.invited(who) {
			in.shown = append(in.shown, "RT-049")
		}
	default:
		in.to, in.optional = setOf(append(listOf(m.active), m.agents(maybe)...)), true
	}
	m.awaitRoute(in)
}

// withoutActive handles an input while no agent is active: a default agent gets it, or SessionManager is asked
// (RT-070).
func (m *Model) withoutActive(in *input) {
	in.optional = in.optional || len(m.agents(present)) == 0
	in.to, in.clauses, in.astray = setOf(m.agents(maybe)), []string{"RT-070"}, []string{"RT-015", "RT-070"}
	in.shown = []string{"RT-071"}
	m.announceFor(m.queue(in), in.said, "", m.agents(maybe), nil, true)
	either := &obligation.Choice{}
	o := m.awaitRoute(in)
	o.Choice, o.Waits = either, true
	o.What = "the input routed to a default agent, or SessionManager asked for one"
	m.owe(RequestAdd, &owed{What: o.What, Cause: in.said, Clauses: []string{"RT-070"}, Optional: in.optional,
		Choice: either,
		Match:  func(p Message) bool { return p.is(vocab.Control, "", vocab.ToSystem) && p.Kind() != Switch },
		Met: func(p Message) {
			in.optional = true
			m.Member(len(in.to) == 0, p, []string{"RT-071"}, "a default agent of the orchestrator", "%s", p.Name())
			m.moves = append(m.moves,
				&move{add: true, agent: p.AgentID, asked: in.said, request: p, inputs: []*input{in}, again: true})
		}})
}

// busy reports whether a turn is in progress: the outcome of a second input is then left open (RT-G05).
func (m *Model) busy() bool {
	for _, t := range m.order {
		if t.live() || t.status == unclear {
			return true
		}
	}
	for _, in := range m.inputs[:max(0, len(m.inputs)-1)] {
		if in.routed == nil && in.forbid == nil {
			return true
		}
	}
	return false
}

// queue returns an input that may be queued, as a turn is in progress (RT-G05); nil for any other.
func (m *Model) queue(in *input) *input {
	if m.busy() {
		return in
	}
	return nil
}

// awaitRoute owes the routing of an input to its agent.
func (m *Model) awaitRoute(in *input) *owed {
	o := &owed{What: "the input on its way to agent " + words(listOf(in.to)), Cause: in.said,
		Clauses: slices.Concat(in.clauses, in.ended), Shown: append(slices.Clone(in.shown), "RT-030"), Optional: in.optional}
	if in.mentions {
		o.About.agent = listOf(in.to)[0]
	}
	o.Amiss = func() ([]string, string) { // it was refused
		if p, ok := m.InPlace(in.said.N, func(p Message) bool { return p.Kind() == Failure }); ok {
			return append(o.Clauses, in.shift...), fmt.Sprintf("%s (record %d)", p.Name(), p.N)
		}
		return nil, ""
	}
	o.Match = func(p Message) bool { return p.Kind() == Route && m.isOf(in, p) }
	o.Met = func(p Message) { m.route(in, p) }
	return m.owe(Route, o)
}

// isOf reports whether a routed input is the given one.
func (m *Model) isOf(in *input, p Message) bool {
	if in.routed != nil {
		return false
	}
	if tok := m.key(p.Payload); tok == in.token || tok != "" && !m.watched {
		return tok == in.token
	}
	return in.said.Turn != "" && p.Turn == in.said.Turn
}

// route judges the routing of an input (RT-075).
func (m *Model) route(in *input, p Message) {
	astray := in.astray
	if p.TargetID == "" {
		astray = []string{"RT-015", "RT-075"}
	}
	switch {
	case in.to[p.TargetID] || in.optional && m.has(p.TargetID) != absent:
		m.Keep(p, append(slices.Clone(in.astray), "RT-015")...)
	case m.watched && !in.mentions && p.TargetID != "":
		m.elsewhereRouted(in, p, astray)
	default:
		m.Fail(p, astray, "the input for agent "+words(listOf(in.to)), "it goes to %q", p.TargetID)
	}
	if in.change != nil && !in.change.Optional && in.change.Done {
		m.Keep(p, "RT-090")
	}
	m.Member(wjson.Equal(in.said.Payload, p.Payload), p, []string{"RT-068"},
		"the user's payload: "+clip(in.said.Payload), "%s", clip(p.Payload))
	marks, _ := in.said.Data[Marks].([]string)
	m.kept(in.said, p, marks, []string{"RT-068"})
	m.ids(in, p)
	if len(m.turns) > 0 && p.Turn != "" && in.said.Turn == "" {
		m.Check(m.turns[p.Turn] == nil, p, []string{"RT-052", "RT-072"}, "a turn_id of its own for each turn",
			"%q is that of an earlier turn", p.Turn)
	}
	if in.altered != nil {
		in.altered.Done = true
	}
	t := &turn{id: p.Turn, trace: p.Trace, agent: p.TargetID, in: in, routed: p}
	in.routed = t
	m.turns[t.id], m.bus.turns[t.id] = t, m.id
	m.order = append(m.order, t)
	m.Hold(p, "RT-077")
	if in.optional || in.forbid != nil {
		m.activate(append(listOf(m.active), p.TargetID)...)
	} else if a, sure := m.sole(); sure && a == "" || !sure {
		m.activate(append(listOf(m.active), p.TargetID)...) // the source leaves open whether a default agent stays active
	}
	for _, other := range m.inputs { // TURN_ACCEPTED may precede routing, in any order
		if other.accepted.N > 0 && other.accepted.Turn == t.id && t.id != "" && other.routed == nil {
			other.accepted, in.accepted = in.accepted, other.accepted
		}
	}
	if m.canceled.N > in.said.N { // the cancel came after the input
		m.stop(m.canceled, nil, true, func(of *turn) bool { return of == t })
	}
	m.awaitAccepted(t)
	m.awaitTimeout(t)
}

// mayStop marks turns that may be stopped, because the source does not say.
func (m *Model) mayStop(which func(*turn) bool) {
	for _, t := range m.order {
		if (t.live() || t.status == unclear) && which(t) {
			t.mayStop, t.stirred = true, m.Latest()
		}
	}
}

// kept checks that the sender's metadata is preserved (RT-068, RT-149), apart from exempt names.
func (m *Model) kept(of, p Message, exempt []string, clauses []string) {
	was, _ := of.Metadata.(map[string]any)
	is, _ := p.Metadata.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if slices.Contains(exempt, name) {
			continue
		}
		if got, there := is[name]; !there || !wjson.Equal(was[name], got) {
			m.Member(false, p, clauses, fmt.Sprintf("metadata.%s as the sender set it: %s", name, clip(was[name])), "%s",
				clip(got))
			return
		}
	}
	m.Member(true, p, clauses, "", "")
}

// ids checks that both ids are present, and unchanged if the sender set them (RT-072).
func (m *Model) ids(in *input, p Message) {
	for _, id := range []struct{ name, given, got string }{{"turn_id", in.said.Turn, p.Turn},
		{"trace_id", in.said.Trace, p.Trace}} {
		switch {
		case id.got == "":
			m.Member(false, p, []string{"RT-072", "RT-075", "RT-053"}, "a "+id.name+" with the input", "none")
		case id.given != "" && id.got != id.given:
			m.Member(false, p, []string{"RT-072"}, id.name+" "+id.given+", as it was given", "%q", id.got)
		default:
			m.Member(true, p, []string{"RT-072", "RT-075", "RT-053"}, "", "")
		}
	}
}

// started judges AGENT_STARTED, which is optional: it reports an acknowledgement (RT-081).
func (m *Model) started(p Message) {
	t := m.turns[p.Turn]
	if p.Subtype != vocab.AgentStarted || t == nil || p.Turn == "" {
		return
	}
	switch {
	case t.status == routing:
		m.Fail(p, []string{"RT-077"}, "AGENT_STARTED once the agent has acknowledged", "%s of turn %q before that", p.Name(),
			t.id)
	case t.status == failed:
		m.Fail(p, []string{"RT-079"}, "no further message of a turn that has timed out", "%s of turn %q", p.Name(), t.id)
	}
}

// inputAck handles an agent's INPUT_ACK.
func (m *Model) inputAck(d Message) {
	t := m.turns[d.Turn]
	if t != nil && t.status == failed && t.agent == d.From {
		m.Hold(d, "RT-079")
	}
	if t != nil && t.stopping.N > 0 && !t.stopped { // it is no CANCEL_ACK
		m.forbid(d, "it is no CANCEL_ACK", []Kind{Canceled}, "RT-059", "RT-100", "RT-102", "RT-105")
	}
	if t == nil || t.status != routing || t.agent != d.From {
		return
	}
	t.acked = d
	t.status = running
}

// strayInput judges an uncalled-for USER_INPUT to an agent.
func (m *Model) strayInput(p Message) {
	token := m.key(p.Payload)
	for _, r := range m.said {
		if r.token != "" && r.token == token {
			m.Fail(p, r.clauses, "no reaction to it: "+r.why, "the input goes to agent %q", p.TargetID)
			return
		}
	}
	for _, in := range m.inputs {
		switch {
		case in.token != token:
		case in.forbid != nil && in.routed == nil:
			m.Fail(p, in.forbid, "the input not routed: "+in.why, "it goes to agent %q", p.TargetID)
			return
		default:
			clauses := []string{"RT-075"}
			if in.twice {
				clauses = append(clauses, "RT-042")
			}
			m.Fail(p, clauses, "the input routed once", "it goes to agent %q a second time", p.TargetID)
			return
		}
	}
	if m.awaitsContext() {
		return
	}
	m.Fail(p, []string{"RT-015"}, "an input of this session's user",
		"USER_INPUT to agent %q that this session's user did not send: %s", p.TargetID, clip(p.Payload))
}

// repeated handles a message whose id was delivered before: the orchestrator must process it only once (RT-042).
func (m *Model) repeated(d Message) {
	if o := m.outputs[m.piece(d)]; o != nil && d.Event == vocab.AgentOutput {
		o.twice = true
	}
	for _, in := range m.inputs {
		if in.token != "" && in.token == m.key(d.Payload) {
			in.twice = true
		}
	}
	m.Hold(d, "RT-042")
}

// agentError handles an ERROR of any party: the frontend must be told (RT-011). What happens to its turn is left open
// (RT-G06).
func (m *Model) agentError(d Message) {
	token := Token(d.Payload)
	t, clauses := m.turns[d.Turn], []string{"RT-011"}
	if d.From != Manager {
		clauses = append(append(clauses, "RT-040"), m.broadcast(d)...)
	}
	m.owe(Failure, &owed{What: "the ERROR to the frontend", Cause: d, Clauses: clauses,
		Optional: d.From != Frontend && d.From != Manager && d.From != Logger && m.has(d.From) != present ||
			m.watched && (d.From == Frontend || d.Turn != "" && (t == nil || !t.live() || t.agent != d.From)),
		Match: func(p Message) bool {
			return p.is(vocab.Error, "", vocab.ToFrontend) &&
				(m.watched || token != "" && Token(p.Payload) == token || d.Turn != "" && p.Turn == d.Turn ||
					Token(p.Payload) == "" && p.Turn == "")
		}})
	if m.watched {
		m.doubtHandovers()
	}
	if t != nil && t.live() && t.agent == d.From {
		t.status, t.faulty = unclear, true
		m.passOn(t)
		for _, goOn := range t.resume { // it may have stopped: waiting steps may continue
			goOn(d, true)
		}
	}
	m.mayStop(func(t *turn) bool { return t.agent == d.From })
}
