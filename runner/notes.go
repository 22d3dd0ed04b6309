package runner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/jsondiff"
	"parley/reports"
	"parley/steps"
)

// noteDifferences notes each scenario that passed over two drivers but took a different course over them. Transports
// should not make a difference.
func (r *run) noteDifferences() []reports.Note {
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

// tellRepeats notes once what scenarios have learnt of the target, that it sends events twice, and that it sends those
// of other connections, where no clause forbids it. None of these counted as an answer.
func (r *run) tellRepeats(d *driverRun) {
	r.tellAstray(d)
	d.envs.Learnt.Range(func(_, learnt any) bool {
		if noter, ok := learnt.(steps.RunNoter); ok {
			for _, text := range noter.RunNotes() {
				r.addNote(reports.Note{Kind: "target", Text: r.redact.String(text)})
			}
		}
		return true
	})
	count, kinds, first := d.envs.Again()
	if strays, _ := d.envs.Strays(); count == 0 || strays > 0 { // the repeated events may belong to another scenario
		return
	}
	r.addNote(reports.Note{Kind: "target",
		Text: fmt.Sprintf("over %s, %d events came a second time, of type %s, though no message had asked "+
			"for them; the first was %s. No clause forbids that, and no copy counted as an answer, but clients may "+
			"mishandle them",
			d.name, count, strings.Join(kinds, ", "), first)})
}

func (r *run) tellAstray(d *driverRun) {
	count, kinds, first := d.envs.Astray()
	if count == 0 {
		return
	}
	r.addNote(reports.Note{Kind: "target",
		Text: fmt.Sprintf("over %s, %d messages of sessions that other connections had set up arrived, of type %s; the "+
			"first was %s. No clause forbids that connections share one bus, and none of these messages counted, but a "+
			"reader who does not look at the session gets what is meant for others",
			d.name, count, strings.Join(kinds, ", "), first)})
}

// long is how long sequential scenarios may take before a note explains why.
const long = time.Minute

// tellShared notes why a run with sequential scenarios took long, and how to change that. The target is slow but not
// wrong.
func (r *run) tellShared(d *driverRun, took time.Duration) {
	reach := r.o.Profile.Reach()
	if reach.Shared == "" || r.idle != nil || took < long {
		return
	}
	text := fmt.Sprintf("over %s, the scenarios ran one after another for %.0f s, because they share %s",
		d.name, took.Seconds(), reach.Shared)
	if reach.Apart != "" {
		text += "; to run them in parallel, " + reach.Apart
	}
	r.addNote(reports.Note{Kind: "target", Text: text})
}
