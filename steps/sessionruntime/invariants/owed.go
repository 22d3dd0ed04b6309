package invariants

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
)

// owed is a message that must or may be published.
type owed struct {
	what    string
	cause   Message
	clauses []string // broken if it does not come; shown kept if it does
	shown   []string // also shown kept if it comes
	match   func(Message) bool
	met     func(Message) // called when it comes; may be nil
	// finds the message that came instead, and the clauses that it breaks; nil clauses: nothing; may be nil
	amiss func() (clauses []string, how string)
	// the clauses that it breaks when it comes after the fence it was due by; none: the fence was early; a nil func:
	// unknown
	late     func(p Message) []string
	of       Kind   // its kind, if fixed
	turn     *turn  // the turn that it is about; nil: the one that the cause names
	agent    string // the agent that it is about; "": the one that the cause names
	name     string // its usual subtype; "": any
	optional bool
	choice   *choice // one of several alternatives is enough; nil: only this one
	timed    bool    // due at a time, not by a fence
	passing  bool    // if optional, it expires at the next fence
	release  *input  // until this input is routed, it does not expire
	waits    bool    // it does not expire after another alternative was taken
	copy     bool    // a copy of an announcement made elsewhere
	done     bool
}

// choice groups alternatives; it is taken once one of them has come.
type choice struct{ taken bool }

// owe records a message that must come.
func (m *Model) owe(o *owed) *owed {
	o.optional = o.optional || m.loose
	if o.choice == nil {
		o.choice = &choice{}
	}
	m.owed = append(m.owed, o)
	return o
}

// allow records a message that may come.
func (m *Model) allow(cause Message, what string, match func(Message) bool) *owed {
	return m.owe(&owed{what: what, cause: cause, match: match, optional: true})
}

// take marks a choice as taken: its other alternatives become optional.
func (m *Model) take(c *choice) {
	c.taken = true
	for _, o := range m.owed {
		if o.choice == c && !o.done {
			o.optional, o.passing = true, !o.waits
		}
	}
}

// Published takes in a message that the orchestrator published. If it matches several owed messages, the best fit
// wins: by mark, turn and trace first, then one that must come.
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

// heard is a published message and the owed one it was matched with; nil: nothing that was due or allowed.
type heard struct {
	Message
	as *owed
}

// fits rates how well a message matches what is owed; higher is better.
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
	}{{Token(o.cause.Payload), Token(p.Payload), 64}, {turn, p.Turn, 32}, {trace, p.Trace, 16}, {agent, p.AgentID, 8},
		{o.cause.Tx, p.Tx, 4}, {o.name, p.Subtype, 3}} {
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
	if o.release != nil { // it may still be queued: what is due now comes first
		most--
	}
	return most
}

// queued reports whether it waits for an input that had not been routed before a record: what is done with an input
// that comes while a turn is in progress is left open (RT-G05), so it may be queued, and whatever ends that turn
// releases it.
func (o *owed) queued(before int) bool {
	return o.release != nil && (o.release.routed == nil || o.release.routed.routed.N >= before)
}

// due reports whether it must have come by the time everything delivered before a record has been handled.
func (o *owed) due(before int) bool {
	return !o.done && !o.optional && !o.timed && o.cause.N < before && !o.choice.taken
}

// missing reports an owed message that has not come by a fence.
func (m *Model) missing(o *owed, fence int, now time.Duration) {
	ways := []*owed{o} // any of them would do: their absence is reported once
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
		case fits && h.N > o.cause.N && h.as != nil && h.as.optional: // it may have been meant for this
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
		how = fmt.Sprintf("no such message up to the fence (record %d)", fence)
	default:
		how = fmt.Sprintf("not this one, up to the fence (record %d): there is %s", fence,
			strings.Join(like[max(0, len(like)-most):], "; "))
	}
	m.fail(Message{N: o.cause.N}, clauses, o.what, "%s", how)
	m.overdue = append(m.overdue, overdue{owed: o, found: len(m.Findings) - 1, asked: m.handled, fence: fence, at: now})
}

// overdue is an owed message that had not come by a fence.
type overdue struct {
	*owed
	found        int           // index of the finding that says so
	asked, fence int           // the records that sent and answered the fence
	at           time.Duration // when it was answered
}

// behindFence takes a message that comes after the fence it was due by. If nothing was delivered meanwhile, the fence
// was answered too early, which breaks no clause; otherwise it may have another cause, and the finding says what it
// looks like.
func (m *Model) behindFence(p Message) bool {
	for i, o := range m.overdue {
		if !o.match(p) {
			continue
		}
		m.overdue = slices.Delete(m.overdue, i, i+1)
		var broken []string
		if o.late != nil {
			broken = o.late(p)
		}
		if m.latest < o.asked || o.late != nil && len(broken) == 0 {
			m.Findings[o.found] = verdict.Finding{Clauses: o.clauses, OK: true, At: p.N, Model: m.name}
		} else {
			m.Findings[o.found].Observed = fmt.Sprintf("it came %.1f ms after the fence (record %d), as record %d: does the "+
				"adapter answer before pending tasks have run?",
				float64((p.At-o.at).Microseconds())/1000, o.fence, p.N)
			if o.late == nil {
				return true
			}
			m.Findings[o.found].Clauses = broken
		}
		m.take(o.choice)
		if o.met != nil {
			o.met(p)
		}
		return true
	}
	return false
}

// told describes a published message and what it was matched with.
func (h heard) told(cause int) string {
	how := "which nothing requires"
	switch {
	case h.N < cause:
		how = "which came too early"
	case h.as != nil:
		how = fmt.Sprintf("which was treated as %s, because of record %d", h.as.what, h.as.cause.N)
	}
	return fmt.Sprintf("%s (record %d), %s", h.Name(), h.N, how)
}

// was reports whether a message of a kind was published: then the orchestrator does not always omit it.
func (m *Model) was(k Kind) bool {
	return slices.ContainsFunc(m.heard, func(h heard) bool { return h.Kind() == k })
}

// inPlace returns the last matching message after a record that nothing called for.
func (m *Model) inPlace(cause Message, fits func(Message) bool) (found Message, ok bool) {
	for _, h := range m.heard {
		if h.N > cause.N && h.as == nil && fits(h.Message) {
			found, ok = h.Message, true
		}
	}
	return found, ok
}

// elsewhere finds a message that is what is owed except for its target or its name: that breaks other clauses.
func (m *Model) elsewhere(cause Message, clauses []string, fits func(Message) bool) func() ([]string, string) {
	return func() ([]string, string) {
		if p, ok := m.inPlace(cause, fits); ok {
			return clauses, fmt.Sprintf("%s (record %d): %s", p.Name(), p.N, clip(p.Payload))
		}
		return nil, ""
	}
}

// mentioned returns the clauses of the form in which an input mentions an agent, and that agent.
func mentioned(d Message) (form []string, who string) {
	if id := text(d.Payload, "mentioned_agent_id"); id != "" {
		form, who = []string{"RT-084"}, id
	}
	if d.Data["mention"] != nil {
		who, _ = d.Data["mention"].(string)
		form = []string{"RT-083"}
		if _, picked := d.Payload.(map[string]any); picked {
			form = []string{"RT-085"}
		}
	}
	return form, who
}

// inWords matches a name after an "@".
var inWords = regexp.MustCompile(`^@(\S+)`)

// addressed returns the agent that an input names only in its text.
func addressed(d Message) string {
	said, _ := d.Payload.(string)
	if name := inWords.FindStringSubmatch(said); name != nil {
		return name[1]
	}
	return ""
}

// perhapsMention handles an input that names an agent only in its text. The source does not list that as a form of
// mention, but it may be one: the input goes to the active agent or to the named one, or is refused.
func (m *Model) perhapsMention(in *input, who string) {
	in.optional = m.busy()
	in.clauses = []string{"RT-001", "RT-015"}
	was, sure := m.sole()
	in.to = setOf(append(listOf(m.active), who))
	in.optional = in.optional || !sure || m.presence[was] != present
	m.announceFor(m.queue(in), in.said, was, []string{who}, nil, true)
	either := &choice{}
	o := m.awaitRoute(in)
	o.choice, o.waits = either, true
	m.owe(&owed{what: o.what, cause: in.said, clauses: in.clauses, optional: in.optional, choice: either,
		match: kind(Failure)})
	m.owe(&owed{what: o.what, cause: in.said, clauses: in.clauses, optional: in.optional, choice: either,
		match: kindOf(RequestAdd, func(p Message) bool { return Mentions(p, who) }),
		met: func(p Message) {
			m.moves = append(m.moves,
				&move{add: true, agent: who, asked: in.said, request: p, inputs: []*input{in}, again: true})
		}})
	if m.presence[who] != absent {
		m.activate(append(listOf(m.active), who)...)
	}
}

// mention handles scenario B.
func (m *Model) mention(in *input, who string, form []string) {
	in.optional = m.busy()
	in.to, in.clauses, in.shown, in.astray = setOf([]string{who}), []string{"RT-086", "RT-092"},
		append([]string{"RT-088"}, form...), []string{"RT-015", "RT-092"}
	switch m.presence[who] {
	case absent:
		m.mentionAbsent(in, who)
		return
	case maybe:
		in.optional = true
		was, _ := m.sole()
		m.announceFor(m.queue(in), in.said, was, []string{who}, nil, true)
		m.allow(in.said, "REQUEST_ADD_AGENT for "+who,
			kindOf(RequestAdd, func(p Message) bool { return Mentions(p, who) })).met = func(p Message) {
			m.moves = append(m.moves, &move{add: true, agent: who, asked: in.said, request: p, inputs: []*input{in}})
		}
		m.activate(append(listOf(m.active), who)...)
	case present:
		was, sure := m.sole()
		needed := sure && was != who && !in.optional
		in.change = m.announceFor(m.queue(in), in.said, was, []string{who},
			[]string{"RT-006", "RT-089", "RT-065", "RT-063"}, !needed)
		in.change.shown = append(in.change.shown, form...)
		wrong := in.change.amiss
		in.change.amiss = func() ([]string, string) {
			if in.routed != nil && !in.to[in.routed.agent] { // it was not treated as a mention
				return append([]string{"RT-086", "RT-088", "RT-092"}, form...),
					fmt.Sprintf("no switch, and the input goes to agent %q (record %d)", in.routed.agent, in.routed.routed.N)
			}
			return wrong()
		}
		if in.optional {
			m.activate(append(listOf(m.active), who)...)
		} else {
			m.activate(who)
		}
	}
	m.awaitRoute(in)
}

// mentionAbsent expects that SessionManager is asked for the agent or that the frontend is told; meanwhile the input
// is not routed (RT-087).
func (m *Model) mentionAbsent(in *input, who string) {
	m.hold(in.said, "RT-086", "RT-087")
	in.forbid, in.why = []string{"RT-086", "RT-087"}, "agent "+who+" is not in the session"
	waits := m.busy() // it may be queued
	passing := !waits
	if waits {
		in.absent = who
	}
	for _, mv := range m.moves {
		if mv.add && !mv.answered && mv.agent == who { // the agent is being added: the input may wait for it
			mv.inputs, waits = append(mv.inputs, in), true
		}
	}
	either := &choice{taken: waits}
	routed := m.elsewhere(in.said, []string{"RT-086", "RT-087"}, func(p Message) bool {
		return p.Kind() == Route && Token(p.Payload) == in.token
	})
	what := "a REQUEST_ADD_AGENT for " + who + ", or an ERROR to the frontend, as it is not in the session"
	m.owe(&owed{what: what, cause: in.said, clauses: []string{"RT-087"}, shown: []string{"RT-086"}, amiss: routed,
		choice: either, optional: waits, passing: passing, of: RequestAdd, agent: who,
		match: kindOf(RequestAdd, func(p Message) bool { return Mentions(p, who) }),
		met: func(p Message) {
			m.moves = append(m.moves, &move{add: true, agent: who, asked: in.said, request: p, inputs: []*input{in}})
		}})
	m.owe(&owed{what: what, cause: in.said, clauses: []string{"RT-087"}, shown: []string{"RT-086"}, amiss: routed,
		choice: either, optional: waits, passing: passing, match: kind(Failure), of: Failure, agent: who,
		name: vocab.AgentNotFound})
}
