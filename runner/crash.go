package runner

import (
	"context"
	"fmt"
	"time"

	"parley/internal/stall"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	"parley/verdict"
)

// A target whose process ends by itself takes down every scenario that runs at that moment. It is started again for
// those that follow; those that ran are run again, each alone, so that the one which ends the process is blamed and the
// others are not.

// maxCrashes is how often a target is started again before the run gives it up.
const maxCrashes = 20

// noticed is how long the end of a process may lag behind the end of its connections.
const noticed = 300 * time.Millisecond

// alive is the shared target, started again when its process has ended by itself.
func (r *run) alive(ctx context.Context) (target.Running, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !exited(r.shared, 0) {
		return r.shared, nil
	}
	if r.crashes++; r.crashes > maxCrashes {
		return nil, fmt.Errorf("the target's process has ended by itself %d times, and is not started again", maxCrashes)
	}
	next, err := r.o.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: r.modelURL})
	if err != nil {
		return nil, fmt.Errorf("the target's process has ended by itself, and could not be started again: %w", err)
	}
	r.lastWords += r.shared.Stderr()
	stopWithin(5*time.Second, r.shared.Stop)
	r.shared = next
	return next, nil
}

// exited tells whether a target's process has ended by itself, or does within a time.
func exited(run target.Running, within time.Duration) bool {
	e, ok := run.(target.Exiter)
	if !ok || e.Exited() == nil {
		return false
	}
	select {
	case <-e.Exited():
		return true
	default:
	}
	if within == 0 {
		return false
	}
	late, cancel := stall.WithLimit(context.Background(), within)
	defer cancel()
	select {
	case <-e.Exited():
		return true
	case <-late.Done():
		return false
	}
}

// crashed tells that the target's process ended during a scenario which did not pass. In the first round the scenario is
// put aside; when it has run alone, the end of the process is part of its result.
func (r *run) crashed(d *driverRun, pl Planned, res *steps.Result) bool {
	if res.Run == nil || res.Outcome == verdict.Passed || !brokenOff(res.Records) || !exited(res.Run, noticed) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.suspects == nil && pl.Stage == 0 && !pl.Exclusive() {
		if d.bystanders == nil {
			d.bystanders = map[string]bool{}
		}
		d.bystanders[pl.key] = true
		return true
	}
	end := fmt.Sprintf("the target's process ended during this scenario: %v", res.Run.(target.Exiter).ExitErr())
	res.Notes = append(res.Notes, end)
	for i := range res.Failures {
		res.Failures[i].Observed += "; " + end
	}
	r.blame(res, end)
	return false
}

// stillRunning is what a failure by blame expected.
const stillRunning = "a target that goes on to run"

// blame names the clause that a scenario has broken which ended the target's process: it ran alone. Where a step has found one broken
// that binds, it is that; otherwise it is the first of those that the scenario could not test, for which of them the target breaks cannot
// be told. The others were not tested.
func (r *run) blame(res *steps.Result, end string) {
	at, left := 0, -1
	for _, rec := range res.Records {
		if rec.Dir == transcript.Sent {
			at = rec.N
		}
	}
	for _, c := range res.Clauses {
		if c.Outcome == verdict.Failed {
			return
		}
	}
	worst := verdict.NotApplicable
	for i, c := range res.Clauses {
		outcome := verdict.ByLevel(r.ledger.Level(c.ID), r.o.Strict)
		if c.Outcome != verdict.NotTested && c.Outcome != verdict.EnvError || outcome == verdict.NotApplicable {
			continue
		}
		res.Clauses[i].Outcome, res.Clauses[i].Reason = verdict.NotTested, end
		if left < 0 || outcome == verdict.Failed && worst != verdict.Failed {
			left, worst = i, outcome
		}
	}
	if left < 0 {
		return
	}
	c := &res.Clauses[left]
	c.Outcome = worst
	res.Failures = append(res.Failures, steps.Failure{Clause: c.ID, Outcome: worst, Expected: stillRunning, Observed: end, At: at})
	res.Outcome, res.Reason = worst, end
}

// brokenOff tells whether the target ended a connection, or could not be reached.
func brokenOff(records []transcript.Record) bool {
	for _, rec := range records {
		if rec.Dir == transcript.Received && (rec.Kind == transcript.Failure || rec.Kind == transcript.Closed && rec.Label != "closed by the harness") {
			return true
		}
	}
	return false
}

// again runs the bystanders of a crash, one at a time.
func (r *run) again(ctx context.Context, d *driverRun) {
	d.mu.Lock()
	d.suspects = d.bystanders
	any := len(d.suspects) > 0
	d.mu.Unlock()
	if any {
		r.suite(ctx, d, rest, 1)
	}
}
