package runner

import (
	"context"
	"slices"
	"sync"

	"parley/driver/browser"
)

// A scenario that waits in vain does nothing at the target, and holds its slot for as long as a limit. It lends the
// slot to the next one (steps.Lender), so that what a broken target leaves out is waited for side by side. Two bounds
// hold: no scenario begins while as many as there are slots are active, and never are more open than four times that,
// of pages twice, waiting ones included. A scenario that waits no longer goes on at once, since its limits run; until
// others have ended, more are active than there are slots, and none begins.
//
// Nothing is lent where somebody has named a number, which may be all the connections that the target takes, and where
// each scenario starts a process.
type slots struct {
	mu    sync.Mutex
	total int
	free  int // below 0 where lenders have come back before those who borrowed have ended
	lent  int
	most  int     // that may be lent at once
	queue []*wish // in the order in which they came
}

// wish is one that waits for slots.
type wish struct {
	n       int
	granted chan struct{}
}

func newSlots(total, most int) *slots { return &slots{total: total, free: total, most: most} }

// take waits for n slots.
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
	} else { // granted at the same moment
		s.free += n
	}
	s.grant()
	return context.Cause(ctx)
}

// grant gives free slots to whoever is next. s is locked.
func (s *slots) grant() {
	for len(s.queue) > 0 && s.free >= s.queue[0].n {
		s.free -= s.queue[0].n
		close(s.queue[0].granted)
		s.queue = s.queue[1:]
	}
}

// give gives n slots back.
func (s *slots) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.grant()
}

// lender is the slots of one scenario.
type lender struct {
	s *slots
	n int
}

// Lend implements steps.Lender.
func (l lender) Lend() bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.lent+l.n > l.s.most {
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

// lendable is how many slots may be lent at once, of those over one driver.
func (r *run) lendable(driver string, parallel int) int {
	p := r.o.Profile
	switch {
	case r.o.Concurrency > 0, p.Concurrency > 0, r.o.Enough != nil, parallel == 1, p.StartsProcesses(driver):
		return 0
	case driver == browser.Name: // each has a page
		return parallel
	}
	return 3 * parallel
}
