package runner

import (
	"context"

	"github.com/cucumber/godog"

	"parley/steps"
)

// A turn whose model waits keeps a worker of its target busy, and some targets have few: Python's asyncio.to_thread has
// four more than there are processors. When scenarios side by side have taken them all, each waits for another one's
// turn, though the target is right. So no more turns than these wait for the model at once; a scenario that needs more
// of them runs while no other has any.
const maxHeld = 4

// Where a scenario waits in vain for long, its turns hold no worker, and count no more (steps.Slot.Turns).
//
// occupying has a scenario wait until the turns that it holds leave the target a worker, and returns how many they are.
func (d *driverRun) occupying(ctx context.Context, p steps.Protocol, sc *godog.Scenario) (held int, err error) {
	holder, ok := p.(steps.Holder)
	if !ok || !d.crowded {
		return 0, nil
	}
	n := min(holder.Holds(sc), maxHeld)
	if n == 0 {
		return 0, nil
	}
	return n, d.workers.take(ctx, n)
}

func newWorkers() *slots { return newSlots(maxHeld, 8*maxHeld) }
