package ws

import (
	"strings"
	"testing"
)

// TestAllocations: what a chunk allocates grows with its slabs and its long frames, not with the bytes of a frame.
func TestAllocations(t *testing.T) {
	feed := func(chunk string, fromServer bool) float64 {
		b, p := []byte(chunk), NewParser(fromServer, Limits{})
		return testing.AllocsPerRun(20, func() { p.Feed(b) })
	}
	for _, mask := range []uint32{0, key} {
		one := func(n int) float64 { return feed(frame(text1, strings.Repeat("x", n), mask), mask == 0) }
		// A long payload is unmasked in memory of its own.
		if short, long := one(1<<10), one(640<<10); long > short+1 {
			t.Errorf("with the mask %x, a frame of 640 KiB takes %v allocations, one of 1 KiB %v", mask, long, short)
		}
		if got := feed(strings.Repeat(frame(text1, strings.Repeat("x", 50), mask), 200), mask == 0); got > 15 {
			t.Errorf("with the mask %x, 200 frames of 50 bytes take %v allocations", mask, got)
		}
	}
}
