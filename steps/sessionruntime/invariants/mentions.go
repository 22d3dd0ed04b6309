package invariants

import (
	"fmt"
	"regexp"

	vocab "parley/protocol/sessionruntime"
)

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
