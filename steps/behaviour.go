package steps

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// countReached counts the obligations of the scenario's model that arose, and what became of them; nil if it has no
// model that counts.
func (w *World) countReached() []obligation.Reached {
	if w.Model != nil {
		if m, ok := w.Model().(obligation.Reaching); ok {
			return m.Reached()
		}
	}
	return nil
}

// readModel has monitors read the scenario's model, and ends it, in place of folding the records again, if they are to
// judge all of these, and by what the harness knows.
func (w *World) readModel(monitors []monitor.Monitor, whole bool) []monitor.Monitor {
	if w.Model == nil || !whole {
		return monitors
	}
	model := w.Model()
	model.End()
	out := slices.Clone(monitors)
	for i, m := range out {
		if m.Read != nil && !m.Passive {
			out[i].Check = func([]transcript.Record) []verdict.Finding { return m.Read(model) }
		}
	}
	return out
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
