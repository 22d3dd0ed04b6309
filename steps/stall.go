package steps

import (
	"context"
	"sync"
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

// watching is held by the one of several watchers that counts: a stall is one, however many runs it delays.
var watching sync.Mutex

// WatchStalls measures stalls until ctx ends. Where several watch, one of them counts, and when it ends another takes over.
func WatchStalls(ctx context.Context) {
	counts := watching.TryLock()
	defer func() {
		if counts {
			watching.Unlock()
		}
	}()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := time.Now()
			if !counts {
				counts = watching.TryLock()
			} else if late := now.Sub(last) - beat; late > slack {
				stalled.Add(int64(late))
			}
			last = now
		}
	}
}

// limited is a wait's limit, which stalls prolong to at most four times its length.
type limited struct {
	limit   time.Duration
	before  int64 // stalled when the wait began
	granted time.Duration
	timer   *time.Timer
	cancel  func()
}

// WithLimit is a context that ends once a limit has passed, without counting the times at which the harness itself stalled.
func WithLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return withLimit(ctx, limit, context.DeadlineExceeded)
}

// withLimit is a context that ends with cause once the limit has passed without counting stalls.
func withLimit(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &limited{limit: limit, before: stalled.Load(), cancel: func() { cancel(cause) }}
	ready := make(chan struct{})
	l.timer = time.AfterFunc(limit, func() { <-ready; l.expired() })
	close(ready)
	return ctx, func() { l.timer.Stop(); cancel(context.Canceled) }
}

// expired ends the wait, or prolongs it by what was stalled since it began.
func (l *limited) expired() {
	credit := min(time.Duration(stalled.Load()-l.before), 3*l.limit)
	if credit <= l.granted {
		l.cancel()
		return
	}
	more := credit - l.granted
	l.granted = credit
	l.timer.Reset(more)
}
