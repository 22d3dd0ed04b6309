package runner

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"parley/target"
)

// Scenarios that must share something of the target, such as its only relay session, run one at a time. If the target
// is a command whose instances share nothing, each scenario has an instance to itself instead, and a few run side by
// side.

// mostInstances bounds the instances of a command.
const mostInstances = 6

// instance is one of them. Whoever has it may change it.
type instance struct {
	shared bool           // it is run.shared
	own    target.Running // if not; nil: not started yet, or ended
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
	return func() {
		var all sync.WaitGroup
		for range len(r.idle) {
			if one := <-r.idle; one.own != nil {
				all.Go(func() { r.stopInstance(one) })
			}
		}
		all.Wait()
	}
}

// lendTarget gives a scenario the target that all share, or an instance to itself.
func (r *run) lendTarget(ctx context.Context) (run target.Running, giveBack func(), err error) {
	if r.idle == nil {
		run, err = r.alive(ctx)
		return run, func() {}, err
	}
	for {
		select {
		case one := <-r.idle:
			giveBack = func() { r.idle <- one }
			if one.shared {
				run, err = r.alive(ctx)
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
	if one.own != nil && !exited(one.own, 0) {
		return one.own, nil
	}
	if one.own != nil {
		r.mu.Lock()
		r.crashes++
		over := r.crashes > maxCrashes
		r.mu.Unlock()
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
