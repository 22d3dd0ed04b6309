package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// asks takes a switch.
func (m *Model) asks(c *conn, r transcript.Record) {
	a := &ask{r: r, c: c, of: c.bound, clear: c.asked == 0, crowd: len(c.open) > 0}
	a.id, _ = member(r, vocab.AgentID)
	id, named := member(r, vocab.SessionID)
	a.named, a.session = named, text(r, vocab.SessionID)
	if named && (c.bound == nil || c.bound.id == "" || id != any(c.bound.id)) {
		m.asksElsewhere(c, a)
	}
	if named && (a.session == "" || c.bound != nil && c.bound.id == "") {
		c.unsure = true
	}
	if !m.tells(c, r) {
		m.strange = true
	}
	if m.ours() {
		a.tests = m.situation(a)
		m.seated[c.name] = m.seated[c.name] || a.of == nil
		maps.DeleteFunc(m.seated, func(_ string, is bool) bool { return !is })
	}
	if s := a.of; s != nil {
		a.run = s.running
		a.begun, a.held = s.begun || s.waiting, s.holds || s.waiting
	}
	for _, o := range c.open {
		o.crowd = true
	}
	if told := m.refusedTo; told != nil && told.c == c {
		m.refusedTo = nil
	}
	c.asks++
	c.instead = announced{}
	if isString(a.id) && len(c.wants) < maxOpen {
		c.wants[a.id] = true
	}
	if len(c.open) < maxOpen {
		c.open = append(c.open, a)
		m.owes(c, a)
	}
	if r.Kind == transcript.Request {
		m.posts[r.N] = a
		m.bound()
	}
}

// asksElsewhere notes that a switch names another session than that of its connection.
func (m *Model) asksElsewhere(c *conn, a *ask) {
	a.of = nil
	s := m.sessions[a.session]
	if s == nil {
		return
	}
	if m.ours() {
		a.of = s
		return
	}
	c.unsure = true // it is announced on another connection, or no longer
	s.agent, s.virgin, s.loaded = "", false, false
	if s.owner != nil {
		s.owner.unsure = true
	}
}

// owes enters what a switch obliges the server to.
func (m *Model) owes(c *conn, a *ask) {
	id, _ := a.id.(string)
	switched := &owed{What: "agent_switched", Clauses: []string{"AS-042"}}
	fails := &owed{What: "an error with a code of section 4.2", Clauses: []string{"AS-013"}}
	first, second := switched, fails
	a.duty = forOther
	if codes := m.codesFor(a); len(codes) > 0 {
		_, asked := m.forCodes(a, codes)
		a.what, a.clauses = oneOf(codes), append(slices.Clone(asked), "AS-013", "AS-085")
		first, second, a.duty = fails, switched, dutyOf[codes[0]]
	} else if m.easy(a) {
		a.duty, a.what, a.clauses = forEasy, "agent_switched to "+id, []string{"AS-042"}
	}
	first.Shown = strings.Fields(a.duty.shown)
	if a.what == "" {
		switched.What += " to " + id
	} else {
		first.What, second.What = a.what, a.what
	}
	either := obligation.Taken(false)
	for _, o := range []*owed{first, second} {
		kind := map[bool]string{true: vocab.AgentSwitchedEvent, false: vocab.ErrorEvent}[o == switched]
		o.Cause, o.About, o.Choice = message(a.r), a, either
		o.Match = func(p message) bool { return p.Event.Type == kind && answersSwitch(transcript.Record(p)) }
		o.Met = func(message) {
			if c.drop(a); o == second {
				m.tally.Add(a.duty.on, a.duty.owes, obligation.Coverage{Settled: 1})
			}
		}
		a.owed = append(a.owed, c.book.Owe(o))
	}
}

// drop ends the waiting for the answer to a switch.
func (c *conn) drop(a *ask) {
	c.open = slices.DeleteFunc(c.open, func(o *ask) bool { return o == a })
	for _, o := range a.owed {
		o.Done = true
	}
	c.book.Fence(0, 0, 0) // drops them
}

// easy reports whether nothing speaks against a switch: it is for an agent from the list, in a session that nobody has
// done anything else with.
func (m *Model) easy(a *ask) bool {
	id, _ := a.id.(string)
	_, listed := a.c.names[id]
	return listed && m.owned(a) && a.of.created && !a.of.chats && !a.crowd
}

// unbound reports whether a switch is for the session of a connection that has none, and has never asked for one.
func (m *Model) unbound(a *ask) bool {
	return a.of == nil && !a.named && !a.c.other && (!a.c.sought || m.ours() && !a.c.unsure && a.c.asked == 0)
}

// owned reports whether it is certain which session a switch is for.
func (m *Model) owned(a *ask) bool {
	return !m.strange && !a.c.unsure && a.c.moving == 0 && a.c.asked == 0 && a.of != nil && a.of.owner == a.c
}

// fits reports whether an event is such an answer as the switch may get.
func (a *ask) fits(r transcript.Record) bool {
	id, is := a.id.(string)
	if r.Event.Type == vocab.AgentSwitchedEvent {
		return is && id == text(r, vocab.CurrentAgentID)
	}
	legal := is && vocab.IDPattern.MatchString(id)
	switch text(r, vocab.ErrorCode) {
	case vocab.InvalidAgentID, vocab.InvalidAgentIDFormat:
		return !legal
	case vocab.AgentNotFound:
		return legal && strings.Contains(text(r, vocab.Message), id)
	}
	return legal
}

// answer returns the switch that an event answers, nil if that is unknown, and whether there was any.
func (m *Model) answer(c *conn, r transcript.Record) (a *ask, asked bool) {
	before := slices.Clone(c.open)
	if len(before) == 0 || m.ofAnother(c, r) {
		return nil, false
	}
	c.book.Settle(message(r))
	i := slices.IndexFunc(before, func(o *ask) bool { return !slices.Contains(c.open, o) })
	if i < 0 {
		return nil, true
	}
	a = before[i]
	fitting := 0
	for _, o := range before {
		if o.fits(r) {
			fitting++
		}
	}
	byID := r.Event.Type == vocab.AgentSwitchedEvent || m.ours() && text(r, vocab.ErrorCode) == vocab.AgentNotFound
	certain := len(before) == 1 || fitting == 1 && byID
	if !certain {
		for _, o := range c.open {
			o.clear = false
		}
	}
	for _, o := range c.open {
		if o.r.N < a.r.N && certain && (len(o.rounds) == 0 || a.r.N > o.rounds[len(o.rounds)-1]) {
			o.rounds = append(o.rounds, r.N)
		}
	}
	if !certain || m.strange || c.unsure || c.moving > 0 || c.asked > 0 || !a.clear {
		return nil, true
	}
	return a, true
}

// sole returns the only open switch, if the next answer can only be for it.
func (m *Model) sole(c *conn) *ask {
	if len(c.open) != 1 || m.strange || c.unsure || c.moving > 0 || c.asked > 0 || !c.open[0].clear {
		return nil
	}
	return c.open[0]
}

// posted judges the HTTP answer to a switch that nothing speaks against. A middlebox may refuse it too.
func (m *Model) posted(a *ask, r transcript.Record, accepted bool) {
	if accepted || !slices.Contains(a.c.open, a) || !m.easy(a) || !a.clear {
		return
	}
	if client := r.Status/100 == 4; r.Status/100 != 2 && !client || slices.Contains([]int{401, 403, 407, 408, 425, 429},
		r.Status) {
		return
	}
	m.misunderstood(a, r, fmt.Sprintf("the switch of record %d accepted, as nothing speaks against it", a.r.N))
	a.c.drop(a)
}

// misunderstood reports that a switch was refused in a form that says nothing of agents and sessions.
func (m *Model) misunderstood(a *ask, r transcript.Record, expected string) {
	m.broken(r, expected, a.ununderstood()...)
}

// ununderstood returns the clauses that it breaks if a switch that nothing speaks against is not understood.
func (a *ask) ununderstood() []string {
	if a.named {
		return []string{"AS-011", "AS-018", "AS-116", "AC-116"}
	}
	return []string{"AS-011", "AS-018", "AS-116", "AC-116", "AS-041", "AS-081"}
}

// rounds is how many later switches must have been answered, one after the other, before an answer counts as missing.
const rounds = 2

// unanswered judges the switches of a connection that were not answered although later ones were.
func (m *Model) unanswered(c *conn) {
	for _, a := range c.open {
		if len(a.rounds) < rounds || a.what == "" || !a.clear || m.strange || c.unsure {
			continue
		}
		m.out = append(m.out, verdict.Finding{Clauses: a.clauses, At: a.r.N, Expected: a.what,
			Observed: fmt.Sprintf("no answer, although later switches were answered (records %d and %d)", a.rounds[0],
				a.rounds[1])})
	}
}
