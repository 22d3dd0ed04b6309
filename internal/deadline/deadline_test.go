package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errOver = errors.New("over")

// count adds a stall to the time the process was kept from running, and sets when the watch last woke.
func count(t *testing.T, stalled time.Duration, woke time.Time) {
	counted.Lock()
	defer counted.Unlock()
	counted.stalled += stalled
	counted.woke = woke
	t.Cleanup(func() { countStall(time.Time{}) })
}

func TestLimit(t *testing.T) {
	for _, row := range []struct {
		name    string
		stall   time.Duration // measured after a second of the wait
		ends    time.Duration
		reasons string
	}{
		{"no stall", 0, 2 * time.Second, "the limit is the limit"},
		{"a stall", 3 * time.Second, 5 * time.Second, "what was lost is added"},
		{"an endless stall", time.Hour, 62 * time.Second, "a minute more than the limit, and no more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := WithLimitCause(t.Context(), 2*time.Second, errOver)
				defer cancel()
				below, stop := context.WithCancel(ctx)
				defer stop()
				time.AfterFunc(time.Second, func() { count(t, row.stall, time.Time{}) })
				<-ctx.Done()
				if took := time.Since(start); took != row.ends || !errors.Is(context.Cause(ctx), errOver) ||
					ctx.Err() != context.DeadlineExceeded {
					t.Errorf("ended after %v by %v, %v; want %v (%s)", took, context.Cause(ctx), ctx.Err(), row.ends, row.reasons)
				}
				<-below.Done()
				if !errors.Is(context.Cause(below), errOver) || below.Err() != context.DeadlineExceeded {
					t.Errorf("a context below it ended by %v, %v", context.Cause(below), below.Err())
				}
			})
		})
	}
}

// TestUnheard checks that a stall counts as soon as it is over, even if the watch, whose timer rings at the same
// time, has not run yet.
func TestUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		count(t, 0, start)
		d := In(2 * time.Second)
		rang := make(chan time.Duration, 1)
		d.AfterFunc(func() { rang <- time.Since(start) })
		time.Sleep(5 * time.Second)
		if left := d.Left(); left != 2*time.Second-beat {
			t.Errorf("%v are left after a stall of 5s - %v", left, beat)
		}
		countStall(time.Now())
		if left := d.Left(); left != 2*time.Second-beat {
			t.Errorf("%v are left once the watch has counted it", left)
		}
		countStall(time.Time{}) // the watch has ended
		if took := <-rang; took != 7*time.Second-beat {
			t.Errorf("it rang after %v", took)
		}
		if !d.Over() {
			t.Error("it rang, and is not over")
		}
	})
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		ctx, cancel := WithLimit(parent, time.Hour)
		defer cancel()
		if ctx.Err() != nil {
			t.Errorf("it begins with %v", ctx.Err())
		}
		stop()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), context.Canceled) || ctx.Err() != context.Canceled {
			t.Errorf("cause %v, %v", context.Cause(ctx), ctx.Err())
		}
	})
}

// TestAlreadyOver: a context made from one that has ended has ended at once, before any goroutine runs.
func TestAlreadyOver(t *testing.T) {
	parent, stop := context.WithCancel(t.Context())
	stop()
	for range 100 {
		ctx, cancel := WithLimit(parent, time.Hour)
		if ctx.Err() != context.Canceled {
			t.Fatalf("it begins with %v", ctx.Err())
		}
		cancel()
	}
}

func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := In(time.Second).AfterFunc(func() { t.Error("it was stopped, and rang") })
		stop()
		stop()
		time.Sleep(time.Minute)
	})
}

// TestWatch checks that a stall stays counted when another watch takes over, and that a running process has no stall.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := stallSoFar()
		one, endOne := context.WithCancel(t.Context())
		two, endTwo := context.WithCancel(t.Context())
		go Watch(one)
		synctest.Wait()
		go Watch(two)
		time.Sleep(time.Second)
		endOne()
		time.Sleep(time.Second)
		counted.Lock()
		counted.woke = counted.woke.Add(-time.Second) // as if it had slept for another second
		counted.Unlock()
		time.Sleep(time.Second)
		endTwo()
		synctest.Wait()
		if got := stallSoFar() - before; got != time.Second {
			t.Errorf("%v were counted as a stall", got)
		}
		if counted.woke != (time.Time{}) {
			t.Error("nobody watches, and a stall is thought to last")
		}
	})
}

// TestSuspended: a machine was suspended if its clocks are apart, not if it was busy.
func TestSuspended(t *testing.T) {
	for _, c := range []struct{ wall, monotonic, want time.Duration }{
		{7 * time.Second, 7 * time.Second, 0}, // it was busy
		{7*time.Second + 300*time.Millisecond, 7 * time.Second, 0},
		{7 * time.Second, time.Second, 6 * time.Second},
		{time.Second, 7 * time.Second, 0}, // the clock was set back
	} {
		if got := ignoreSmall(c.wall, c.monotonic); got != c.want {
			t.Errorf("%s on the wall, %s in all: %s, want %s", c.wall, c.monotonic, got, c.want)
		}
	}
	if got := In(time.Second).Suspended(); got != 0 {
		t.Errorf("now: %s", got)
	}
}
