package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cucumber/godog"
	"golang.org/x/sync/semaphore"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// slots limits how many scenarios run at once. A scenario that waits in vain puts no load on the target, but would hold
// its slot for a whole limit. It therefore lends the slot to the next scenario (steps.Lender), so that the waits of a
// broken target's scenarios overlap. Two bounds hold: no scenario begins while as many are active as there are slots,
// and at most four times as many, or twice as many with a page or a process each, are open, including those that wait.
// A scenario whose wait ends continues at once, because its limits are running. Until others have ended, more are then
// active than there are slots, and none begins.
//
// Nothing is lent if the user has set the concurrency, which may be all the connections that the target takes, or while
// a target floods what is open.
type slots struct {
	mu    sync.Mutex
	total int
	free  int // negative while lenders are back before their borrowers have ended
	lent  int
	most  int            // limit of lent
	queue []*slotRequest // in order of arrival
}

// slotRequest is a request for slots.
type slotRequest struct {
	n       int
	granted chan struct{}
}

func newSlots(total, most int) *slots { return &slots{total: total, free: total, most: most} }

// takeSlots blocks until n slots are granted.
func (s *slots) takeSlots(ctx context.Context, n int) error {
	s.mu.Lock()
	w := &slotRequest{n: n, granted: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.grantSlots()
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
	s.grantSlots()
	return context.Cause(ctx)
}

// grantSlots hands free slots to the queue in order. The caller holds s.mu.
func (s *slots) grantSlots() {
	for len(s.queue) > 0 && s.free >= s.queue[0].n {
		s.free -= s.queue[0].n
		close(s.queue[0].granted)
		s.queue = s.queue[1:]
	}
}

// giveBack returns n slots.
func (s *slots) giveBack(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.grantSlots()
}

// lender holds the slots of one scenario.
type lender struct {
	s *slots
	n int
}

// LendSlot implements steps.Lender.
func (l lender) LendSlot() bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.lent+l.n > l.s.most || transcript.Crowded() {
		return false
	}
	l.s.lent += l.n
	l.s.free += l.n
	l.s.grantSlots()
	return true
}

// ReclaimSlot implements steps.Lender.
func (l lender) ReclaimSlot() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.lent -= l.n
	l.s.free -= l.n
}

// lendableSlots is how many slots of a driver may be lent at once.
func (r *run) lendableSlots(driver string, parallel int) int {
	p := r.o.Profile
	switch {
	case r.o.Concurrency > 0, p.Concurrency > 0, r.o.Enough != nil, parallel == 1, r.idle != nil:
		return 0
	case driver == browser.Name, p.Reach().Page != "", p.StartsProcesses(driver): // each scenario has one of its own
		return parallel
	}
	return 3 * parallel
}

// maxHeld limits how many turns wait for the model at once. A turn that waits occupies a worker of the target, and some
// targets have few: Python's asyncio.to_thread has four more than there are processors. If parallel scenarios took all
// of them, each would wait for another's turn, though the target is right. A scenario that needs more runs only
// while no other turn waits.
const maxHeld = 4

// occupyWorkers blocks until the turns that the scenario holds leave the target a worker, and returns their number. The
// turns of a scenario that has waited in vain for long hold no worker, and stop counting (steps.Slot.Turns).
func (d *driverRun) occupyWorkers(ctx context.Context, p steps.Protocol, sc *godog.Scenario) (held int, err error) {
	holder, ok := p.(steps.Holder)
	if !ok || !d.crowded {
		return 0, nil
	}
	n := min(holder.MaxWaitingTurns(sc), maxHeld)
	if n == 0 {
		return 0, nil
	}
	return n, d.workers.takeSlots(ctx, n)
}

func newWorkers() *slots { return newSlots(maxHeld, 8*maxHeld) }

// No clause says how many connections a target must take at once, so refusing, delaying or closing connections beyond
// its capacity is not wrong. The limit is measured: after all scenarios have ended, as many idle connections are
// opened as were open at once before, plus a quarter, since a target may notice closed ones late. If the target has a
// limit, scenarios that were cut off run again alone.

// cutOff reports whether a scenario may have been cut off for lack of room: the target closed or refused a
// connection, and sent nothing wrong before that.
func cutOff(res steps.Result) bool {
	at, asked := 0, map[int]bool{}
	for _, rec := range res.Records {
		if rec.Kind == transcript.Open && rec.Dir == transcript.Sent {
			asked[rec.N] = true
		}
		if brokenOff([]transcript.Record{rec}) || rec.Kind == transcript.Response && rec.Status >= 400 && asked[rec.Reply] {
			at = rec.N
			break
		}
	}
	if at == 0 {
		return false
	}
	return !slices.ContainsFunc(res.Failures, func(f steps.Failure) bool {
		return f.Outcome == verdict.Failed && f.At > 0 && f.At < at
	})
}

// roomOf opens more connections than the scenarios had open at once. It returns how many the target accepted before
// it refused, delayed or closed one, and whether it closed an older one for a new one; 0 if it accepted them all.
func (r *run) roomOf(ctx context.Context, d *driverRun) (room int, replaces bool) {
	o, most := d.envs.Opened()
	if most < 2 || ctx.Err() != nil {
		return 0, false
	}
	most += most / 4
	o.Party = "room"
	var ended atomic.Bool
	gone := make([]atomic.Bool, most) // by connection
	var all []driver.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close(driver.Reset)
		}
	}()
	refused := false
	for n := 0; n < most && !ended.Load() && !refused; n++ {
		limited, cancel := deadline.WithLimit(ctx, min(r.o.Profile.Limits.Open.Duration, r.o.Profile.Limits.Event.Duration))
		c, err := d.d.Open(limited, o, func(rec transcript.Record) int {
			if brokenOff([]transcript.Record{rec}) {
				gone[n].Store(true)
				ended.Store(true)
			}
			return 1
		})
		cancel()
		if refused = err != nil; !refused {
			all = append(all, c)
		}
	}
	if refused {
		return len(all), false
	}
	quiet, cancel := deadline.WithLimit(ctx, r.o.Profile.Limits.Quiet.Duration)
	defer cancel()
	<-quiet.Done()
	if !ended.Load() {
		return 0, false
	}
	for n := range all {
		if !gone[n].Load() {
			room++
		}
	}
	return max(room, 1), !gone[len(all)-1].Load()
}

// The transcripts of all scenarios of a process have a bounded memory together (transcript.Together), and what exceeds
// it is lost. A target that sends much without flooding, such as a host with a long uiSpec, may therefore have no more
// scenarios at once than fit. Each scenario reserves what it took when it last ran in this process, against this target
// or another one, and begins once that is free. The first time this is unknown: scenarios that lose records by it run
// again (driverRun.alone).

// memory is that of the scenarios of this process.
var memory = newRations(transcript.Together)

const (
	modest = 64 << 10                // reserved for a scenario that has not run yet; most take less
	greedy = transcript.Together / 4 // the most that a scenario reserves: its target floods it, however much there is
)

// memoryShares shares memory among scenarios. It is safe for concurrent use.
type memoryShares struct {
	free *semaphore.Weighted
	mu   sync.Mutex
	took map[string]int64
}

func newRations(bytes int64) *memoryShares {
	return &memoryShares{free: semaphore.NewWeighted(bytes), took: map[string]int64{}}
}

// reserveMemory blocks until there is memory for a scenario, and returns what gives it back.
func (r *memoryShares) reserveMemory(ctx context.Context, scenario string) (giveBack func(), err error) {
	r.mu.Lock()
	need := min(max(r.took[scenario], modest), greedy)
	r.mu.Unlock()
	if err := r.free.Acquire(ctx, need); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { r.free.Release(need) }, nil
}

// learnMemory takes in how much memory a scenario has taken. One that lost records would have taken more.
func (r *memoryShares) learnMemory(scenario string, res steps.Result) {
	took := int64(res.Memory())
	if res.Lost > 0 {
		took *= 2
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[scenario] = max(took, r.took[scenario]/2) // another target may take less
}

// memoryName names a scenario among those of all protocols and roles.
func (r *run) memoryName(pl Planned) string {
	return steps.Name(r.protocol) + " " + r.role + " " + pl.ID
}
