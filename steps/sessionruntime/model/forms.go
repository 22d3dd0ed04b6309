package model

import (
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"
)

// otherForm reports whether two ids are the same text in different Unicode forms. Ids are compared byte by byte: who
// has given one does not recognise it in another form.
func otherForm(a, b string) bool { return a != b && norm.NFC.String(a) == norm.NFC.String(b) }

// misspelt judges the id by which a message that nothing explains names an agent: it may be that of an agent of the
// session, or of one that is to be added or removed, in another Unicode form.
func (m *Model) misspelt(p Message) bool {
	ids := map[Kind]struct {
		id      string
		clauses []string
	}{Route: {p.TargetID, []string{"RT-015", "RT-075"}}, RequestAdd: {p.AgentID, []string{"RT-121"}},
		RequestRemove: {p.AgentID, []string{"RT-110"}}, Added: {p.AgentID, []string{"RT-127"}},
		Removed: {p.AgentID, []string{"RT-116"}}}
	named, ok := ids[p.Kind()]
	if _, known := m.presence[named.id]; !ok || known {
		return false
	}
	all := listOf(m.active)
	for agent := range m.presence {
		all = append(all, agent)
	}
	for _, mv := range m.moves {
		all = append(all, mv.agent)
	}
	i := slices.IndexFunc(all, func(agent string) bool { return otherForm(agent, named.id) })
	if i < 0 || slices.Contains(all, named.id) {
		return false
	}
	m.Fail(p, named.clauses, "the id "+strconv.QuoteToASCII(all[i])+", as the agent is called", "%s",
		strconv.QuoteToASCII(named.id))
	return true
}
