package runner

import (
	"context"
	"errors"
	"fmt"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/steps"
	"parley/target"
)

// With hooks.reset a scenario begins with fresh data. The hook and the scenario after it hold the write lock of the
// run, whatever target they use, because targets may share what is reset, such as a database: no reset comes between
// the steps of another scenario. A scenario without fresh data is not tested, since its result would say as much about
// what others left behind as about the target.

const (
	maxResets   = 3   // failures in a row after which the hook is not run again
	toldOfReset = 400 // bytes of what it printed that a reason has: the end
)

// share gives a scenario the shared target, or an instance of it, to itself if it asks for that or if data is reset
// before it.
func (r *run) share(ctx context.Context, nonce string, alone bool) steps.Slot {
	lock, unlock := r.lock.RLock, r.lock.RUnlock
	if alone || r.o.Profile.Resets() {
		lock, unlock = r.lock.Lock, r.lock.Unlock
	}
	lock()
	run, giveBack, err := r.lendTarget(ctx)
	if err != nil {
		unlock()
		return steps.Slot{Skip: verdict.NotTested, Reason: err.Error()}
	}
	return r.fresh(ctx, steps.Slot{Run: run, Nonce: nonce, Release: func() { giveBack(); unlock() }})
}

// fresh resets the data of a scenario's target. The caller has locked out other scenarios; if the hook fails, fresh
// releases the slot and returns the reason to skip the scenario.
func (r *run) fresh(ctx context.Context, s steps.Slot) steps.Slot {
	if !r.o.Profile.Resets() {
		return s
	}
	why := r.reset(ctx, s.Run)
	if why == "" {
		return s
	}
	s.Release()
	return steps.Slot{Skip: verdict.NotTested, Reason: why}
}

// reset runs the hook, and says why it did not reset the target; "" if it did. The caller holds the write lock.
func (r *run) reset(ctx context.Context, run target.Running) (why string) {
	t, ok := run.(target.Resetter)
	switch late := tooLate(ctx); {
	case late != nil:
		return late.Error()
	case ctx.Err() != nil:
		return "interrupted"
	case !ok:
		return r.unreset(errors.New("this target runs no hooks"))
	case r.resets >= maxResets:
		return r.stale
	}
	err := t.Reset(ctx)
	switch late := tooLate(ctx); {
	case err == nil:
		r.resets, r.stale = 0, ""
		return ""
	case late != nil:
		return late.Error()
	case ctx.Err() != nil:
		return "interrupted"
	}
	return r.unreset(err)
}

// unreset notes a failed reset, and returns the reason why its scenario is not tested.
func (r *run) unreset(err error) string {
	text := err.Error()
	var failed *target.HookError
	if errors.As(err, &failed) {
		text = failed.Err.Error()
		if said := cut.Line(r.redact.String(failed.Output), 0); said != "" {
			text += ": " + cut.End(said, toldOfReset)
		}
	}
	r.unfresh.Store(true)
	if r.resets++; r.resets == maxResets {
		r.stale = fmt.Sprintf("hooks.reset failed %d times in a row, and was not run again: %s", maxResets, text)
	}
	return "hooks.reset failed, so that this scenario had no fresh data: " + text
}
