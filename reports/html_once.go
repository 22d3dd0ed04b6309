package reports

import (
	"strings"

	"parley/reports/causes"
	"parley/reports/lang"
)

// shownHit is a failure with the scenarios that found the same over other drivers.
type shownHit struct {
	hit
	Also []*Scenario
}

// oncePerDriver merges the failures that a scenario has alike over several drivers: those of one kind, as causes are of
// one kind.
func oncePerDriver(hits []hit) []shownHit {
	var out []shownHit
	at := map[string]int{}
	for _, h := range hits {
		key := strings.Join([]string{h.Scenario.ID, h.Scenario.Name, causes.Kind(h.Failure.Expected),
			causes.Kind(h.Failure.Observed), h.Failure.Monitor}, "\x00")
		i, known := at[key]
		if known && out[i].Scenario.Driver != h.Scenario.Driver {
			out[i].Also = append(out[i].Also, h.Scenario)
			continue
		}
		if !known {
			at[key] = len(out)
		}
		out = append(out, shownHit{hit: h})
	}
	return out
}

// restOf counts the failures in a list that oncePerDriver has shortened.
func restOf(list []shownHit, l lang.Lang) string {
	n := 0
	for _, h := range list {
		n += h.times() * (1 + len(h.Also))
	}
	return l.Count(n, "failure")
}
