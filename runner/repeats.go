package runner

import (
	"fmt"
	"strings"

	"parley/reports"
	"parley/steps"
)

// tellRepeats notes once what scenarios have learnt of the target, that it sends events twice, and that it sends those
// of other connections, where no clause forbids it. None of these counted as an answer.
func (r *run) tellRepeats(d *driverRun) {
	r.tellAstray(d)
	d.envs.Learnt.Range(func(_, learnt any) bool {
		if noter, ok := learnt.(steps.RunNoter); ok {
			for _, text := range noter.RunNotes() {
				r.note(reports.Note{Kind: "target", Text: r.redact.String(text)})
			}
		}
		return true
	})
	count, kinds, first := d.envs.Again()
	if strays, _ := d.envs.Strays(); count == 0 || strays > 0 { // the repeated events may belong to another scenario
		return
	}
	r.note(reports.Note{Kind: "target",
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
	r.note(reports.Note{Kind: "target",
		Text: fmt.Sprintf("over %s, %d messages of sessions that other connections had set up arrived, of type %s; the "+
			"first was %s. No clause forbids that connections share one bus, and none of these messages counted, but a "+
			"reader who does not look at the session gets what is meant for others",
			d.name, count, strings.Join(kinds, ", "), first)})
}
