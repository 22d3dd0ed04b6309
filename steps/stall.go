package steps

import (
	"context"
	"sync/atomic"
	"time"
)

// stalled adds up, in nanoseconds, how long this process was kept from running: a container that is throttled, a machine
// that is suspended, more runnable work than processors. Limits are about the target, so waits are prolonged by what
// was the harness's own delay.
var stalled atomic.Int64

// beat is how often the watch should wake; being late by more than slack is a stall.
const (
	beat  = 20 * time.Millisecond
	slack = 30 * time.Millisecond
)

// WatchStalls measures stalls until ctx ends.
func WatchStalls(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := time.Now()
			if late := now.Sub(last) - beat; late > slack {
				stalled.Add(int64(late))
			}
			last = now
		}
	}
}

// withLimit is a context that ends with cause once the limit has passed without counting stalls. Stalls prolong a wait
// to at most four times its limit.
func withLimit(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	before, granted := stalled.Load(), time.Duration(0)
	var timer *time.Timer
	var expired func()
	expired = func() {
		credit := min(time.Duration(stalled.Load()-before), 3*limit)
		if credit > granted {
			more := credit - granted
			granted = credit
			timer.Reset(more)
			return
		}
		cancel(cause)
	}
	ready := make(chan struct{})
	timer = time.AfterFunc(limit, func() { <-ready; expired() })
	close(ready)
	return ctx, func() { timer.Stop(); cancel(context.Canceled) }
}
