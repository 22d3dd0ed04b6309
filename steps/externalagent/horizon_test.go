package externalagent

import (
	"testing"
	"time"
)

// TestHorizon: scenarios watch to the end until some have, and then for as long as those needed to know all that
// changes.
func TestHorizon(t *testing.T) {
	const end = 2500 * time.Millisecond
	for _, r := range []struct {
		reason string
		latest []time.Duration
		want   time.Duration
	}{
		{"nobody has watched yet", nil, end},
		{"too few have", []time.Duration{time.Millisecond, time.Millisecond}, end},
		{"a clock of milliseconds is known at once", []time.Duration{time.Millisecond, 2 * time.Millisecond,
			time.Millisecond}, 108 * time.Millisecond},
		{"a clock of seconds takes to the end", []time.Duration{time.Millisecond, 2 * time.Second, time.Millisecond}, end},
	} {
		h := &horizon{}
		for _, l := range r.latest {
			h.watched(l)
		}
		if got := h.enough(end); got != r.want {
			t.Errorf("%s: %v, want %v", r.reason, got, r.want)
		}
	}
}
