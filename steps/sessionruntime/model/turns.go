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
	answered int
	inTime   bool                           // the acknowledgement was handled before the limit expired, by any clock
	asked    bool                           // a CANCEL is required or allowed
	due      bool                           // the CANCEL is required
	stopped  bool                           // the cancel was acknowledged
	resume   []func(ack Message, open bool) // steps that wait for the turn to stop
	mayStop  bool                           // the source leaves open whether it is stopped
	stirred  int                            // the last record that left it open
	timeout  *owed
	said     []*output // outputs that may still be forwarded
	implicit bool      // a chunk was forwarded before INPUT_ACK
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
	twice    bool   // the bus delivered it through two subscriptions
	change   *owed  // the switch that must precede it
	mentions bool   // it mentions an agent
	absent   string // the agent that it mentions, which was not in the session while it may be queued
}

// userInput handles scenario A, and scenario B if an agent is mentioned.
func (m *Model) userInput(d Message) {
	in := &input{said: d, token: Token(d.Payload)}
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
	in.optional = m.busy()
	in.clauses, in.shown, in.astray = []string{"RT-001", "RT-015", "RT-075"}, []string{"RT-069"},
		[]string{"RT-015", "RT-069"}
	who, sure := m.sole()
	switch {
	case sure && who == "":
		m.withoutActive(in)
		return
	case sure && m.presence[who] == present:
		in.to = setOf([]string{who})
	default:
		in.to, in.optional = setOf(append(listOf(m.active), m.agents(maybe)...)), true
	}
	m.awaitRoute(in)
}

// withoutActive handles an input while no agent is active: a default agent gets it, or SessionManager is asked
// (RT-070).
func (m *Model) withoutActive(in *input) {
	in.optional = in.optional || len(m.agents(present)) == 0
	in.to, in.clauses, in.shown, in.astray = setOf(m.agents(maybe)), []string{"RT-070"}, nil, []string{"RT-015", "RT-070"}
	m.announceFor(m.queue(in), in.said, "", m.agents(maybe), nil, true)
	either := &obligation.Choice{}
	o := m.awaitRoute(in)
	o.Choice, o.Waits = either, true
	o.What = "the input routed to a default agent, or SessionManager asked for one"
	m.Owe(&owed{What: o.What, Cause: in.said, Clauses: []string{"RT-070"}, Optional: in.optional, Choice: either,
		Match: func(p Message) bool { return p.is(vocab.Control, "", vocab.ToSystem) && p.Kind() != Switch },
		Met: func(p Message) {
			in.optional = true
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
	o := &owed{What: "the input on its way to agent " + words(listOf(in.to)), Cause: in.said, Clauses: in.clauses,
		Shown: in.shown, Optional: in.optional}
	o.Match = func(p Message) bool { return p.Kind() == Route && m.isOf(in, p) }
	o.Met = func(p Message) { m.route(in, p) }
	return m.Owe(o)
}

// isOf reports whether a routed input is the given one.
func (m *Model) isOf(in *input, p Message) bool {
	if in.routed != nil {
		return false
	}
	if tok := Token(p.Payload); tok != "" {
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
	if in.to[p.TargetID] || in.optional && m.presence[p.TargetID] != absent {
		m.Keep(p, append([]string{"RT-015"}, in.astray...)...)
	} else {
		m.Fail(p, astray, "the input for agent "+words(listOf(in.to)), "it goes to %q", p.TargetID)
	}
	if in.change != nil && !in.change.Optional {
		m.Check(in.change.Done, p, []string{"RT-090"}, "SWITCH_AGENT before the input is routed",
			"the input is routed before it")
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
	t := &turn{id: p.Turn, trace: p.Trace, agent: p.TargetID, in: in, routed: p}
	in.routed = t
	m.turns[t.id] = t
	m.order = append(m.order, t)
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

// awaitTimeout expects ROUTE_TIMEOUT for a turn that is not acknowledged (RT-078).
func (m *Model) awaitTimeout(t *turn) {
	t.timeout = m.Owe(&owed{What: "ROUTE_TIMEOUT for a turn that is not acknowledged", Cause: t.routed, Timed: true,
		About: about{turn: t}, Like: kind(RouteTimeout),
		Match: kindOf(RouteTimeout, func(p Message) bool { return p.Turn == t.id || p.Turn == "" && m.waiting() == t }),
		Met:   func(p Message) { m.timedOut(t, p) }})
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
	clauses, came := []string{"RT-077", "RT-080"}, []string{"RT-077", "RT-078"}
	if t.in.mentions {
		clauses, came = append(clauses, "RT-094"), append(came, "RT-094")
	}
	switch {
	case t.implicit:
		m.Fail(p, []string{"RT-169"}, "no ROUTE_TIMEOUT once a chunk was forwarded, which is an implicit start",
			"%s for turn %q", p.Name(), t.id)
	case t.acked.N > 0 && !m.sure(t): // undecided: the two clocks may differ
	case t.status == running, t.status == completed, t.status == cancelled:
		m.Fail(p, clauses, "no ROUTE_TIMEOUT for a turn that its agent has acknowledged", "%s for turn %q", p.Name(), t.id)
	case m.limits.InputAck > 0 && t.status == routing && p.At-t.in.said.At < m.limits.InputAck*9/10:
		m.Fail(p, []string{"RT-077"}, fmt.Sprintf("INPUT_ACK awaited for %v", m.limits.InputAck), "ROUTE_TIMEOUT after %v",
			(p.At - t.in.said.At).Round(time.Millisecond))
	default:
		m.Keep(p, came...)
	}
	t.status = failed
	m.ends(t)
}

// leisure is a limit far longer than any stall of the machine.
const leisure = 10 * time.Second

// sure reports whether a turn was acknowledged in time by any clock: the acknowledgement was handled before the limit
// expired, counted from the delivery of the input.
func (m *Model) sure(t *turn) bool {
	return t.acked.N > 0 && (t.inTime || m.limits.InputAck == 0 || m.limits.InputAck > leisure)
}

// inputAck handles an agent's INPUT_ACK.
func (m *Model) inputAck(d Message) {
	t := m.turns[d.Turn]
	if t == nil || t.status != routing || t.agent != d.From {
		return
	}
	t.acked = d
	t.status = running
}

func (m *Model) strayTimeout(p Message) {
	m.Fail(p, []string{"RT-078"}, "one ROUTE_TIMEOUT for each turn that is not acknowledged",
		"%s for turn %q a second time, or for no turn", p.Name(), p.Turn)
}

// strayInput judges an uncalled-for USER_INPUT to an agent.
func (m *Model) strayInput(p Message) {
	token := Token(p.Payload)
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
	if o := m.outputs[PieceToken(d)]; o != nil && d.Event == vocab.AgentOutput {
		o.twice = true
	}
	for _, in := range m.inputs {
		if in.token != "" && in.token == Token(d.Payload) {
			in.twice = true
		}
	}
	m.Hold(d, "RT-042")
}

// agentError handles an ERROR of any party: the frontend must be told (RT-011). What happens to its turn is left open
// (RT-G06).
func (m *Model) agentError(d Message) {
	token := Token(d.Payload)
	m.Owe(&owed{What: "the ERROR to the frontend", Cause: d, Clauses: []string{"RT-011", "RT-040"},
		Optional: d.From != Frontend && d.From != Manager && d.From != Logger && m.presence[d.From] != present,
		Match: func(p Message) bool {
			return p.is(vocab.Error, "", vocab.ToFrontend) &&
				(token != "" && Token(p.Payload) == token || d.Turn != "" && p.Turn == d.Turn || Token(p.Payload) == "" &&
					p.Turn == "")
		}})
	if t := m.turns[d.Turn]; t != nil && t.live() && t.agent == d.From {
		t.status = unclear
		m.passOn(t)
		for _, goOn := range t.resume { // it may have stopped: waiting steps may continue
			goOn(d, true)
		}
	}
	m.mayStop(func(t *turn) bool { return t.agent == d.From })
}
