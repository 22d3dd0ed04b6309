// Package deadline has limits that count only the time in which this process could run. A limit is about a target,
// which is not to blame for a throttled container, a suspended machine or an overloaded processor.
//
// All functions are safe for concurrent use.
package deadline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// beat is how often the watch should wake; being late by more than slack is a stall.
const (
	beat  = 20 * time.Millisecond
	slack = 30 * time.Millisecond
)

// maxExtension is the maximum extension of a limit, so that even a machine that never recovers reaches its deadlines.
func maxExtension(limit time.Duration) time.Duration { return max(3*limit, time.Minute) }

// watching is held by the one watch that counts: a stall counts once, however many runs it delays.
var watching sync.Mutex

var counted struct {
	sync.Mutex
	stalled time.Duration // total time this process was kept from running
	woke    time.Time     // when the watch last woke; zero if there is no watch
}

// Watch measures stalls until ctx ends. Of several watches only one counts; when it ends, another takes over. Without
// a watch, limits are ordinary ones.
func Watch(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	counts := watching.TryLock()
	defer func() {
		if counts {
			countStall(time.Time{})
			watching.Unlock()
		}
	}()
	for {
		if counts {
			countStall(time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			counts = counts || watching.TryLock()
		}
	}
}

// countStall counts the stall since the watch last woke, and records that it woke now.
func countStall(now time.Time) {
	counted.Lock()
	defer counted.Unlock()
	counted.stalled += lateness(now)
	counted.woke = now
}

// lateness returns how long the watch has been kept from running since it last woke. counted must be locked.
func lateness(now time.Time) time.Duration {
	if late := now.Sub(counted.woke) - beat; !counted.woke.IsZero() && !now.IsZero() && late > slack {
		return late
	}
	return 0
}

// stallSoFar returns how long this process has been kept from running so far. After a stall all timers ring at once,
// and the watch may run last: sum includes what it has not counted yet.
func stallSoFar() time.Duration {
	counted.Lock()
	defer counted.Unlock()
	return counted.stalled + lateness(time.Now())
}

// A Deadline is over once its limit has passed, not counting stalls. Stalls extend it to at most four times the limit
// or the limit plus a minute, whichever is more.
type Deadline struct {
	limit   time.Duration
	set     time.Time
	stalled time.Duration // stallSoFar() when it was set
}

// In returns the deadline that a limit sets from now on.
func In(limit time.Duration) Deadline {
	return Deadline{limit: limit, set: time.Now(), stalled: stallSoFar()}
}

// Left returns the time left; it is 0 or less when the deadline is over.
func (d Deadline) Left() time.Duration {
	return d.limit - time.Since(d.set) + min(stallSoFar()-d.stalled, maxExtension(d.limit))
}

// Over reports whether no time is left.
func (d Deadline) Over() bool { return d.Left() <= 0 }

// Stalled returns how long this process has been kept from running since the deadline was set.
func (d Deadline) Stalled() time.Duration { return stallSoFar() - d.stalled }

// Suspended returns for how long the machine has been suspended since the deadline was set: the difference between the
// clock on the wall and the monotonic one, which stands still meanwhile. It is 0 for a machine that was only busy.
func (d Deadline) Suspended() time.Duration {
	now := time.Now()
	return ignoreSmall(now.Round(0).Sub(d.set.Round(0)), now.Sub(d.set))
}

// ignoreSmall ignores differences of less than a second: the clock on the wall is adjusted in small steps.
func ignoreSmall(wall, monotonic time.Duration) time.Duration {
	if apart := wall - monotonic; apart >= time.Second {
		return apart
	}
	return 0
}

// AfterFunc calls f in its own goroutine once the deadline is over, unless stopped before. Stop may be called again.
func (d Deadline) AfterFunc(f func()) (stop func()) { return d.startTimer(f).stop }

func (d Deadline) startTimer(f func()) *timer {
	t := &timer{d: d, f: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.t = time.AfterFunc(max(d.Left(), 0), t.onRing)
	return t
}

// timer fires at its deadline, however far stalls move it.
type timer struct {
	d       Deadline
	f       func()
	mu      sync.Mutex
	t       *time.Timer
	stopped bool
}

func (t *timer) onRing() {
	if t.isOver() {
		t.f()
	}
}

// isOver reports whether the deadline is over. If not, it resets the timer, unless stopped.
func (t *timer) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	left := t.d.Left()
	if left > 0 {
		t.t.Reset(left)
	}
	return left <= 0
}

// extendTo moves the deadline of a timer that has not fired; the timer notices when it rings.
func (t *timer) extendTo(by time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.d.limit += by
}

func (t *timer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.t.Stop()
}

// WithLimit is context.WithTimeout not counting stalls.
func WithLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return WithLimitCause(ctx, limit, context.DeadlineExceeded)
}

// WithLimitCause is context.WithTimeoutCause not counting stalls.
func WithLimitCause(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	l := &limited{Context: inner, done: make(chan struct{})}
	if inner.Err() != nil {
		close(l.done) // AfterFunc alone would be too late
		return l, func() { cancel(context.Canceled) }
	}
	context.AfterFunc(inner, func() { close(l.done) })
	l.timer = In(limit).startTimer(func() {
		l.over.Store(inner.Err() == nil)
		cancel(cause)
	})
	return l, func() { l.timer.stop(); cancel(context.Canceled) }
}

// Extend extends the limits of a context, and of those that it derives from, by a time in which the target had nothing
// to do. Limits that are over stay so.
func Extend(ctx context.Context, by time.Duration) {
	for l, _ := ctx.Value(limitKey{}).(*limited); l != nil; l, _ = l.Context.Value(limitKey{}).(*limited) {
		if l.timer != nil {
			l.timer.extendTo(by)
		}
	}
}

type limitKey struct{}

// limited is a context that its limit ends as a deadline would.
type limited struct {
	context.Context // provides the values and the cause
	done            chan struct{}
	over            atomic.Bool
	timer           *timer // nil: it had ended before it began
}

// Value implements context.Context.
func (l *limited) Value(key any) any {
	if key == (limitKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// Done implements context.Context.
func (l *limited) Done() <-chan struct{} { return l.done }

// Err implements context.Context.
func (l *limited) Err() error {
	select {
	case <-l.done:
	default:
		return nil
	}
	if l.over.Load() {
		return context.DeadlineExceeded
	}
	return l.Context.Err()
}

// AfterFunc lets derived contexts end with this one without a goroutine each.
func (l *limited) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(l.Context, func() { <-l.done; f() })
}
