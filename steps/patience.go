package steps

import (
	"context"
	"sync/atomic"
	"time"

	"parley/internal/stall"
	"parley/target"
)

// A target that has left misses answers out, or the very first one, is waited for less: most is missing because it will never
// come, and each of many would cost the whole limit.
const (
	misses   = 3
	hurry    = 5               // what part of a limit is left then
	shortest = 2 * time.Second // a shorter wait says nothing about the target: it may be one for what should not come
	slower   = 4               // and how many times as long as what the target has taken longest for, if that is more
)

// patience knows what a target has been waited for in vain, and in the end with success. It is safe for concurrent use.
type patience struct {
	missed  atomic.Int32
	came    atomic.Bool  // anything
	longest atomic.Int64 // nanoseconds
}

// Event is Limits.Event, as long as it is worth it: of a limit that is the default, a fifth is left once three answers have not
// come, or the first of all, or four times what the target has taken longest for.
func (e *Env) Event() time.Duration {
	return e.patience.of(e.Profile.Limits.Event, target.DefaultLimits().Event)
}

// Turn is Limits.Turn, as long as it is worth it, in the same way as Event.
func (e *Env) Turn() time.Duration {
	return e.patience.of(e.Profile.Limits.Turn, target.DefaultLimits().Turn)
}

func (p *patience) of(limit, standard target.Duration) time.Duration {
	if missed := p.missed.Load(); limit != standard || missed == 0 || missed < misses && p.came.Load() {
		return limit.Duration
	}
	return min(limit.Duration, max(limit.Duration/hurry, slower*time.Duration(p.longest.Load())))
}

// AwaitModel waits for what the target has its model asked, which takes a turn at most. It returns how long that was, and the error
// of asked where it did not come.
func (e *Env) AwaitModel(ctx context.Context, asked func(context.Context) error) (within time.Duration, err error) {
	within = e.Turn()
	limited, cancel := stall.WithLimit(ctx, within)
	defer cancel()
	began := time.Now()
	if err = asked(limited); err == nil || ctx.Err() == nil {
		e.patience.waited(within, time.Since(began), err == nil)
	}
	return within, err
}

// waited takes note of a wait that is over.
func (p *patience) waited(limit, took time.Duration, came bool) {
	if limit < shortest {
		return
	}
	if !came {
		p.missed.Add(1)
		return
	}
	p.came.Store(true)
	for {
		longest := p.longest.Load()
		if int64(took) <= longest || p.longest.CompareAndSwap(longest, int64(took)) {
			return
		}
	}
}
