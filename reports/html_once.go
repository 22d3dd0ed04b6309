package reports

import (
	"regexp"
	"strings"

	"parley/reports/lang"
)

// shownHit is a failure with the scenarios that found the same over other drivers.
type shownHit struct {
	hit
	Also []*Scenario
}

// variable matches what differs between two runs of one scenario: numbers, times, generated ids.
var variable = regexp.MustCompile(`[0-9]+|\b[A-Z0-9]{8,}\b|\b[0-9a-f]{8,}\b`)

// oncePerDriver merges the failures that a scenario has alike over several drivers: same expectation and, apart from
// numbers and generated ids, same observation and difference.
func oncePerDriver(hits []hit) []shownHit {
	var out []shownHit
	at := map[string]int{}
	for _, h := range hits {
		text := strings.Join([]string{h.Failure.Expected, h.Failure.Observed, h.Failure.Diff, h.Failure.Monitor}, "\x00")
		key := h.Scenario.ID + "\x00" + h.Scenario.Name + "\x00" +
			variable.ReplaceAllString(strings.ReplaceAll(text, h.Scenario.Driver, "DRIVER"), "#")
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
