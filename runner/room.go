package runner

import (
	"context"
	"slices"
	"sync/atomic"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

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
