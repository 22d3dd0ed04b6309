package invariants

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/internal/cut"
	vocab "parley/protocol/sessionruntime"
	wjson "parley/wire/json"
)

// Limits are those that the orchestrator was asked for at set-up, or has of itself; 0 is unknown.
type Limits struct{ InputAck, CancelAck time.Duration }

// status is where a turn stands (2.2).
type status int

const (
	routing status = iota
	running
	completed
	failed
	cancelled
	unclear // the source leaves open what has become of it
)

// turn is one input's way through an agent.
type turn struct {
	id, trace, agent string
	in               *input
	routed           Message
	status           status
	speaking         bool    // a chunk has come, and neither final nor ack
	begun            bool    // the same, and it may have been asked to stop meanwhile
	shared           bool    // another turn has spoken meanwhile
	passed           bool    // and it is left open whether this one is known to speak
	stopping         Message // the CANCEL that was published; N 0: none
	acked            Message // INPUT_ACK of its agent; N 0: none
	// the record by which its agent first acknowledged it, or spoke in it; 0: not yet
	answered int
	inTime   bool                           // it was handled before the limit was over, by any clock
	asked    bool                           // somebody wants it stopped: a CANCEL has to come, or may
	due      bool                           // it has to
	stopped  bool                           // it was acknowledged
	resume   []func(ack Message, open bool) // what waits for the acknowledgement
	mayStop  bool                           // the source leaves open whether it is stopped
	stirred  int                            // the record that left it open last
	timeout  *owed
	said     []*output // what may be forwarded, and has not been
	implicit bool      // a chunk was forwarded before any acknowledgement
}

func (t *turn) live() bool { return t.status == routing || t.status == running }

// input is what a user said.
type input struct {
	said     Message
	token    string
	to       map[string]bool // agents that it may go to
	clauses  []string        // broken where it goes nowhere
	shown    []string        // shown as well where it goes where it has to
	astray   []string        // broken where it goes elsewhere
	optional bool
	forbid   []string // clauses that are broken when it is routed; nil: it may be
	why      string
	routed   *turn
	accepted Message
	twice    bool  // the bus has delivered it by two subscriptions
	change   *owed // the switch that comes before it
	mentions bool  // an agent
}

// userInput is scenario A, and B where an agent is mentioned.
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

// withoutActive is an input while no agent is active: the default one gets it, or SessionManager is asked (RT-070).
func (m *Model) withoutActive(in *input) {
	in.optional = in.optional || len(m.agents(present)) == 0
	in.to, in.clauses, in.shown, in.astray = setOf(m.agents(maybe)), []string{"RT-070"}, nil, []string{"RT-015", "RT-070"}
	m.announce(in.said, "", m.agents(maybe), nil, true)
	either := &choice{}
	o := m.awaitRoute(in)
	o.choice, o.waits = either, true
	o.what = "the input routed to a default agent, or SessionManager asked for one"
	m.owe(&owed{what: o.what, cause: in.said, clauses: []string{"RT-070"}, optional: in.optional, choice: either,
		match: func(p Message) bool { return p.is(vocab.Control, "", vocab.ToSystem) && p.Kind() != Switch },
		met: func(p Message) {
			in.optional = true
			m.moves = append(m.moves,
				&move{add: true, agent: p.AgentID, asked: in.said, request: p, inputs: []*input{in}, again: true})
		}})
}

// busy reports whether a turn is under way: what comes of a second input then is left open (RT-G05).
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

// awaitRoute owes the input to its agent, and TURN_ACCEPTED to the frontend.
func (m *Model) awaitRoute(in *input) *owed {
	o := &owed{what: "the input on its way to agent " + words(listOf(in.to)), cause: in.said, clauses: in.clauses,
		shown: in.shown, optional: in.optional}
	o.match = func(p Message) bool { return p.Kind() == Route && m.isOf(in, p) }
	o.met = func(p Message) { m.route(in, p) }
	return m.owe(o)
}

// isOf reports whether a routed input is one that was said.
func (m *Model) isOf(in *input, p Message) bool {
	if in.routed != nil {
		return false
	}
	if tok := Token(p.Payload); tok != "" {
		return tok == in.token
	}
	return in.said.Turn != "" && p.Turn == in.said.Turn
}

// route is the input on its way (RT-075).
func (m *Model) route(in *input, p Message) {
	astray := in.astray
	if p.TargetID == "" {
		astray = []string{"RT-015", "RT-075"}
	}
	if in.to[p.TargetID] || in.optional && m.presence[p.TargetID] != absent {
		m.keep(p, append([]string{"RT-015"}, in.astray...)...)
	} else {
		m.fail(p, astray, "the input for agent "+words(listOf(in.to)), "it goes to %q", p.TargetID)
	}
	if in.change != nil && !in.change.optional {
		m.check(in.change.done, p, []string{"RT-090"}, "SWITCH_AGENT before the input is routed",
			"the input is routed before it")
	}
	m.member(wjson.Equal(in.said.Payload, p.Payload), p, []string{"RT-068"},
		"the payload as the user's: "+clip(in.said.Payload), "%s", clip(p.Payload))
	marks, _ := in.said.Data[Marks].([]string)
	m.kept(in.said, p, marks, []string{"RT-068"})
	m.ids(in, p)
	if len(m.turns) > 0 && p.Turn != "" && in.said.Turn == "" {
		m.check(m.turns[p.Turn] == nil, p, []string{"RT-052", "RT-072"}, "a turn_id of its own for each turn",
			"%q is that of an earlier turn", p.Turn)
	}
	t := &turn{id: p.Turn, trace: p.Trace, agent: p.TargetID, in: in, routed: p}
	in.routed = t
	m.turns[t.id] = t
	m.order = append(m.order, t)
	if in.optional || in.forbid != nil {
		m.activate(append(listOf(m.active), p.TargetID)...)
	} else if a, sure := m.sole(); sure && a == "" || !sure {
		m.activate(append(listOf(m.active), p.TargetID)...) // whether a default agent stays active is left open
	}
	for _, other := range m.inputs { // told before they were routed, in whatever order
		if other.accepted.N > 0 && other.accepted.Turn == t.id && t.id != "" && other.routed == nil {
			other.accepted, in.accepted = in.accepted, other.accepted
		}
	}
	if m.canceled.N > in.said.N { // the cancel came behind the input
		m.stop(m.canceled, nil, true, func(of *turn) bool { return of == t })
	}
	m.awaitAccepted(t)
	m.awaitTimeout(t)
}

// awaitAccepted owes TURN_ACCEPTED to the frontend, where it has not come first.
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
		match: kindOf(Accepted, func(a Message) bool { return a.Turn == t.id || a.Turn == "" }),
		met:   func(a Message) { in.accepted = a; m.agree(in) },
		late: func(a Message) []string {
			if a.Turn == t.id && t.answered == 0 { // before any acknowledgement, which is all that "at once" says
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
		m.fail(p, []string{"RT-076", "RT-009"}, "one TURN_ACCEPTED for each turn", "%s for turn %q once more, or for no turn",
			p.Kind(), p.Turn)
	}
}

// acceptedFirst reports whether a TURN_ACCEPTED is that of an input which is yet to be routed: either may come first
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

// mayStop notes turns that may be stopped, as the source says nothing of them.
func (m *Model) mayStop(which func(*turn) bool) {
	for _, t := range m.order {
		if (t.live() || t.status == unclear) && which(t) {
			t.mayStop, t.stirred = true, m.latest
		}
	}
}

// kept: what the sender has put into metadata stands there (RT-068, RT-149), apart from names that are exempt.
func (m *Model) kept(of, p Message, exempt []string, clauses []string) {
	was, _ := of.Metadata.(map[string]any)
	is, _ := p.Metadata.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if slices.Contains(exempt, name) {
			continue
		}
		if got, there := is[name]; !there || !wjson.Equal(was[name], got) {
			m.member(false, p, clauses, fmt.Sprintf("metadata.%s as the sender has set it: %s", name, clip(was[name])), "%s",
				clip(got))
			return
		}
	}
	m.member(true, p, clauses, "", "")
}

// ids: both are there, and kept where they were given (RT-072).
func (m *Model) ids(in *input, p Message) {
	for _, id := range []struct{ name, given, got string }{{"turn_id", in.said.Turn, p.Turn},
		{"trace_id", in.said.Trace, p.Trace}} {
		switch {
		case id.got == "":
			m.member(false, p, []string{"RT-072", "RT-075", "RT-053"}, "a "+id.name+" with the input", "none")
		case id.given != "" && id.got != id.given:
			m.member(false, p, []string{"RT-072"}, id.name+" "+id.given+", as it was given", "%q", id.got)
		default:
			m.member(true, p, []string{"RT-072", "RT-075", "RT-053"}, "", "")
		}
	}
}

// agree: TURN_ACCEPTED speaks of the turn that was routed (RT-076).
func (m *Model) agree(in *input) {
	t, a := in.routed, in.accepted
	m.member(a.Turn == t.id && a.Trace == t.trace, a, []string{"RT-076"},
		fmt.Sprintf("turn_id %q and trace_id %q", t.id, t.trace), "%q and %q", a.Turn, a.Trace)
	m.member(a.TargetAgent == t.agent, a, []string{"RT-076", "RT-055"}, "target_agent "+t.agent, "%q", a.TargetAgent)
}

// started judges AGENT_STARTED, which may be absent: it tells of an acknowledgement (RT-081).
func (m *Model) started(p Message) {
	t := m.turns[p.Turn]
	if p.Subtype != vocab.AgentStarted || t == nil || p.Turn == "" {
		return
	}
	switch {
	case t.status == routing:
		m.fail(p, []string{"RT-077"}, "AGENT_STARTED once the agent has acknowledged", "%s of turn %q before that", p.Name(),
			t.id)
	case t.status == failed:
		m.fail(p, []string{"RT-079"}, "nothing more of a turn that has timed out", "%s of turn %q", p.Name(), t.id)
	}
}

// awaitTimeout is what comes of a turn that nobody acknowledges (RT-078).
func (m *Model) awaitTimeout(t *turn) {
	t.timeout = m.owe(&owed{what: "ROUTE_TIMEOUT for a turn that nobody acknowledges", cause: t.routed, timed: true,
		turn: t, of: RouteTimeout,
		match: kindOf(RouteTimeout, func(p Message) bool { return p.Turn == t.id || p.Turn == "" && m.waiting() == t }),
		met:   func(p Message) { m.timedOut(t, p) }})
}

// waiting is the only turn that waits for its acknowledgement; nil where there is none, or more than one.
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
		m.fail(p, []string{"RT-169"}, "no ROUTE_TIMEOUT once a chunk was forwarded, which is an implicit start",
			"%s for turn %q", p.Name(), t.id)
	case t.acked.N > 0 && !m.sure(t): // whose clock was first?
	case t.status == running, t.status == completed, t.status == cancelled:
		m.fail(p, clauses, "no ROUTE_TIMEOUT for a turn that its agent has acknowledged", "%s for turn %q", p.Name(), t.id)
	case m.limits.InputAck > 0 && t.status == routing && p.At-t.in.said.At < m.limits.InputAck*9/10:
		m.fail(p, []string{"RT-077"}, fmt.Sprintf("INPUT_ACK awaited for %v", m.limits.InputAck), "ROUTE_TIMEOUT after %v",
			(p.At - t.in.said.At).Round(time.Millisecond))
	default:
		m.keep(p, came...)
	}
	t.status = failed
	m.ends(t)
}

// leisure is a limit that no pause of a machine comes near.
const leisure = 10 * time.Second

// sure reports whether a turn was acknowledged in time: by whatever clock, as that was handled before the limit was
// over since the input was delivered.
func (m *Model) sure(t *turn) bool {
	return t.acked.N > 0 && (t.inTime || m.limits.InputAck == 0 || m.limits.InputAck > leisure)
}

// inputAck is an agent's INPUT_ACK.
func (m *Model) inputAck(d Message) {
	t := m.turns[d.Turn]
	if t == nil || t.status != routing || t.agent != d.From {
		return
	}
	t.acked = d
	t.status = running
}

func (m *Model) strayTimeout(p Message) {
	m.fail(p, []string{"RT-078"}, "one ROUTE_TIMEOUT for each turn that nobody acknowledges",
		"%s for turn %q once more, or for no turn", p.Name(), p.Turn)
}

// strayInput is an input that nothing owes to an agent.
func (m *Model) strayInput(p Message) {
	token := Token(p.Payload)
	for _, r := range m.said {
		if r.token != "" && r.token == token {
			m.fail(p, r.clauses, "nothing done about it: "+r.why, "the input goes to agent %q", p.TargetID)
			return
		}
	}
	for _, in := range m.inputs {
		switch {
		case in.token != token:
		case in.forbid != nil && in.routed == nil:
			m.fail(p, in.forbid, "the input not routed: "+in.why, "it goes to agent %q", p.TargetID)
			return
		default:
			clauses := []string{"RT-075"}
			if in.twice {
				clauses = append(clauses, "RT-042")
			}
			m.fail(p, clauses, "the input routed once", "it goes to agent %q once more", p.TargetID)
			return
		}
	}
	if m.awaitsContext() {
		return
	}
	m.fail(p, []string{"RT-015"}, "what the user of this session has said",
		"USER_INPUT to agent %q that nobody has said here: %s", p.TargetID, clip(p.Payload))
}

// repeated is a message whose id was delivered before: it is handled once (RT-042).
func (m *Model) repeated(d Message) {
	if o := m.outputs[Token(d.Payload)]; o != nil && d.Event == vocab.AgentOutput {
		o.twice = true
	}
	for _, in := range m.inputs {
		if in.token != "" && in.token == Token(d.Payload) {
			in.twice = true
		}
	}
	m.hold(d, "RT-042")
}

// agentError is an ERROR of any party: the frontend is told (RT-011). What becomes of its turn is left open (RT-G06).
func (m *Model) agentError(d Message) {
	token := Token(d.Payload)
	m.owe(&owed{what: "the ERROR to the frontend", cause: d, clauses: []string{"RT-011", "RT-040"},
		optional: d.From != Frontend && d.From != Manager && d.From != Logger && m.presence[d.From] != present,
		match: func(p Message) bool {
			return p.is(vocab.Error, "", vocab.ToFrontend) &&
				(token != "" && Token(p.Payload) == token || d.Turn != "" && p.Turn == d.Turn || Token(p.Payload) == "" &&
					p.Turn == "")
		}})
	if t := m.turns[d.Turn]; t != nil && t.live() && t.agent == d.From {
		t.status = unclear
		m.passOn(t)
	}
	m.mayStop(func(t *turn) bool { return t.agent == d.From })
}

func clip(v any) string {
	return cut.Head(wjson.Compact(v), 200)
}
