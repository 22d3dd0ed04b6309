package steps

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// reachedBy counts the obligations of a protocol's model that arose in records, and what became of them; nil if it has
// no model that counts.
func reachedBy(p Protocol, role string, records []transcript.Record) []obligation.Reached {
	modelled, ok := p.(Modelled)
	if !ok {
		return nil
	}
	m, ok := modelled.Model(role, obligation.Ours).(obligation.Reaching)
	if !ok {
		return nil
	}
	for _, r := range transcript.Judged(records) {
		m.Take(r)
	}
	return m.Reached()
}

// addJudge notes what has judged a clause.
func (w *World) addJudge(id string, by verdict.Judge) {
	if !slices.Contains(w.judges[id], by) {
		if w.judges == nil {
			w.judges = map[string][]verdict.Judge{}
		}
		w.judges[id] = append(w.judges[id], by)
	}
}
