package runner

import (
	"context"
	"slices"
	"sync/atomic"

	"parley/driver"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transcript"
	"parley/verdict"
)

// No clause says how many connections a target takes at once, so one that refuses, keeps waiting or closes what goes
// beyond its room is not wrong. Whether it has such a limit is found out, and not guessed: once all scenarios have
// ended, as many connections are opened, and left alone, as were open at once before, and a quarter more, since a
// target notices late that one was closed. Where it has a limit, the scenarios that were cut off run again alone.

// cutOff reports whether a scenario may have been cut off for want of room: the target has ended a connection, or not
// opened it, and nothing that it had said before was wrong.
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

// roomOf opens more connections than the scenarios had open at once, and returns how many the target took before it
// refused one, had it wait or ended another; 0: it took them all.
func (r *run) roomOf(ctx context.Context, d *driverRun) int {
	o, most := d.envs.Opened()
	if most < 2 || ctx.Err() != nil {
		return 0
	}
	most += most / 4
	o.Party = "room"
	var ended atomic.Bool
	sink := func(rec transcript.Record) int {
		if brokenOff([]transcript.Record{rec}) {
			ended.Store(true)
		}
		return 1
	}
	var all []driver.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close(driver.Reset)
		}
	}()
	for n := range most {
		limited, cancel := deadline.WithLimit(ctx, min(r.o.Profile.Limits.Open.Duration, r.o.Profile.Limits.Event.Duration))
		c, err := d.d.Open(limited, o, sink)
		cancel()
		if err != nil || ended.Load() {
			if c != nil {
				all = append(all, c)
			}
			return n
		}
		all = append(all, c)
	}
	quiet, cancel := deadline.WithLimit(ctx, r.o.Profile.Limits.Quiet.Duration)
	defer cancel()
	<-quiet.Done()
	if ended.Load() {
		return most - 1
	}
	return 0
}
