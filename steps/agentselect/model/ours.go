package model

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// InVain returns the remark on a connection that says that the answer to the switch in a record was waited for until a
// limit, and why it did not come.
func InVain(record int, why string) string { return fmt.Sprintf(inVain, record) + why }

const inVain = "the answer to the switch in record %d was waited for in vain: "

// remarked takes a remark of the harness.
func (m *Model) remarked(c *conn, r transcript.Record) {
	if strings.HasPrefix(r.Label, "hook ") {
		m.changed = true
		if m.agents != nil {
			m.former, m.agents = m.agents, nil
		}
	}
	if c == nil {
		return
	}
	for _, a := range slices.Clone(c.open) {
		if why, is := strings.CutPrefix(r.Label, fmt.Sprintf(inVain, a.r.N)); is {
			m.missing(c, a, why)
		}
	}
}

// missing judges a switch whose answer was waited for in vain.
func (m *Model) missing(c *conn, a *ask, why string) {
	what, clauses := a.what, a.clauses
	if what == "" {
		what, clauses = a.owed[0].What+", or "+a.owed[1].What, []string{"AS-013", "AS-042"}
	}
	m.add(a.r, verdict.Finding{Clauses: clauses, At: a.r.N, Expected: what, Observed: why})
	m.tally.Add(a.duty.on, a.duty.owes, obligation.Coverage{Missing: 1})
	c.vain = append(c.vain, a)
	c.drop(a)
}

// unlisted reports whether a legal agent id of a client of the harness is certainly that of no agent.
func (m *Model) unlisted(a *ask) bool {
	id, _ := a.id.(string)
	_, listed := a.c.names[id]
	return m.ours() && !m.changed && a.c.names != nil && !listed
}

// uncalledFor judges an agent_switched to a client of the harness that has no open switch. One that names a session may
// be announced wherever that lives.
func (m *Model) uncalledFor(c *conn, r transcript.Record, current string) {
	late := slices.ContainsFunc(c.vain, func(a *ask) bool { return a.fits(r) })
	if m.strange || c.unsure || late || m.named[current] {
		return
	}
	if s := c.bound; s != nil && s.refused == current && current != "" {
		m.broken(r, "no agent_switched, as the switch to "+current+" was refused", "AS-054")
	}
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
	out := append(slices.Clone(foreign), "AS-055", "AS-056", "AS-128", "AS-129", "AC-081", "AC-115")
	for _, m := range All() {
		if m.Name != FoundBySteps {
			out = append(out, m.Clauses...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
