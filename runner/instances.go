package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/steps"
	"parley/target"
)

// Scenarios that must share something of the target, such as its only relay session, run one at a time. If the target
// is a command whose instances share nothing, each scenario has an instance to itself instead, and a few run side by
// side.

// mostInstances bounds the instances of a command.
const mostInstances = 6

// instance is one of them. Whoever has it may change it.
type instance struct {
	shared bool             // it is run.shared
	own    target.Running   // if not; nil: not started yet, or ended
	ended  []target.Running // that have exited by themselves since, while no scenario had them or noticed it
}

// countInstances returns how many scenarios may have an instance each at once; 1 if they must share one.
func (r *run) countInstances() int {
	p := r.o.Profile
	if !p.Reach().Separate || p.Resets() || !r.o.Launcher.Private() || r.o.Godog.Format != "" {
		return 1
	}
	return min(cmp.Or(r.o.Concurrency, p.Concurrency, mostInstances), mostInstances)
}

// openInstances gives each scenario from now on one of so many instances to itself. The returned function stops them.
func (r *run) openInstances(n int) (stop func()) {
	if n < 2 {
		return func() {}
	}
	r.idle = make(chan *instance, n)
	for i := range n {
		r.idle <- &instance{shared: i == 0}
	}
	return func() { r.stopInstances(r.idle) }
}

// stopInstances stops the instances that no scenario has.
func (r *run) stopInstances(idle chan *instance) {
	var all sync.WaitGroup
	for range len(idle) {
		if one := <-idle; one.own != nil {
			all.Go(func() { r.stopInstance(one) })
		}
	}
	all.Wait()
}

// bystanderInstances returns instances of the command for the bystanders of a crash, each of which has one to itself
// while it runs again, and how many; nil and 1 if they must take turns with the target.
func (r *run) bystanderInstances(bystanders int) (idle chan *instance, n int) {
	p := r.o.Profile
	if bystanders < 2 || p.Command == nil || p.Resets() || !r.o.Launcher.Private() || r.idle != nil ||
		r.o.Godog.Format != "" {
		return nil, 1
	}
	n = min(cmp.Or(r.o.Concurrency, p.Concurrency, mostInstances), mostInstances, bystanders)
	idle = make(chan *instance, n)
	for i := range n {
		idle <- &instance{shared: i == 0}
	}
	return idle, n
}

// lendTarget gives a scenario the target that all share, or one of the idle instances to itself.
func (r *run) lendTarget(ctx context.Context, idle chan *instance) (run target.Running, giveBack func(), err error) {
	if idle == nil {
		run, err = r.aliveTarget(ctx)
		return run, func() {}, err
	}
	for {
		select {
		case one := <-idle:
			giveBack = func() { idle <- one }
			if one.shared {
				run, err = r.aliveTarget(ctx)
			} else {
				run, err = r.startInstance(ctx, one)
			}
			switch {
			case err == nil:
				return run, giveBack, nil
			case one.shared || ctx.Err() != nil:
				giveBack()
				return nil, nil, err
			} // there is no room for it: those that there are suffice
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// startInstance returns the target of an instance, started if it does not run.
func (r *run) startInstance(ctx context.Context, one *instance) (target.Running, error) {
	if one.own != nil && !hasExited(one.own, 0) {
		return one.own, nil
	}
	if one.own != nil {
		r.mu.Lock()
		r.crashes++
		over := r.crashes > maxCrashes
		r.mu.Unlock()
		one.ended = append(one.ended, one.own)
		r.stopInstance(one)
		if over {
			return nil, fmt.Errorf("the target's process has ended by itself %d times and is not started again", maxCrashes)
		}
	}
	own, err := r.o.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: r.modelURL})
	if err == nil {
		one.own = own
	}
	return own, err
}

// stopInstance stops an instance, and keeps what it wrote.
func (r *run) stopInstance(one *instance) {
	stopWithin(stopLimit, one.own.Stop)
	r.mu.Lock()
	r.lastWords += one.own.Stderr()
	r.mu.Unlock()
	one.own = nil
}

// With hooks.reset a scenario begins with fresh data. The hook and the scenario after it hold the write lock of the
// run, whatever target they use, because targets may share what is reset, such as a database: no reset comes between
// the steps of another scenario. A scenario without fresh data is not tested, since its result would say as much about
// what others left behind as about the target.

const (
	maxResets   = 3   // failures in a row after which the hook is not run again
	toldOfReset = 400 // bytes of what it printed that a reason has: the end
)

// shareTarget gives a scenario the shared target, or an instance of it, to itself if it asks for that or if data is
// reset before it.
func (r *run) shareTarget(ctx context.Context, nonce string, alone bool, idle chan *instance) steps.Slot {
	lock, unlock := r.lock.RLock, r.lock.RUnlock
	if alone || r.o.Profile.Resets() {
		lock, unlock = r.lock.Lock, r.lock.Unlock
	}
	lock()
	run, giveBack, err := r.lendTarget(ctx, idle)
	if err != nil {
		unlock()
		return steps.Slot{Skip: verdict.NotTested, Reason: err.Error()}
	}
	return r.resetForScenario(ctx, steps.Slot{Run: run, Nonce: nonce, Release: func() { giveBack(); unlock() }})
}

// resetForScenario resets the data of a scenario's target. The caller has locked out other scenarios; if the hook
// fails, fresh releases the slot and returns the reason to skip the scenario.
func (r *run) resetForScenario(ctx context.Context, s steps.Slot) steps.Slot {
	if !r.o.Profile.Resets() {
		return s
	}
	why := r.runResetHook(ctx, s.Run)
	if why == "" {
		return s
	}
	s.Release()
	return steps.Slot{Skip: verdict.NotTested, Reason: why}
}

// runResetHook runs the hook, and says why it did not reset the target; "" if it did. The caller holds the write lock.
func (r *run) runResetHook(ctx context.Context, run target.Running) (why string) {
	t, ok := run.(target.Resetter)
	switch late := tooLate(ctx); {
	case late != nil:
		return late.Error()
	case ctx.Err() != nil:
		return "interrupted"
	case !ok:
		return r.noteFailedReset(errors.New("this target runs no hooks"))
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
	return r.noteFailedReset(err)
}

// noteFailedReset notes a failed reset, and returns the reason why its scenario is not tested.
func (r *run) noteFailedReset(err error) string {
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
