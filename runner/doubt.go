package runner

import (
	"context"
	"slices"

	"parley/steps"
)

// tentative is a result whose failures depend on what the run may still find out about the target.
type tentative struct {
	pl     Planned
	res    summary
	doubt  *steps.Doubt
	missed bool // a wait reached its limit, which may have been short because a clause counted as failed
	told   bool // it has been reported
}

// holdBack keeps such a result until the run is over, and reports whether it did. Its records go, and its failures
// count for the waits of later scenarios. For mutants, which need no more once their clauses are broken, it is
// reported at once.
func (r *run) holdBack(d *driverRun, pl Planned, res steps.Result) bool {
	if pl.Stage != rest || pl.path() == "" || !res.Doubtful() {
		return false
	}
	d.mu.Lock()
	decided := d.decided
	d.mu.Unlock()
	if decided {
		return false
	}
	one := tentative{pl: pl, res: r.prepare(d, pl, res), doubt: res.Doubt, missed: res.Late > 0, told: r.o.Enough != nil}
	if one.told {
		r.publish(d, pl, one.res)
	}
	d.mu.Lock()
	d.tentative = append(d.tentative, one)
	d.mu.Unlock()
	return true
}

// reconsider reports the results that were held back. Those that depend on what was found out meanwhile are judged
// again, and with them those that may have missed something because a clause of these counted as failed.
func (r *run) reconsider(ctx context.Context, d *driverRun) {
	d.mu.Lock()
	kept := d.tentative
	d.tentative, d.decided = nil, true
	d.mu.Unlock()
	again, cleared := map[string]bool{}, map[string]bool{}
	for _, one := range kept {
		if one.doubt.Settled() {
			again[one.pl.key] = true
			for _, f := range one.res.scenario.Failures {
				cleared[f.Clause] = true
			}
		}
	}
	for _, one := range kept {
		for _, f := range one.res.scenario.Failures {
			again[one.pl.key] = again[one.pl.key] || one.missed && cleared[f.Clause]
		}
		switch {
		case again[one.pl.key] && one.told:
			r.withdraw(d, one.pl)
		case !again[one.pl.key] && !one.told:
			r.publish(d, one.pl, one.res)
		}
	}
	if len(cleared) == 0 {
		return
	}
	d.envs.Forget()
	d.mu.Lock()
	d.suspects = again
	d.doubted = slices.DeleteFunc(d.doubted, func(one doubted) bool { return again[one.pl.key] })
	d.mu.Unlock()
	r.suite(ctx, d, rest, 1)
	d.mu.Lock()
	d.suspects = nil
	d.mu.Unlock()
}
