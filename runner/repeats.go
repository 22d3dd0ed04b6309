package runner

import (
	"fmt"
	"strings"

	"parley/reports"
)

// tellRepeats notes once that the target sends events twice. No clause forbids it, and no copy counted as an answer.
func (r *run) tellRepeats(d *driverRun) {
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
