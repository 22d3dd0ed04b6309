package steps

import (
	"sync"
	"time"
)

// Lender is something of which a scenario has a part, and others wait for it: a slot among those that run side by side.
// A scenario that waits, and most probably in vain, lends it to another one, and takes it back when it goes on.
type Lender interface {
	Lend() bool // false: no more may be lent
	Back()      // called once for each Lend that was true
}

// lull is how long a scenario has waited at least before its slot is lent. A target that takes longer may be slow
// because so much is asked of it at once: then nothing is lent, unless it is no slower than it was when it was asked
// alone.
const lull = time.Second

// slack is by how much a target may be slower than alone.
const slack = 2

// Alone takes note of the pace of a target that no scenarios have asked side by side so far, before so many do. One
// that handles one message at a time takes that many times as long, and is not waited for in vain.
func (e *Env) Alone(scenarios int) {
	p := &e.patience
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone, p.crowd = p.longest, scenarios
}

// lull is how long a wait lasts at least that may be in vain.
func (p *patience) lull() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(lull, slack*p.alone*time.Duration(p.crowd))
}

// easy reports whether what is awaited is not late for want of room.
func (p *patience) easy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest <= max(lull, slack*p.alone)
}

// quick reports whether the target has taken long for nothing.
func (p *patience) quick() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest <= lull
}

// Idles tells that the scenario does nothing from now on but wait for the target, until goesOn is called. Only one wait
// at a time lends its slot. Held turns are lent later, and never of a slow target, which may need as many workers as it
// has for those that there are.
func (w *World) Idles() (goesOn func()) {
	if w.lender == nil || !w.idle.CompareAndSwap(false, true) {
		return func() {}
	}
	p := &w.Env.patience
	slot, turns := lends(w.lender, p.lull(), p.easy), lends(w.turns, max(shortest, p.lull()), p.quick)
	return func() {
		turns()
		slot()
		w.idle.Store(false)
	}
}

// lends has a lender lend after a time, if it may by then, or later.
func lends(l Lender, after time.Duration, may func() bool) (takesBack func()) {
	if l == nil {
		return func() {}
	}
	var mu sync.Mutex
	var lent, over bool
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(after, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		if lent = may() && l.Lend(); !lent {
			timer.Reset(lull)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		if over = true; lent {
			l.Back()
		}
	}
}
