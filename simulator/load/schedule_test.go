package load

import (
	"math"
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	for _, row := range []struct {
		shape Shape
		count int
		half  float64 // share of the acts that arrive in the first half
	}{
		{Soak, 1000, 0.5},
		{Ramp, 500, 0.25},
		{Step, 600, 1.5 * 2 / 10}, // (1 + 2 + 3/2) of 15
	} {
		s := schedule{rate: 100, duration: 10 * time.Second, shape: row.shape}
		if got := s.countActs(); got != row.count {
			t.Errorf("%s: %d acts, want %d", row.shape, got, row.count)
		}
		before, early := time.Duration(-1), 0
		for n := range s.countActs() {
			at := s.actTime(n)
			if at < before || at > s.duration {
				t.Fatalf("%s: act %d arrives at %v, after %v", row.shape, n, at, before)
			}
			if before = at; at < s.duration/2 {
				early++
			}
		}
		if share := float64(early) / float64(s.countActs()); math.Abs(share-row.half) > 0.01 {
			t.Errorf("%s: %.2f of the acts arrive in the first half, want %.2f", row.shape, share, row.half)
		}
		if before < s.duration*9/10 {
			t.Errorf("%s: the last act arrives at %v", row.shape, before)
		}
	}
}

func TestStages(t *testing.T) {
	s := schedule{rate: 100, duration: 10 * time.Second, shape: Step}
	for at, want := range map[time.Duration]int{0: 0, 1999 * time.Millisecond: 0, 2 * time.Second: 1, 9 * time.Second: 4,
		10 * time.Second: 4} {
		if got := s.stepAt(at); got != want {
			t.Errorf("%v is in step %d, want %d", at, got, want)
		}
	}
	counts := make([]int, steppings)
	for n := range s.countActs() {
		counts[s.stepAt(s.actTime(n))]++
	}
	for i, n := range counts {
		if want := 40 * (i + 1); n < want-1 || n > want+1 {
			t.Errorf("%d acts arrive in step %d, want %d", n, i, want)
		}
	}
}
