package steps

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pool counts loans. Several waits may use it at once; read it when they are over, or durably blocked.
type pool struct {
	mu          sync.Mutex
	lent, times int
}

func (p *pool) LendSlot() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent++
	p.times++
	return true
}

func (p *pool) ReclaimSlot() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent--
}

// TestLending: a scenario lends its slot after waiting for a second and its held turns after two, and takes both back
// when it continues. Nothing is lent while the target may be slow because of the load.
func TestLending(t *testing.T) {
	for _, row := range []struct {
		reason         string
		alone, longest time.Duration
		waits          time.Duration
		slots, turns   int
	}{
		{"a short wait", 0, 0, lull - time.Millisecond, 0, 0},
		{"a wait in vain", 0, 0, lull + time.Millisecond, 1, 0},
		{"a long one", 0, 0, 9 * time.Second, 1, 1},
		{"slow only under load", 0, 3 * time.Second, 9 * time.Second, 0, 0},
		{"as slow as without load", 3 * time.Second, 4 * time.Second, 9 * time.Second, 1, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world(t, false, "@AS-001")
				slots, turns := &pool{}, &pool{}
				w.lender, w.turns = slots, turns
				w.Env.patience.longest = row.alone
				w.Env.Alone(1)
				w.Env.patience.longest = row.longest
				goesOn := w.Idles()
				inner := w.Idles() // a nested wait lends nothing more
				time.Sleep(row.waits)
				synctest.Wait()
				if slots.lent != row.slots || turns.lent != row.turns {
					t.Errorf("lent %d slots and %d turns, want %d and %d", slots.lent, turns.lent, row.slots, row.turns)
				}
				inner()
				goesOn()
				time.Sleep(time.Minute)
				if slots.lent != 0 || turns.lent != 0 || slots.times != row.slots {
					t.Errorf("%d slots and %d turns are still lent", slots.lent, turns.lent)
				}
			})
		})
	}
}

// TestLendingOfSlowTarget: a target that answers each of two scenarios as slowly as one is slow, but not overloaded. As
// many waits lend their slots, soon, as it has answered beyond that, until it becomes slower.
func TestLendingOfSlowTarget(t *testing.T) {
	const alone, begun = 2 * time.Second, 300 * time.Millisecond
	answered := func(took time.Duration) finishedWait {
		return finishedWait{kind: "switch", limit: 10 * time.Second, took: took, whole: true, came: true}
	}
	for _, row := range []struct {
		reason  string
		answers []time.Duration
		lent    int
	}{
		{"nothing is known", nil, 0},
		{"two answers to two scenarios", []time.Duration{alone, alone}, 0},
		{"one more", []time.Duration{alone, alone, alone}, 1},
		{"two more", []time.Duration{alone, alone, alone, alone}, 2},
		{"those that had come before say nothing", []time.Duration{alone, alone, 0, 0}, 0},
		{"the second in turn", []time.Duration{alone, 2*alone + 1, alone, alone}, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := world(t, false, "@AS-001").Env
				env.patience.longest = alone
				env.Alone(2)
				for _, took := range row.answers {
					env.patience.recordWait(answered(took))
				}
				slots := &pool{}
				for range 3 {
					w := NewWorld(env, nil, "waits", nil, nil)
					w.lender = slots
					defer w.Idles()()
				}
				time.Sleep(begun)
				synctest.Wait()
				if slots.lent != row.lent {
					t.Errorf("lent %d slots, want %d", slots.lent, row.lent)
				}
			})
		})
	}
}

// TestProof: a wait that fails no clause gets a fifth after one miss, and a twentieth after three if its kind has
// never come.
func TestProof(t *testing.T) {
	const whole = 10 * time.Second
	var p waitHistory
	p.recordWait(finishedWait{kind: "list", limit: whole, came: true, whole: true})
	for i, want := range []time.Duration{whole, whole / 5, whole / 5, whole / 20} {
		if got := p.limitFor("fence", whole, true); got != want {
			t.Errorf("%d: a proof is awaited for %v, want %v", i, got, want)
		}
		if got := p.limitFor("fence", whole, false); i < 3 && got != whole {
			t.Errorf("%d: what can fail a clause is awaited for %v", i, got)
		}
		p.recordWait(finishedWait{kind: "fence", limit: whole, whole: i == 0})
	}
	p.recordWait(finishedWait{kind: "fence", limit: whole, came: true, took: time.Second})
	if got := p.limitFor("fence", whole, true); got != whole {
		t.Errorf("what has come late is awaited for %v", got)
	}
}
