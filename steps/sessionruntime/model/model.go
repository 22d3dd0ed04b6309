package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
)

// Model tracks what one session's orchestrator must, may and must not do, given what was delivered to it and what it
// published. It is fed in transcript order. Where the source leaves a choice, the model follows what was published.
// Findings holds the results.
//
// The orchestrator handles messages in the order of delivery, but nothing says how soon: what it owes is due by the
// next fence.
type Model struct {
	book
	foreign
	id        string
	limits    Limits
	presence  map[string]presence
	active    map[string]bool // the agents that may be active; "" is none
	seen      map[string]bool // ids of delivered messages
	inputs    []*input
	turns     map[string]*turn
	order     []*turn
	outputs   map[string]*output // by token
	moves     []*move            // removals and invitations
	handovers []*handover
	requests  []*request
	said      []remark // messages that must have no effect, and why
	unsettled []unsettled
	closing   *request // waits until no agent is speaking
	ignored   []ignored
	answers   int     // session receipts from SessionManager so far
	greeting  *owed   // the optional announcement of the initial agent
	unnamed   int     // session receipts matched to an EVENT of another name, which may have meant something else
	busySince Message // the latest SWITCH_AGENT of the frontend while a turn was in progress
	canceled  Message // the user's last cancel

	bus     *shared         // what is known of all sessions
	shift   []string        // the clauses about the last message that has made an agent active, or must not have
	left    map[string]bool // agents that SessionManager has removed
	results map[Kind]bool   // kinds of results of moves that the frontend was told of
}

// shared is what the models of one bus know in common.
type shared struct {
	strict bool              // judge by the strict reading where the documents contradict each other
	told   map[string]bool   // the messages of agents that were delivered on SYSTEM, by event and subtype
	turns  map[string]string // turn_id → session
	tally  obligation.Tally
	duties obligation.Duties // nil: not collected
}

func newShared() *shared {
	return &shared{told: map[string]bool{}, turns: map[string]string{}, tally: obligation.Tally{}}
}

// hear notes a message of an agent that was delivered on SYSTEM.
func (b *shared) hear(d Message) {
	if d.From != Frontend && d.From != Manager && d.From != Logger && d.From != Self && d.Target != vocab.ToBroadcast {
		b.told[d.Event+" "+d.Subtype] = true
	}
}

// broadcast returns the clauses about an agent's message on BROADCAST, if one of its kind was sent elsewhere before.
func (m *Model) broadcast(d Message) []string {
	if d.Target == vocab.ToBroadcast && m.bus.told[d.Event+" "+d.Subtype] {
		return []string{"RT-042", "RT-168"}
	}
	return nil
}

// shifts notes what an act says about the active agent: the clauses that a later input shows kept or broken.
func (m *Model) shifts(d Message) {
	form, who := mentioned(d)
	observed := d.Target == vocab.ToBroadcast && (d.From == Frontend || d.From == Manager || d.From == Logger)
	switch name := d.Subtype; {
	case observed && d.Event != vocab.UserInput:
		m.shift = []string{"RT-028"}
	case observed:
	case d.Event == vocab.UserInput && form == nil:
	case d.Event == vocab.UserInput && m.has(who) != present: // the agent that it names has not become active
		m.shift = []string{"RT-048", "RT-049", "RT-086"}
	case d.Event == vocab.UserInput:
		m.shift = []string{"RT-063", "RT-064", "RT-088"}
	case d.Event != vocab.Control:
	case name == vocab.SwitchAgent:
		m.shift = []string{"RT-063", "RT-064"}
	case name == vocab.HandoverRequest:
		m.shift = []string{"RT-133"}
	case name == vocab.HandoverConfirm:
		m.shift = []string{"RT-063", "RT-064", "RT-134"}
	case name == vocab.HandoverReject:
		m.shift = []string{"RT-133", "RT-137"}
	case name == vocab.RemoveAgentDone:
		m.shift = []string{"RT-063", "RT-064", "RT-112"}
	case d.From == Manager:
		m.shift = nil
	}
}

// presence says whether an agent is in the session.
type presence int

const (
	absent presence = iota
	maybe           // the source leaves it open
	present
)

// remark is a message that must have no consequences.
type remark struct {
	token, why string
	clauses    []string
}

func newModel(bus *shared, id string, limits Limits, agents []string, active string, at Message) *Model {
	m := &Model{id: id, limits: limits, presence: map[string]presence{},
		active: map[string]bool{active: true}, seen: map[string]bool{},
		turns: map[string]*turn{}, outputs: map[string]*output{}, bus: bus, left: map[string]bool{},
		results: map[Kind]bool{}}
	m.book.Model, m.Rate, m.Name, m.Tally = fmt.Sprintf("%s/%d", id, at.N), fits, named, bus.tally
	m.Duties = bus.duties
	m.arrived = map[string]int{}
	for _, a := range agents {
		m.presence[a] = present
	}
	if active != "" {
		m.greeting = m.announce(at, "", []string{active}, nil, true) // an extra announcement is allowed
	}
	return m
}

// kind matches messages of a kind.
func kind(k Kind) func(Message) bool { return func(p Message) bool { return p.Kind() == k } }

// kindOf matches messages of a kind that satisfy a condition.
func kindOf(k Kind, and func(Message) bool) func(Message) bool {
	return func(p Message) bool { return p.Kind() == k && and(p) }
}

// Delivered takes in a message delivered to the orchestrator.
func (m *Model) Delivered(d Message) {
	if d.ID != "" && m.seen[d.ID] { // through a second subscription (RT-042, RT-175)
		m.repeated(d)
		return
	}
	m.seen[d.ID] = true
	m.book.Delivered(d)
	defer m.shifts(d)
	defer m.bus.hear(d)
	if m.greeting != nil {
		m.greeting.Done = true
	}
	if d.From == Self {
		m.forbid(d, "it is the orchestrator's own message, which the bus returns", []Kind{d.Kind()}, "RT-175")
		return
	}
	if d.Target == vocab.ToBroadcast && (d.From == Frontend || d.From == Manager || d.From == Logger) {
		m.observed(d)
		return
	}
	m.excuse(d)
	switch d.From {
	case Frontend:
		m.fromFrontend(d)
	case Manager:
		m.fromManager(d)
	case Logger:
	default:
		m.fromAgent(d)
	}
	if d.Event == vocab.Error {
		m.agentError(d)
	}
}

// ignored is a message that must have no consequences up to the next fence.
type ignored struct {
	what    Message
	kinds   []Kind
	why     string
	clauses []string
}

// forbid records that clauses forbid messages of some kinds in reaction to a message, up to the next fence.
func (m *Model) forbid(d Message, why string, kinds []Kind, clauses ...string) {
	m.Hold(d, clauses...)
	m.ignored = append(m.ignored, ignored{what: d, kinds: kinds, why: why, clauses: clauses})
}

// consequences lists the consequences of requests of the frontend and receipts of SessionManager.
var consequences = map[string][]Kind{
	vocab.Cancel: {CancelSent}, vocab.Interrupt: {CancelSent}, vocab.RemoveAgent: {RequestRemove, CancelSent, Switch},
	vocab.InviteAgent: {RequestAdd},
	vocab.SwitchAgent: {Switch}, vocab.HandoverConfirm: {Switch, Context}, vocab.SessionOpen: {RequestOpen},
	vocab.SessionClose: {RequestClose, CancelSent},
	vocab.AddAgentDone: {Added, Switch}, vocab.RemoveAgentDone: {Removed}, vocab.RemoveAgentFailed: {RemoveFailed},
	vocab.SessionOpened: {Opened}, vocab.SessionClosed: {Closed},
}

// observed handles a message on BROADCAST that no agent sent: it is for observation only (RT-028).
func (m *Model) observed(d Message) {
	m.forbid(d, "it was on BROADCAST, which is for observation only", consequences[d.Subtype], "RT-028")
	m.said = append(m.said,
		remark{token: m.key(d.Payload), why: "it was on BROADCAST, which is for observation only",
			clauses: []string{"RT-028"}})
}

func (m *Model) fromFrontend(d Message) {
	switch {
	case d.Event == vocab.UserInput:
		m.userInput(d)
	case d.Event != vocab.Control:
	case d.Subtype == vocab.Cancel || d.Subtype == vocab.Interrupt:
		m.cancel(d)
	case d.Subtype == vocab.RemoveAgent:
		m.remove(d)
	case d.Subtype == vocab.InviteAgent:
		m.invite(d)
	case d.Subtype == vocab.SwitchAgent:
		m.switchTo(d)
	case d.Subtype == vocab.HandoverConfirm || d.Subtype == vocab.HandoverReject:
		m.decide(d)
	case d.Subtype == vocab.SessionOpen || d.Subtype == vocab.SessionClose:
		m.session(d)
	}
}

func (m *Model) fromManager(d Message) {
	if d.Event != vocab.Control {
		return
	}
	switch d.Subtype {
	case vocab.AddAgentDone, vocab.AddAgentFailed, vocab.RemoveAgentDone, vocab.RemoveAgentFailed:
		m.moved(d)
	case vocab.SessionOpened, vocab.SessionClosed, vocab.SessionFailed:
		m.answered(d)
	}
}

func (m *Model) fromAgent(d Message) {
	if t := m.turns[d.Turn]; t != nil && t.agent == d.From && t.answered == 0 &&
		(d.is(vocab.Control, vocab.InputAck, "") || d.is(vocab.AgentOutput, "", "")) {
		t.answered = d.N
	}
	switch {
	case d.is(vocab.AgentOutput, "", ""):
		if t := m.turns[d.Turn]; m.watched && t != nil && t.agent == d.From {
			t.speech.add(d)
		}
		m.output(d)
	case d.is(vocab.Control, vocab.InputAck, ""):
		m.inputAck(d)
	case d.is(vocab.Control, vocab.CancelAck, ""), d.is(vocab.Event, vocab.StreamStopped, ""):
		m.cancelAck(d)
	case d.is(vocab.Control, vocab.HandoverRequest, ""):
		m.handover(d)
	}
}

// Fenced records that everything delivered before record before has been handled. The fence was answered by record
// at, at time now.
func (m *Model) Fenced(before, at int, now time.Duration) {
	for _, t := range m.order {
		if t.acked.N > 0 && t.acked.N < before && now-t.in.said.At < m.limits.InputAck {
			t.inTime = true
		}
	}
	m.settle(before)
	m.ignored = slices.DeleteFunc(m.ignored, func(g ignored) bool { return g.what.N < before })
	m.Fence(before, at, now)
}

// uncalledFor judges a message that was published without a cause.
func (m *Model) uncalledFor(p Message) {
	if m.Loose && p.Kind() != Output {
		return
	}
	for _, g := range slices.Backward(m.ignored) {
		if slices.Contains(g.kinds, p.Kind()) {
			m.Fail(p, g.clauses, "no reaction to "+g.what.Name()+": "+g.why, "%s", p.Name())
			return
		}
	}
	if judge, ok := strays[p.Kind()]; ok {
		judge(m, p)
	}
}

// strays judge uncalled-for messages by kind.
var strays = map[Kind]func(m *Model, p Message){
	Route: (*Model).strayInput, Accepted: (*Model).strayAccepted, RouteTimeout: (*Model).strayTimeout,
	Output: (*Model).strayOutput, CancelSent: (*Model).strayCancel, Canceled: (*Model).strayCanceled,
	Switch: (*Model).straySwitch, RequestAdd: (*Model).strayRequest, RequestRemove: (*Model).strayRequest,
	RequestOpen: (*Model).straySession, RequestClose: (*Model).straySession, Opened: (*Model).strayResult,
	Closed: (*Model).strayResult, Added: (*Model).strayMove, Removed: (*Model).strayMove, RemoveFailed: (*Model).strayMove,
	Prompt: func(m *Model, p Message) {
		m.Fail(p, []string{"RT-131"}, "one HANDOVER_UI_PROMPT for each HANDOVER_REQUEST", "%s without one, or a second time",
			p.Name())
	},
	Context: (*Model).strayContext, Notice: (*Model).started,
}

// sole returns the active agent, and reports whether it is certain.
func (m *Model) sole() (string, bool) {
	if len(m.active) != 1 {
		return "", false
	}
	for a := range m.active {
		return a, true
	}
	return "", false
}

// agents lists the agents with at least the given presence.
func (m *Model) agents(least presence) []string {
	var out []string
	for a, p := range m.presence {
		if p >= least {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}

func (m *Model) activate(agents ...string) {
	m.active = map[string]bool{}
	for _, a := range agents {
		m.active[a] = true
	}
}

func words(agents []string) string {
	if len(agents) == 0 {
		return "nobody"
	}
	return strings.Join(agents, " or ")
}

func setOf(all []string) map[string]bool {
	out := map[string]bool{}
	for _, a := range all {
		out[a] = true
	}
	return out
}

func listOf(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// text returns the first non-empty string among the named members of a payload; "" if there is none.
func text(payload any, names ...string) string {
	object, _ := payload.(map[string]any)
	for _, name := range names {
		if s, ok := object[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// awaitAccepted owes TURN_ACCEPTED to the frontend, unless it already came.
func (m *Model) awaitAccepted(t *turn) {
	in := t.in
	o := &owed{What: "TURN_ACCEPTED to the frontend before any acknowledgement", Cause: in.said, About: about{turn: t},
		Clauses: []string{"RT-009", "RT-074", "RT-076", "RT-170"},
		Amiss: func() ([]string, string) {
			clauses := []string{"RT-009", "RT-076"}
			if in.mentions {
				clauses = append(clauses, "RT-093")
			}
			return m.elsewhere(in.said, clauses, func(a Message) bool { return a.Subtype == vocab.TurnAccepted })()
		},
		Match: kindOf(Accepted, func(a Message) bool {
			return a.Turn == t.id || a.Turn == "" || t.id == "" && m.turns[a.Turn] == nil
		}),
		Met: func(a Message) { in.accepted = a; m.agree(in) },
		Late: func(a Message) []string {
			switch {
			case a.Turn == t.id && t.answered == 0: // before any acknowledgement: "at once" means no more
				return nil
			case t.implicit || t.spoke: // even after the output that it announces
				return []string{"RT-074", "RT-170"}
			}
			return []string{"RT-074"}
		}}
	if in.mentions {
		o.Clauses = append(o.Clauses, "RT-093")
	}
	if in.accepted.N > 0 { // it came before the input was routed
		m.Note(o, in.accepted)
		o.Met(in.accepted)
		return
	}
	t.accept = m.owe(Accepted, o)
}

// announced judges that TURN_ACCEPTED comes before any other message of a turn to the frontend.
func (m *Model) announced(p Message) {
	t := m.turns[p.Turn]
	k := p.Kind()
	if t == nil || p.Turn == "" || t.accept == nil || t.accept.Done ||
		k != Output && k != RouteTimeout && (k != Notice || p.Subtype != vocab.AgentStarted) {
		return
	}
	t.accept.Done = true
	m.Fail(p, t.accept.Clauses, "TURN_ACCEPTED of the turn first", "%s", p.Name())
}

func (m *Model) strayAccepted(p Message) {
	if !m.acceptedFirst(p) {
		m.Fail(p, []string{"RT-076", "RT-009"}, "one TURN_ACCEPTED for each turn", "%s for turn %q a second time, or for "+
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
	m.Member(!m.bus.strict || a.Event == vocab.Event, a, []string{"RT-170"}, "TURN_ACCEPTED as an EVENT", "%s", a.Name())
	agrees := (t.id == "" || a.Turn == t.id) && (t.trace == "" || a.Trace == t.trace)
	if !agrees || t.id != "" && t.trace != "" {
		m.Member(agrees, a, []string{"RT-076"}, fmt.Sprintf("turn_id %q and trace_id %q", t.id, t.trace), "%q and %q",
			a.Turn, a.Trace)
	}
	m.Member(a.TargetAgent == t.agent, a, []string{"RT-076", "RT-055"}, "target_agent "+t.agent, "%q", a.TargetAgent)
}
