package steps

import (
	"sync"
	"time"

	"parley/transport/driver"
)

// Lender is a scenario's share of something that other scenarios wait for, such as a slot to run in. A scenario that
// waits, most probably in vain, lends it to another and takes it back when it continues.
type Lender interface {
	LendSlot() bool // false: no more may be lent
	ReclaimSlot()   // called once for each Lend that returned true
}

// lull is how long a scenario must have waited before its slot is lent. A target that takes longer to answer may be
// slow because of the load. Then nothing is lent, unless the target is no slower than it was without parallel
// scenarios.
const lull = time.Second

// slack is how many times slower than without load a target may be.
const slack = 2

// Alone records the pace of the target before so many scenarios run in parallel. A target that handles one message at
// a time takes that many times longer, so that waits for it are not in vain.
func (e *Env) Alone(scenarios int) {
	p := &e.patience
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone, p.crowd, p.kept = p.longest, scenarios, 0
}

// lullLength returns how long a wait must last before it is likely to be in vain.
func (p *waitHistory) lullLength() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(lull, slack*p.alone*time.Duration(p.crowd))
}

// parallelLull returns how long a wait must last before its slot is lent because the target handles scenarios side by
// side, each as slowly as without load.
func (p *waitHistory) parallelLull() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alone < lull {
		return lull
	}
	return min(p.alone/8, lull)
}

// spendKept reports whether the target has kept its pace without load for as many answers as there were parallel
// scenarios, and for one more since the last slot that was lent on these grounds: so more are open only once it was
// seen to bear those that are.
func (p *waitHistory) spendKept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept <= p.crowd || p.longest > max(lull, slack*p.alone) {
		return false
	}
	p.kept--
	return true
}

// withinUnloadedPace reports whether the target is no slower than its pace without load allows.
func (p *waitHistory) withinUnloadedPace() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest <= max(lull, slack*p.alone)
}

// answeredWithinLull reports whether the target has answered everything within a lull.
func (p *waitHistory) answeredWithinLull() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest <= lull
}

// Idles says that the scenario only waits for the target until goesOn is called. Only one wait at a time lends the
// slot. Held turns are lent later, and never of a slow target, which may need all its workers for the turns that it
// has.
func (w *World) Idles() (goesOn func()) {
	if w.lender == nil || !w.idle.CompareAndSwap(false, true) {
		return func() {}
	}
	p, began := &w.Env.patience, time.Now()
	long := p.lullLength()
	slot := lendAfter(w.lender, min(long, p.parallelLull()), func() bool {
		return time.Since(began) >= long && p.withinUnloadedPace() || p.spendKept()
	})
	turns := lendAfter(w.turns, max(shortest, long), p.answeredWithinLull)
	return func() {
		turns()
		slot()
		w.idle.Store(false)
	}
}

// lendAfter makes a lender lend after a time, as soon as may allows it. The returned function takes back what was lent.
func lendAfter(l Lender, after time.Duration, may func() bool) (takesBack func()) {
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
		if lent = may() && l.LendSlot(); !lent {
			timer.Reset(lull)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		if over = true; lent {
			l.ReclaimSlot()
		}
	}
}

// connectionCounter counts the connections of all scenarios over one driver.
type connectionCounter struct {
	mu    sync.Mutex
	first *driver.OpenOptions // options of the first connection that was opened
	now   int
	most  int // maximum at once
}

// countConnection counts a connection as soon as it is requested, and returns a function that stops counting it. Pages
// and processes are not connections to the target.
func (e *Env) countConnection(o driver.OpenOptions) (closed func()) {
	if o.Page != nil || o.Process != nil {
		return func() {}
	}
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	e.opened.now++
	e.opened.most = max(e.opened.most, e.opened.now)
	return func() {
		e.opened.mu.Lock()
		defer e.opened.mu.Unlock()
		e.opened.now--
	}
}

// opensFirst keeps the options of the first connection.
func (e *Env) opensFirst(o driver.OpenOptions) {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	if e.opened.first == nil && o.Page == nil && o.Process == nil {
		e.opened.first = &o
	}
}

// countedConn is a connection that is counted while it is open.
type countedConn struct {
	driver.Conn
	once   sync.Once
	closed func()
}

// Close implements driver.Conn.
func (c *countedConn) Close(how driver.CloseMode) error {
	err := c.Conn.Close(how)
	c.once.Do(c.closed)
	return err
}

// Busy reports whether any connection is open.
func (e *Env) Busy() bool {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	return e.opened.now > 0
}

// Opened returns the options of the run's first connection, and the maximum open at once; 0 if there was none.
func (e *Env) Opened() (first driver.OpenOptions, most int) {
	e.opened.mu.Lock()
	defer e.opened.mu.Unlock()
	if e.opened.first == nil {
		return driver.OpenOptions{}, 0
	}
	return *e.opened.first, e.opened.most
}
