package model

import (
	"fmt"
	"regexp"
	"slices"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
	wjson "parley/transport/wire/json"
)

// The parts of the book that the model keeps.
type (
	book = obligation.Book[Message, about]
	owed = obligation.Owed[Message, about]
)

// about says what an owed message is about, as far as its cause does not.
type about struct {
	kind    Kind   // what a step may wait for; "": nothing does
	turn    *turn  // nil: the one that the cause names
	agent   string // "": the one that the cause names
	name    string // its usual subtype; "": any
	copy    bool   // a copy of an announcement made elsewhere
	release *input // the input that may be queued, and brings it about when it is routed
}

// owe enters what must come, or may.
func (m *Model) owe(k Kind, o *owed) *owed {
	o.About.kind, o.Like = k, kind(k)
	return m.Owe(o)
}

// may permits that the frontend is told of a receipt.
func (m *Model) may(k Kind, receipt Message, fits func(Message) bool) {
	o := m.Allow(receipt, "sent to the frontend", kindOf(k, fits))
	o.About.kind, o.About.agent = k, receipt.AgentID
}

// fits rates how well a message matches what is owed; higher is better: by mark, turn and trace first, then one that
// must come.
func fits(o *owed, p Message) int {
	turn, trace, agent := o.Cause.Turn, o.Cause.Trace, o.About.agent
	if o.About.turn != nil {
		turn, trace = o.About.turn.id, o.About.turn.trace
	}
	if agent == "" {
		agent = o.Cause.AgentID
	}
	most := 0
	for _, id := range []struct {
		owed, got string
		weight    int
	}{{Token(o.Cause.Payload), Token(p.Payload), 64}, {turn, p.Turn, 32}, {trace, p.Trace, 16}, {agent, p.AgentID, 8},
		{o.Cause.Tx, p.Tx, 4}, {o.About.name, p.Subtype, 3}} {
		switch {
		case id.owed == "" || id.got == "":
		case id.owed == id.got:
			most += id.weight
		default:
			most -= id.weight
		}
	}
	switch {
	case !o.Optional:
		most += 2
	case o.About.copy:
		most++
	}
	if o.About.release != nil { // it may still be queued: what is due now comes first
		most--
	}
	return most
}

// queued returns a function that reports whether an input had not been routed before a record: what is done with an
// input that comes while a turn is in progress is left open (RT-G05), so it may be queued, and whatever ends that turn
// releases it. It returns nil for nil.
func queued(in *input) func(before int) bool {
	if in == nil {
		return nil
	}
	return func(before int) bool { return in.routed == nil || in.routed.routed.N >= before }
}

// Published takes in a message that the orchestrator published.
func (m *Model) Published(p Message) {
	m.announced(p)
	o, calledFor := m.Settle(p)
	if m.watched && o != nil && !o.Optional && o.Cause.Delivered {
		m.saw(o.Cause.N, p.N)
		m.Each(func(other *owed) { // what an earlier message may have led to would have come
			other.Done = other.Done || other.Optional && other.Passing && other.Cause.N < o.Cause.N &&
				(other.Queued == nil || !other.Queued(o.Cause.N))
		})
	}
	switch {
	case m.watched && o != nil:
		if c := o.Cause; p.Event == vocab.Error && c.Event == vocab.Error && c.Subtype != p.Subtype &&
			!wjson.Equal(c.Payload, p.Payload) { // it may be the orchestrator's own
			m.news(p)
		}
	case m.watched:
		m.denied(p)
		m.refusedAsBusy(p)
		m.news(p)
		m.unexplained(p)
	case !calledFor:
		m.uncalledFor(p)
	}
}

// was reports whether a message of a kind was published: then the orchestrator does not always omit it.
func (m *Model) was(k Kind) bool {
	return slices.ContainsFunc(m.Heard(), func(h obligation.Heard[Message, about]) bool { return h.Message.Kind() == k })
}

// elsewhere finds a message that is what is owed except for its target or its name: that breaks other clauses.
func (m *Model) elsewhere(cause Message, clauses []string, fits func(Message) bool) func() ([]string, string) {
	return func() ([]string, string) {
		if p, ok := m.InPlace(cause.N, fits); ok {
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
		form = []string{"RT-083", "RT-174"}
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
	in.clauses = []string{"RT-001", "RT-015", "RT-030", "RT-092"}
	was, sure := m.sole()
	in.to = setOf(append(listOf(m.active), who))
	in.optional = in.optional || !sure || m.has(was) != present
	m.announceFor(m.queue(in), in.said, was, []string{who}, nil, true)
	either := &obligation.Choice{}
	o := m.awaitRoute(in)
	o.Choice, o.Waits = either, true
	m.owe(Failure, &owed{What: o.What, Cause: in.said, Clauses: in.clauses, Optional: in.optional, Choice: either,
		Match: kind(Failure)})
	m.owe(RequestAdd, &owed{What: o.What, Cause: in.said, Clauses: in.clauses, Optional: in.optional, Choice: either,
		About: about{agent: who}, Match: kindOf(RequestAdd, func(p Message) bool { return Mentions(p, who) }),
		Met: func(p Message) {
			m.moves = append(m.moves,
				&move{add: true, agent: who, asked: in.said, request: p, inputs: []*input{in}, again: true})
		}})
	if m.has(who) != absent {
		m.activate(append(listOf(m.active), who)...)
	}
}

// mention handles scenario B.
func (m *Model) mention(in *input, who string, form []string) {
	in.optional = m.busy()
	in.to, in.clauses = setOf([]string{who}), []string{"RT-030", "RT-049", "RT-086", "RT-092"}
	in.shown = append([]string{"RT-088"}, form...)
	in.astray = append([]string{"RT-015", "RT-049", "RT-092"}, form...)
	switch m.has(who) {
	case absent:
		m.mentionAbsent(in, who)
		return
	case maybe:
		in.optional = true
		was, _ := m.sole()
		m.announceFor(m.queue(in), in.said, was, []string{who}, nil, true)
		m.Allow(in.said, "REQUEST_ADD_AGENT for "+who,
			kindOf(RequestAdd, func(p Message) bool { return Mentions(p, who) })).Met = func(p Message) {
			m.moves = append(m.moves, &move{add: true, agent: who, asked: in.said, request: p, inputs: []*input{in}})
		}
		m.activate(append(listOf(m.active), who)...)
	case present:
		was, sure := m.sole()
		needed := sure && was != who && !in.optional
		in.change = m.announceFor(m.queue(in), in.said, was, []string{who},
			[]string{"RT-006", "RT-089", "RT-065", "RT-063"}, !needed)
		in.change.Shown = append(in.change.Shown, form...)
		wrong, met := in.change.Amiss, in.change.Met
		in.change.Mere, in.change.Met = true, func(p Message) {
			if in.routed != nil && !in.change.Optional {
				m.Member(false, p, []string{"RT-090"}, "SWITCH_AGENT before the input is routed",
					"the input is routed before it (record %d)", in.routed.routed.N)
			}
			met(p)
		}
		in.change.Amiss = func() ([]string, string) {
			if in.routed != nil && !in.to[in.routed.agent] { // it was not treated as a mention
				return append([]string{"RT-049", "RT-086", "RT-088", "RT-092"}, form...),
					fmt.Sprintf("no switch, and the input goes to agent %q (record %d)", in.routed.agent, in.routed.routed.N)
			}
			if p, ok := m.InPlace(in.said.N, kind(Failure)); ok {
				return append([]string{"RT-049", "RT-086", "RT-092"}, form...), fmt.Sprintf("no switch, and %s (record %d)",
					p.Name(), p.N)
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
	shown := []string{"RT-049", "RT-086", "RT-087"}
	if m.left[who] {
		shown = append(shown, "RT-111")
	}
	if m.invited(who) {
		shown = append(shown, "RT-122")
	}
	m.Hold(in.said, shown...)
	in.forbid, in.why = shown, "agent "+who+" is not in the session"
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
	either := obligation.Taken(waits)
	routed := m.elsewhere(in.said, shown, func(p Message) bool {
		return p.Kind() == Route && m.key(p.Payload) == in.token
	})
	what := "a REQUEST_ADD_AGENT for " + who + ", or an ERROR to the frontend, as it is not in the session"
	m.owe(RequestAdd, &owed{What: what, Cause: in.said, Clauses: []string{"RT-087"}, Shown: shown, Amiss: routed,
		Choice: either, Optional: waits, Passing: passing, About: about{agent: who},
		Match: kindOf(RequestAdd, func(p Message) bool { return Mentions(p, who) }),
		Met: func(p Message) {
			m.moves = append(m.moves, &move{add: true, agent: who, asked: in.said, request: p, inputs: []*input{in}})
		}})
	m.owe(Failure, &owed{What: what, Cause: in.said, Clauses: []string{"RT-087"}, Shown: shown, Amiss: routed,
		Choice: either, Optional: waits, Passing: passing, Match: kind(Failure),
		About: about{agent: who, name: vocab.AgentNotFound}})
}
