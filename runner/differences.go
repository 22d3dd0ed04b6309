package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/jsondiff"
	"parley/reports"
	"parley/steps"
)

// differences notes each scenario that passed over two drivers but took a different course over them. Transports
// should not make a difference.
func (r *run) differences() []reports.Note {
	comparer, ok := r.protocol.(steps.Comparer)
	if !ok {
		return nil
	}
	var out []reports.Note
	ids := slices.Sorted(maps.Keys(r.traces))
	for _, id := range ids {
		if r.racing[id] {
			continue
		}
		a, okA := r.traces[id]["sse"]
		b, okB := r.traces[id]["ws"]
		if !okA || !okB || r.results["sse"][id].Outcome != verdict.Passed || r.results["ws"][id].Outcome != verdict.Passed {
			continue
		}
		if comparer.SameCourse(a, b) {
			continue
		}
		if diff := jsondiff.Lines(a, b); diff != "" {
			out = append(out, reports.Note{Kind: "driver-difference", Scenario: id,
				Text: fmt.Sprintf("sse (-) and ws (+) differ:\n%s", strings.TrimRight(diff, "\n"))})
		}
	}
	return out
}
