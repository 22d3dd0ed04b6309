package runner

import (
	"fmt"
	"time"

	"parley/reports"
)

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
	r.note(reports.Note{Kind: "target", Text: text})
}
