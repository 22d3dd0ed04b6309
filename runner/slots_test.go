package runner

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"parley/target"
	"parley/transport/driver/browser"
)

// TestSlots: a lent slot goes to the next waiting scenario. A lender that returns does not wait, and none begins
// until others have ended. At most as many are open as there are slots and loans.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2, 2)
		var open atomic.Int32
		for range 6 {
			go func() {
				if s.takeSlots(t.Context(), 1) == nil {
					open.Add(1)
				}
			}()
			synctest.Wait()
		}
		one := lender{s, 1}
		expect := func(when string, want int32) {
			t.Helper()
			synctest.Wait()
			if got := open.Load(); got != want {
				t.Errorf("%s: %d have begun, want %d", when, got, want)
			}
		}
		expect("at first", 2)
		for i, want := range []bool{true, true, false} {
			if one.LendSlot() != want {
				t.Errorf("two slots may be lent, and no third: the slot %d", i+1)
			}
		}
		expect("two wait in vain", 4)
		one.ReclaimSlot()
		expect("one comes back", 4)
		s.giveBack(1)
		expect("one has ended, and pays the debt", 4)
		s.giveBack(1)
		expect("another has ended", 5)
		one.ReclaimSlot()
		s.giveBack(1)
		expect("a third ends, for who came back", 5)
		s.giveBack(1)
		expect("a fourth ends", 6)
		s.giveBack(2)
		if s.free != 2 || s.lent != 0 {
			t.Errorf("in the end %d slots are free, and %d lent", s.free, s.lent)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.takeSlots(gone, 3); err == nil || len(s.queue) != 0 {
			t.Errorf("who has gone still waits: %v", err)
		}
	})
}

// TestLendable: nothing is lent if the user set the concurrency; with pages or processes, as many slots as there are.
func TestLendable(t *testing.T) {
	free, set := &target.Profile{}, &target.Profile{Concurrency: 4}
	for _, row := range []struct {
		reason   string
		o        Options
		driver   string
		parallel int
		want     int
	}{
		{"by default", Options{Profile: free}, target.SSE, 32, 96},
		{"pages", Options{Profile: free}, browser.Name, 3, 3},
		{"the profile sets the concurrency", Options{Profile: set}, target.SSE, 4, 0},
		{"the command line sets it", Options{Profile: free, Concurrency: 32}, target.SSE, 32, 0},
		{"processes", Options{Profile: free}, target.Stdio, 8, 8},
		{"one at a time", Options{Profile: free}, target.SSE, 1, 0},
	} {
		if got := (&run{o: row.o}).lendableSlots(row.driver, row.parallel); got != row.want {
			t.Errorf("%s: %d may be lent, want %d", row.reason, got, row.want)
		}
	}
}
