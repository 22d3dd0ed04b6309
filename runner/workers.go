package runner

import (
	"context"

	"github.com/cucumber/godog"

	"parley/steps"
)

// maxHeld limits how many turns wait for the model at once. A turn that waits occupies a worker of the target, and some
// targets have few: Python's asyncio.to_thread has four more than there are processors. If parallel scenarios took all
// of them, each would wait for another's turn, though the target is right. A scenario that needs more runs only
// while no other turn waits.
const maxHeld = 4

// occupying blocks until the turns that the scenario holds leave the target a worker, and returns their number. The
// turns of a scenario that has waited in vain for long hold no worker, and stop counting (steps.Slot.Turns).
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
