package steps

import (
	"time"
)

// sluggish is the part of its limit that an answer takes which is late.
const sluggish = 8

// Sluggish is the longest time that the target has taken for an answer which came late in its limit; 0 where none did. It tells a
// target that is overloaded from one that leaves things out.
func (e *Env) Sluggish() time.Duration {
	e.load.Lock()
	defer e.load.Unlock()
	return e.slowest
}

// tookFor takes note of what has come. Limits below limits.event are for what should not come.
func (e *Env) tookFor(took, limit time.Duration) {
	if limit < e.Event() || took < limit/sluggish {
		return
	}
	e.load.Lock()
	defer e.load.Unlock()
	e.slowest = max(e.slowest, took)
}

// Forget forgets what was learnt of the target's pace, and which clauses have failed: what it was asked for from now on is asked in
// other circumstances. No scenario may run meanwhile.
func (e *Env) Forget() {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	e.patience.kinds, e.patience.failed = nil, nil
	e.patience.came, e.patience.longest, e.patience.overtaken = false, 0, false
}
