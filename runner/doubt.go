package runner

import (
	"context"

	"parley/steps"
)

// holdBack keeps the result of a scenario whose failures depend on what the run may still find out about the target.
func (d *driverRun) holdBack(pl Planned, res steps.Result) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pl.Stage != rest || pl.path() == "" || d.decided || d.suspects != nil || !res.Doubtful() {
		return false
	}
	d.doubtful = append(d.doubtful, aside{pl: pl, res: res})
	return true
}

// reconsider finishes the scenarios that were held back: those whose failures depend on what was found out meanwhile
// are judged again.
func (r *run) reconsider(ctx context.Context, d *driverRun) {
	d.mu.Lock()
	kept := d.doubtful
	d.doubtful, d.decided = nil, true
	d.mu.Unlock()
	again := map[string]bool{}
	for _, a := range kept {
		if a.res.Doubt.Settled() {
			again[a.pl.key] = true
			a.res.Release()
			continue
		}
		r.finish(d, a.pl, a.res)
	}
	if len(again) == 0 {
		return
	}
	d.mu.Lock()
	d.suspects = again
	d.mu.Unlock()
	r.suite(ctx, d, rest, 1)
	d.mu.Lock()
	d.suspects = nil
	d.mu.Unlock()
}
