package model

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// InVain returns the remark on a connection that says that something was waited for until a limit, and why it did not
// come: an event that greets the connection, or the AnswerTo a switch.
func InVain(what, why string) string { return what + inVain + why }

// Remarks on a connection: the turn of its session has begun, and goes on until its model is released or the client
// says something; its model is released; and the turn went on after the latest switch, whether or not it has ended
// since.
const (
	TurnRuns   = "its turn runs"
	TurnMayEnd = "its turn may end"
	TurnWentOn = "its turn went on"
)

// AnswerTo names the answer to the switch in a record.
func AnswerTo(record int) string { return fmt.Sprintf("the answer to the switch in record %d", record) }

const inVain = " was waited for in vain: "

// remarked takes a remark of the harness.
func (m *Model) remarked(c *conn, r transcript.Record) {
	if strings.HasPrefix(r.Label, "hook ") {
		m.change, m.acted = hooked(r), r.N
		m.changed, m.removed = true, m.removed || strings.HasPrefix(r.Label, "hook remove")
		if m.agents != nil {
			m.former, m.agents = m.agents, nil
		}
	}
	if c == nil {
		c = m.ended[r.Conn] // whose end ended the wait
	}
	what, why, vain := strings.Cut(r.Label, inVain)
	if h := m.change; what == Changed && h.list.N > 0 {
		m.broken(h.list, h.expected(), "AS-027")
	}
	switch turn := r.Label == TurnRuns || r.Label == TurnMayEnd || r.Label == TurnWentOn; {
	case r.Label == Fenced && c != nil:
		m.fenced(c, r)
	case r.Label == Tried && c != nil && c.bound != nil:
		m.tried(c.bound)
	case turn && c != nil && c.bound != nil:
		c.bound.holds = r.Label == TurnRuns && c.bound.running
		if r.Label != TurnMayEnd {
			m.goesOnStill(c.bound)
		}
	case c == nil || !vain:
		return
	}
	for _, s := range m.sessions {
		if what == ReplyTo(s.chat) || what == EndOf(s.chat) {
			m.silent(s, why, what == EndOf(s.chat))
		}
	}
	if s := c.seeking; s != nil && what == GivenTo(s.r.N) {
		m.ungiven(s, why)
	}
	if what == vocab.ConnectedEvent || what == vocab.AgentListEvent {
		m.ungreeted(c, what, why)
	}
	for _, a := range slices.Clone(c.open) {
		if what == AnswerTo(a.r.N) || what == ConfirmationOf(a.r.N) {
			m.missing(c, a, why, what == ConfirmationOf(a.r.N))
		}
	}
	if a := c.latest; a != nil && what == ConfirmationOf(a.r.N) {
		m.unconfirmed(a, a.no)
	}
}

// ungreeted judges a connection on which an event of its greeting was waited for in vain.
func (m *Model) ungreeted(c *conn, what, why string) {
	clauses, expected := []string{"AS-030", "AS-031", "AS-033", "AS-105"}, "the event connected"
	switch {
	case what == vocab.AgentListEvent && c.acted:
		return
	case what == vocab.AgentListEvent:
		expected = "agent_list without any message of the client"
		clauses = []string{"AS-008", "AS-016", "AS-083", "AS-033", "AS-105", "AS-117", "AC-110"}
	case c.events == 0:
		clauses = append(clauses, "AS-008", "AS-083", "AC-110")
	}
	m.vain(c.opened, expected, why, clauses...)
}

// vain adds that what was waited for because of a record did not come.
func (m *Model) vain(cause int, expected, why string, clauses ...string) {
	m.out = append(m.out, verdict.Finding{Clauses: clauses, At: cause, Expected: expected, Observed: why,
		Miss: &verdict.Miss{Reason: why}})
}

// ConfirmationOf names the answer to a switch that nothing speaks against, as the step knows that waits for it.
func ConfirmationOf(record int) string { return fmt.Sprint("the confirmation of record ", record) }

// missing judges a switch whose answer was waited for in vain.
func (m *Model) missing(c *conn, a *ask, why string, confirms bool) {
	what, clauses := a.what, a.clauses
	switch refused := a.owed[0].Clauses[0] != "AS-042"; {
	case confirms && !refused && strings.HasPrefix(why, "HTTP "):
		what, clauses = "agent_switched", append(a.ununderstood(), m.why(a, "another error")...)
	case confirms && !refused:
		what, clauses = "agent_switched", append([]string{"AS-011", "AS-017", "AS-042", "AS-084", "AS-116"},
			m.why(a, silence)...)
	case refused && m.conns[c.name] == c: // else the switch may have ended the connection
		clauses = slices.Concat(clauses[len(clauses)-2:], clauses[:len(clauses)-2])
	case what == "":
		what = a.owed[0].What + ", or " + a.owed[1].What
		if clauses = append(slices.Clone(clauses), "AS-013", "AS-042", "AS-085"); a.elsewhere() {
			clauses = append(clauses, "AS-095")
		} else if a.of != nil && a.of.chats {
			clauses = append(clauses, "AS-064", "AS-109", "AS-110")
		}
	}
	m.vain(a.r.N, what, why, clauses...)
	m.tally.Add(a.duty.on, a.duty.owes, obligation.Coverage{Missing: 1})
	c.vain = append(c.vain, a)
	c.drop(a)
}

// unlisted reports whether a legal agent id of a client of the harness is certainly that of no agent.
func (m *Model) unlisted(a *ask) bool {
	id, _ := a.id.(string)
	names := a.c.names
	if m.changed { // if agents were only added, what its own list has is there still
		names = map[bool]map[string]any{true: m.agents}[m.removed]
	}
	_, listed := names[id]
	return m.ours() && names != nil && !listed && !slices.Contains(vocab.BuiltinIDs, id)
}

// apart judges that the id of a connection is that of no other open one.
func (m *Model) apart(c *conn, r transcript.Record) {
	for _, o := range m.conns {
		if o != c && o.id == c.id && c.id != "" && m.ours() {
			m.broken(r, "an id for each connection: "+o.name+" has "+c.id, "AS-031")
		}
	}
}

// Clauses lists the clauses that the model judges in a run.
func Clauses() []string {
	out := append(slices.Clone(foreign), "AS-002", "AS-010", "AS-055", "AS-056", "AS-128", "AS-129", "AC-081", "AC-115")
	for _, m := range All() {
		if m.Name != FoundBySteps {
			out = append(out, m.Clauses...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
