package runner

import (
	"fmt"
	"time"

	"parley/reports"
)

// long is how much time scenarios may take one after the other until a note says why they do.
const long = time.Minute

// tellShared notes why a run took long whose scenarios had to run one after the other, and what would change that: the
// target is slow and not wrong, and its author waits.
func (r *run) tellShared(d *driverRun, took time.Duration) {
	reach := r.o.Profile.Reach()
	if reach.Shared == "" || took < long {
		return
	}
	text := fmt.Sprintf("over %s, the scenarios ran one after the other for %.0f s, since they share %s",
		d.name, took.Seconds(), reach.Shared)
	if reach.Apart != "" {
		text += "; to have them run side by side, " + reach.Apart
	}
	r.note(reports.Note{Kind: "target", Text: text})
}
