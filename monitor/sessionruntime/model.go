package sessionruntime

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/monitor"
	vocab "parley/protocol/sessionruntime"
)

// Absence is what a finding expects that something was not published. It says little where nothing is, so that it counts only in
// a scenario that shows its opposite too.
const Absence = "absence"

// Model is what one session's orchestrator has to do, may do, and must not do, from what was delivered to it and what it has
// published. It is given everything in the order of the transcript. Where the source leaves a choice, it goes by what was
// published. What it found is in Findings.
//
// The orchestrator handles what is delivered in the order of its delivery, but nothing says how soon: what it owes is due by the
// next fence.
type Model struct {
	Findings []monitor.Finding

	id        string
	name      string // of the model: a session that is set up anew has another one
	limits    Limits
	presence  map[string]presence
	active    map[string]bool // candidates; "" is nobody
	loose     bool            // the session is closed, or about to be: nothing is owed any more
	seen      map[string]bool // ids of messages that were delivered
	inputs    []*input
	turns     map[string]*turn
	order     []*turn
	outputs   map[string]*output // by token
	owed      []*owed
	moves     []*move // removals and invitations
	handovers []*handover
	requests  []*request
	said      []remark // what was ignored on purpose, and why
	unsettled []unsettled
	closing   *request // waits until nobody speaks
	held      []hold
	ignored   []ignored
	answers   int   // receipts about the session that SessionManager has given
	greeting  *owed // who is active, told before anything was said
	overdue   []overdue
	latest    int     // the record that was delivered last
	handled   int     // whatever was delivered before this record has been handled
	unnamed   int     // receipts about the session that were told by an EVENT of another name, or not yet
	heard     []heard // all that was published
	canceled  Message // the last cancel of the user
}

// presence is whether an agent is in the session.
type presence int

const (
	absent presence = iota
	maybe           // the source leaves it open
	present
)

// owed is something that has to be published, or may be.
type owed struct {
	what     string
	cause    Message
	clauses  []string // broken when it does not come; shown when it does
	shown    []string // shown as well when it comes
	match    func(Message) bool
	met      func(Message)                         // what follows when it comes; may be nil
	amiss    func() (clauses []string, how string) // what is there in its place, and which clauses that breaks; nil clauses: nothing; may be nil
	of       Kind                                  // what it is, if it is always the same
	turn     *turn                                 // that it is about; nil: the one that the cause names
	agent    string                                // that it is about; "": the one that the cause names
	name     string                                // that it often has; "": any
	optional bool
	choice   *choice // of several, one is enough; nil: this one
	timed    bool    // due at a time, and not by a fence
	passing  bool    // what is optional comes by the next fence, or not at all
	waits    bool    // but this, whatever was chosen in its place
	copy     bool    // of what was told already, or will be
	done     bool
}

// hold is something that must not be published because of a message; what is, is uncalled for. By the next fence the clauses
// have been kept, or broken.
type hold struct {
	cause   int
	clauses []string
}

// hold notes what a message must not lead to.
func (m *Model) hold(cause Message, clauses ...string) {
	m.held = append(m.held, hold{cause.N, clauses})
}

// choice is made once one of its ways was taken.
type choice struct{ taken bool }

// remark is a message that nothing must follow from.
type remark struct {
	token, why string
	clauses    []string
}

func newModel(id string, limits Limits, agents []string, active string, at Message) *Model {
	m := &Model{id: id, name: fmt.Sprintf("%s/%d", id, at.N), limits: limits, presence: map[string]presence{}, active: map[string]bool{active: true}, seen: map[string]bool{},
		turns: map[string]*turn{}, outputs: map[string]*output{}}
	for _, a := range agents {
		m.presence[a] = present
	}
	if active != "" {
		m.greeting = m.announce(at, "", []string{active}, nil, true) // told once more than it must be
	}
	return m
}

// keep finds that clauses are kept.
func (m *Model) keep(at Message, clauses ...string) {
	if len(clauses) > 0 {
		m.Findings = append(m.Findings, monitor.Finding{Clauses: clauses, OK: true, At: at.N, Model: m.name})
	}
}

// fail finds that clauses are broken, by what the orchestrator did, or did not: it knows of the session what the model does not.
func (m *Model) fail(at Message, clauses []string, expected, observed string, args ...any) {
	m.Findings = append(m.Findings, monitor.Finding{Clauses: clauses, Expected: expected, Observed: fmt.Sprintf(observed, args...), At: at.N, Model: m.name})
}

// member finds clauses kept, or broken, by what a message holds that was due: whatever that is, the model knows what is due next.
func (m *Model) member(ok bool, at Message, clauses []string, expected, observed string, args ...any) {
	f := monitor.Finding{Clauses: clauses, OK: ok, At: at.N}
	if !ok {
		f.Expected, f.Observed = expected, fmt.Sprintf(observed, args...)
	}
	m.Findings = append(m.Findings, f)
}

// check finds clauses kept, or broken.
func (m *Model) check(ok bool, at Message, clauses []string, expected, observed string, args ...any) {
	if ok {
		m.keep(at, clauses...)
		return
	}
	m.fail(at, clauses, expected, observed, args...)
}

// owe notes something that has to come.
func (m *Model) owe(o *owed) *owed {
	o.optional = o.optional || m.loose
	if o.choice == nil {
		o.choice = &choice{}
	}
	m.owed = append(m.owed, o)
	return o
}

// allow notes something that may come.
func (m *Model) allow(cause Message, what string, match func(Message) bool) *owed {
	return m.owe(&owed{what: what, cause: cause, match: match, optional: true})
}

// kind matches messages of a kind.
func kind(k Kind) func(Message) bool { return func(p Message) bool { return p.Kind() == k } }

// kindOf matches messages of a kind that a condition holds of.
func kindOf(k Kind, and func(Message) bool) func(Message) bool {
	return func(p Message) bool { return p.Kind() == k && and(p) }
}

// Delivered takes in what was delivered to the orchestrator.
func (m *Model) Delivered(d Message) {
	if d.ID != "" && m.seen[d.ID] { // by a second subscription (RT-042, RT-175)
		m.repeated(d)
		return
	}
	m.seen[d.ID] = true
	m.latest = d.N
	if m.greeting != nil {
		m.greeting.done = true
	}
	if d.From == Self {
		m.hold(d, "RT-175")
		m.ignored = append(m.ignored, ignored{what: d, kinds: []Kind{d.Kind()}, why: "it is the orchestrator's own, and comes back", clauses: []string{"RT-175"}})
		return
	}
	if d.Target == vocab.ToBroadcast && (d.From == Frontend || d.From == Manager || d.From == Logger) {
		m.observed(d)
		return
	}
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

// ignored is a message of which nothing must come, up to the next fence.
type ignored struct {
	what    Message
	kinds   []Kind
	why     string
	clauses []string
}

// consequences of what the frontend asks for, and SessionManager says.
var consequences = map[string][]Kind{
	vocab.Cancel: {CancelSent}, vocab.Interrupt: {CancelSent}, vocab.RemoveAgent: {RequestRemove, CancelSent, Switch}, vocab.InviteAgent: {RequestAdd},
	vocab.SwitchAgent: {Switch}, vocab.HandoverConfirm: {Switch, Context}, vocab.SessionOpen: {RequestOpen}, vocab.SessionClose: {RequestClose, CancelSent},
	vocab.AddAgentDone: {Added, Switch}, vocab.RemoveAgentDone: {Removed}, vocab.RemoveAgentFailed: {RemoveFailed}, vocab.SessionOpened: {Opened}, vocab.SessionClosed: {Closed},
}

// observed is a message on BROADCAST that no agent has sent: it is for observation only (RT-028).
func (m *Model) observed(d Message) {
	m.hold(d, "RT-028")
	m.ignored = append(m.ignored, ignored{what: d, kinds: consequences[d.Subtype], why: "it was on BROADCAST, which is for observation only", clauses: []string{"RT-028"}})
	m.said = append(m.said, remark{token: Token(d.Payload), why: "it was on BROADCAST, which is for observation only", clauses: []string{"RT-028"}})
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
	switch {
	case d.is(vocab.AgentOutput, "", ""):
		m.output(d)
	case d.is(vocab.Control, vocab.InputAck, ""):
		m.inputAck(d)
	case d.is(vocab.Control, vocab.CancelAck, ""), d.is(vocab.Event, vocab.StreamStopped, ""):
		m.cancelAck(d)
	case d.is(vocab.Control, vocab.HandoverRequest, ""):
		m.handover(d)
	}
}

// Published takes in what the orchestrator has published. Of several that it may be, it is the one of which it says most: by
// its mark, its turn, its trace; of those that it says as much of, one that has to come.
func (m *Model) Published(p Message) {
	best := -1
	for i, o := range m.owed {
		if !o.done && o.match(p) && (best < 0 || o.fits(p) > m.owed[best].fits(p)) {
			best = i
		}
	}
	if best < 0 && m.behindFence(p) {
		m.heard = append(m.heard, heard{Message: p})
		return
	}
	if best < 0 {
		m.heard = append(m.heard, heard{Message: p})
		m.uncalledFor(p)
		return
	}
	o := m.owed[best]
	m.heard = append(m.heard, heard{p, o})
	o.done = true
	m.owed = slices.Delete(m.owed, best, best+1)
	m.take(o.choice)
	m.keep(p, append(slices.Clone(o.clauses), o.shown...)...)
	if o.met != nil {
		o.met(p)
	}
}

// heard is what was published, and what it was taken for; nil: for nothing that was due, or might come.
type heard struct {
	Message
	as *owed
}

// fits tells how much a message says of what is owed: more is better.
func (o *owed) fits(p Message) int {
	turn, trace, agent := o.cause.Turn, o.cause.Trace, o.agent
	if o.turn != nil {
		turn, trace = o.turn.id, o.turn.trace
	}
	if agent == "" {
		agent = o.cause.AgentID
	}
	most := 0
	for _, id := range []struct {
		owed, got string
		weight    int
	}{{Token(o.cause.Payload), Token(p.Payload), 64}, {turn, p.Turn, 32}, {trace, p.Trace, 16}, {agent, p.AgentID, 8}, {o.cause.Tx, p.Tx, 4}, {o.name, p.Subtype, 3}} {
		switch {
		case id.owed == "" || id.got == "":
		case id.owed == id.got:
			most += id.weight
		default:
			most -= id.weight
		}
	}
	switch {
	case !o.optional:
		most += 2
	case o.copy:
		most++
	}
	return most
}

// missing is what has not come by a fence.
func (m *Model) missing(o *owed, fence int, now time.Duration) {
	ways := []*owed{o} // any of them would do, and all are missing: that is told once
	for _, other := range m.owed {
		if other != o && !other.done && other.choice == o.choice && other.cause.N == o.cause.N {
			ways, other.done = append(ways, other), true
		}
	}
	var like []string
	for _, h := range m.heard {
		fits := slices.ContainsFunc(ways, func(o *owed) bool { return o.match(h.Message) })
		of := slices.ContainsFunc(ways, func(o *owed) bool { return o.of != Other && h.Kind() == o.of })
		switch {
		case fits && h.N > o.cause.N && h.as != nil && h.as.optional: // that may have been this
			return
		case fits || h.N > o.cause.N && of:
			like = append(like, h.told(o.cause.N))
		}
	}
	clauses, how := o.clauses, ""
	if o.amiss != nil {
		if broken, is := o.amiss(); broken != nil {
			clauses, how = broken, is
		}
	}
	const most = 3
	switch {
	case how != "":
	case len(like) == 0:
		how = fmt.Sprintf("nothing of the kind up to the fence (record %d)", fence)
	default:
		how = fmt.Sprintf("not this one, up to the fence (record %d): there is %s", fence, strings.Join(like[max(0, len(like)-most):], "; "))
	}
	m.fail(Message{N: o.cause.N}, clauses, o.what, "%s", how)
	m.overdue = append(m.overdue, overdue{owed: o, found: len(m.Findings) - 1, asked: m.handled, fence: fence, at: now})
}

// overdue is what had not come by a fence.
type overdue struct {
	*owed
	found        int           // the finding that says so
	asked, fence int           // the records by which the fence was asked, and answered
	at           time.Duration // when it was answered
}

// behindFence takes what comes behind the fence that it was due by. Where nothing was delivered meanwhile, it is the fence that was answered
// too early, of which no clause speaks; otherwise it may have another cause, and the finding tells what it looks like.
func (m *Model) behindFence(p Message) bool {
	for i, o := range m.overdue {
		if !o.match(p) {
			continue
		}
		m.overdue = slices.Delete(m.overdue, i, i+1)
		if m.latest < o.asked {
			m.Findings[o.found] = monitor.Finding{Clauses: o.clauses, OK: true, At: p.N, Model: m.name}
			m.take(o.choice)
			if o.met != nil {
				o.met(p)
			}
			return true
		}
		m.Findings[o.found].Observed = fmt.Sprintf("it came %.1f ms behind the fence (record %d), as record %d: does the adapter answer before pending tasks have run?",
			float64((p.At-o.at).Microseconds())/1000, o.fence, p.N)
		return true
	}
	return false
}

// told says what was published, and what it was taken for.
func (h heard) told(cause int) string {
	how := "which nothing has called for"
	switch {
	case h.N < cause:
		how = "which came before it was due"
	case h.as != nil:
		how = fmt.Sprintf("which was taken for %s, because of record %d", h.as.what, h.as.cause.N)
	}
	return fmt.Sprintf("%s (record %d), %s", h.Name(), h.N, how)
}

// was tells whether a message of a kind was published: then what is missing is not missing always.
func (m *Model) was(k Kind) bool {
	return slices.ContainsFunc(m.heard, func(h heard) bool { return h.Kind() == k })
}

// inPlace is the last message behind a record that nothing has called for, and that fits.
func (m *Model) inPlace(cause Message, fits func(Message) bool) (found Message, ok bool) {
	for _, h := range m.heard {
		if h.N > cause.N && h.as == nil && fits(h.Message) {
			found, ok = h.Message, true
		}
	}
	return found, ok
}

// elsewhere tells of a message that is what is owed, apart from whom it is for, or how it is called: that breaks other clauses.
func (m *Model) elsewhere(cause Message, clauses []string, fits func(Message) bool) func() ([]string, string) {
	return func() ([]string, string) {
		if p, ok := m.inPlace(cause, fits); ok {
			return clauses, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
		}
		return nil, ""
	}
}

// take makes a choice: its other ways need not be taken any more.
func (m *Model) take(c *choice) {
	c.taken = true
	for _, o := range m.owed {
		if o.choice == c && !o.done {
			o.optional, o.passing = true, !o.waits
		}
	}
}

// Fenced tells that everything delivered before a record has been handled, by the time of another one.
func (m *Model) Fenced(before, at int, now time.Duration) {
	m.handled = before
	for _, t := range m.order {
		if t.acked.N > 0 && t.acked.N < before && now-t.in.said.At < m.limits.InputAck {
			t.inTime = true
		}
	}
	m.settle(before)
	m.ignored = slices.DeleteFunc(m.ignored, func(g ignored) bool { return g.what.N < before })
	m.owed = slices.DeleteFunc(m.owed, func(o *owed) bool { return o.done })
	m.held = slices.DeleteFunc(m.held, func(h hold) bool {
		if h.cause < before {
			m.Findings = append(m.Findings, monitor.Finding{Clauses: h.clauses, OK: true, Expected: Absence, At: at, Model: m.name})
		}
		return h.cause < before
	})
	for _, o := range m.owed {
		o.done = o.done || o.optional && o.passing && o.cause.N < before
		if o.done || o.optional || o.timed || o.cause.N >= before || o.choice.taken {
			continue
		}
		o.done = true
		m.missing(o, at, now)
	}
}

// uncalledFor judges what was published without a cause.
func (m *Model) uncalledFor(p Message) {
	if m.loose && p.Kind() != Output {
		return
	}
	for _, g := range m.ignored {
		if slices.Contains(g.kinds, p.Kind()) {
			m.fail(p, g.clauses, "nothing done about "+g.what.Name()+": "+g.why, "%s", p.Name())
			return
		}
	}
	switch k := p.Kind(); k {
	case Route:
		m.strayInput(p)
	case Accepted:
		if m.acceptedFirst(p) {
			return
		}
		m.fail(p, []string{"RT-076", "RT-009"}, "one TURN_ACCEPTED for each turn", "%s for turn %q once more, or for no turn", k, p.Turn)
	case RouteTimeout:
		m.strayTimeout(p)
	case Output:
		m.strayOutput(p)
	case CancelSent:
		m.strayCancel(p)
	case Canceled:
		m.strayCanceled(p)
	case Switch:
		m.straySwitch(p)
	case RequestAdd, RequestRemove:
		m.strayRequest(p)
	case RequestOpen, RequestClose:
		if k == RequestClose && m.closing != nil {
			m.closing.sent, m.closing = p, nil // it is the request all the same
			m.fail(p, []string{"RT-152"}, "REQUEST_SESSION_CLOSE once the agent that is speaking has acknowledged the CANCEL", "it is requested before that")
			return
		}
		m.fail(p, []string{"RT-153"}, "one request to SessionManager for each SESSION_OPEN or SESSION_CLOSE of the frontend", "%s without one, or once more", p.Name())
	case Added, Removed, RemoveFailed:
		m.strayMove(p)
	case Prompt:
		m.fail(p, []string{"RT-131"}, "one HANDOVER_UI_PROMPT for each HANDOVER_REQUEST", "%s without one, or once more", p.Name())
	case Context:
		m.strayContext(p)
	case Notice:
		m.started(p)
	case Opened, Closed:
		if m.unnamed > 0 {
			m.unnamed--
			return
		}
		if m.answers > 0 {
			m.fail(p, []string{"RT-155"}, "each result of SESSION_OPEN and SESSION_CLOSE told once", "%s, which SessionManager has not said, or once more", p.Name())
			return
		}
		m.fail(p, []string{"RT-154", "RT-155"}, "the result of SESSION_OPEN and SESSION_CLOSE told when SessionManager has said it", "%s before that", p.Name())
	}
}

// sole is the active agent, and whether there is no doubt about it.
func (m *Model) sole() (string, bool) {
	if len(m.active) != 1 {
		return "", false
	}
	for a := range m.active {
		return a, true
	}
	return "", false
}

// agents lists those that are in the session, or may be.
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

// text is a member of a payload; "" where it is none.
func text(payload any, names ...string) string {
	object, _ := payload.(map[string]any)
	for _, name := range names {
		if s, ok := object[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
