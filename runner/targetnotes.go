package runner

import (
	"regexp"
	"strings"

	"parley/reports"
	"parley/steps"
)

// mostTargetNotes bounds the notes of noteTarget in a run.
const mostTargetNotes = 20

// varying matches what may differ between two exceptions of the same kind: ports, ids, nonces.
var varying = regexp.MustCompile(`\w*\d\w*`)

// noteTarget adds an observation of a scenario about the target as a whole, unless the run has it already.
func (r *run) noteTarget(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes := 0
	for _, n := range r.notes {
		if n.Kind != "target" {
			continue
		}
		if notes++; notes == mostTargetNotes || n.Text == text || sameException(n.Text, text) {
			return
		}
	}
	r.notes = append(r.notes, reports.Note{Kind: "target", Text: text})
}

func sameException(a, b string) bool {
	return strings.HasPrefix(a, steps.PageException) &&
		varying.ReplaceAllString(a, "#") == varying.ReplaceAllString(b, "#")
}
