package steps

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// countReached counts the obligations of a protocol's model that arose in the scenario, and what became of them; nil if
// it has no model that counts.
func (w *World) countReached(p Protocol, records []transcript.Record) []obligation.Reached {
	modelled, ok := p.(Modelled)
	switch {
	case !ok:
		return nil
	case w.Model != nil:
		if m, ok := w.Model().(obligation.Reaching); ok {
			return m.Reached()
		}
		return nil
	}
	m, ok := modelled.Model(w.Env.Role, obligation.Ours).(obligation.Reaching)
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
