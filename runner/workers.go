package runner

import (
	"context"

	"github.com/cucumber/godog"
	"golang.org/x/sync/semaphore"

	"parley/steps"
)

// A turn whose model waits keeps a worker of its target busy, and some targets have few: Python's asyncio.to_thread has four more
// than there are processors. When scenarios side by side have taken them all, each waits for another one's turn, though the target is
// right. So no more turns than these wait for the model at once; a scenario that needs more of them runs while no other has any.
const maxHeld = 4

// occupying has a scenario wait until the turns that it holds leave the target a worker. release is to be called once when it is over.
func (d *driverRun) occupying(ctx context.Context, p steps.Protocol, sc *godog.Scenario) (release func(), err error) {
	holder, ok := p.(steps.Holder)
	if !ok || !d.crowded {
		return func() {}, nil
	}
	n := min(int64(holder.Holds(sc)), maxHeld)
	if n == 0 {
		return func() {}, nil
	}
	if err := d.workers.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { d.workers.Release(n) }, nil
}

func newWorkers() *semaphore.Weighted { return semaphore.NewWeighted(maxHeld) }
