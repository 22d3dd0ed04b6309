package externalagent

import (
	"testing"
	"time"
)

// TestHorizon checks that the first scenarios watch to the end, and later ones only as long as those needed to know
// all changes.
func TestHorizon(t *testing.T) {
	const end = 2500 * time.Millisecond
	for _, r := range []struct {
		reason string
		latest []time.Duration
		want   time.Duration
	}{
		{"no scenario has watched yet", nil, end},
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
