package runner

import (
	"context"
	"slices"
	"sync"

	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// slots limits how many scenarios run at once. A scenario that waits in vain puts no load on the target, but would hold
// its slot for a whole limit. It therefore lends the slot to the next scenario (steps.Lender), so that the waits of a
// broken target's scenarios overlap. Two bounds hold: no scenario begins while as many are active as there are slots,
// and at most four times as many, or twice as many pages, are open, including those that wait. A scenario whose wait
// ends continues at once, because its limits are running. Until others have ended, more are then active than there are
// slots, and none begins.
//
// Nothing is lent if the user has set the concurrency, which may be all the connections that the target takes, if each
// scenario has a process, or while a target floods what is open.
type slots struct {
	mu    sync.Mutex
	total int
	free  int // negative while lenders are back before their borrowers have ended
	lent  int
	most  int     // limit of lent
	queue []*wish // in order of arrival
}

// wish is a request for slots.
type wish struct {
	n       int
	granted chan struct{}
}

func newSlots(total, most int) *slots { return &slots{total: total, free: total, most: most} }

// take blocks until n slots are granted.
func (s *slots) take(ctx context.Context, n int) error {
	s.mu.Lock()
	w := &wish{n: n, granted: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.grant()
	s.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, w); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	} else { // granted while ctx ended
		s.free += n
	}
	s.grant()
	return context.Cause(ctx)
}

// grant hands free slots to the queue in order. The caller holds s.mu.
func (s *slots) grant() {
	for len(s.queue) > 0 && s.free >= s.queue[0].n {
		s.free -= s.queue[0].n
		close(s.queue[0].granted)
		s.queue = s.queue[1:]
	}
}

// give returns n slots.
func (s *slots) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.grant()
}

// lender holds the slots of one scenario.
type lender struct {
	s *slots
	n int
}

// Lend implements steps.Lender.
func (l lender) Lend() bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.lent+l.n > l.s.most || transcript.Crowded() {
		return false
	}
	l.s.lent += l.n
	l.s.free += l.n
	l.s.grant()
	return true
}

// Back implements steps.Lender.
func (l lender) Back() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.lent -= l.n
	l.s.free -= l.n
}

// lendable is how many slots of a driver may be lent at once.
func (r *run) lendable(driver string, parallel int) int {
	p := r.o.Profile
	switch {
	case r.o.Concurrency > 0, p.Concurrency > 0, r.o.Enough != nil, parallel == 1, p.StartsProcesses(driver),
		r.idle != nil:
		return 0
	case driver == browser.Name || p.Reach().Page != "": // each scenario has a page
		return parallel
	}
	return 3 * parallel
}
