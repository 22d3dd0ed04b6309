package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// When the target's process exits by itself, every scenario running at that moment is affected. The target is
// restarted for the remaining scenarios. The affected ones run again, each alone, so that only the scenario that ends
// the process is blamed. Failures of the first run that do not depend on the crash stand (standing). If no scenario
// ends the process alone, the load of many does, and all results stay as they were.

// maxCrashes is how often a target is restarted before the run gives up.
const maxCrashes = 20

// noticed is how long the exit of a process may lag behind the closing of its connections.
const noticed = 300 * time.Millisecond

// alive returns the shared target, and restarts it if its process has exited.
func (r *run) alive(ctx context.Context) (target.Running, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !exited(r.shared, 0) {
		return r.shared, nil
	}
	if r.crashes++; r.crashes > maxCrashes {
		return nil, fmt.Errorf("the target's process has ended by itself %d times and is not started again", maxCrashes)
	}
	next, err := r.o.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: r.modelURL})
	if err != nil {
		return nil, fmt.Errorf("the target's process has ended by itself and could not be started again: %w", err)
	}
	r.lastWords += r.shared.Stderr()
	stopWithin(5*time.Second, r.shared.Stop)
	r.shared = next
	return next, nil
}

// exited reports whether a target's process has exited by itself, or does so within the given time.
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
	late, cancel := deadline.WithLimit(context.Background(), within)
	defer cancel()
	select {
	case <-e.Exited():
		return true
	case <-late.Done():
		return false
	}
}

// crashed handles the exit of the target's process during a scenario that did not pass, and reports whether the
// scenario was put aside. In the first round it is put aside; once it has run alone, the exit is part of its result.
func (r *run) crashed(d *driverRun, pl Planned, res *steps.Result) bool {
	if why := pageEnd(res.Records); why != "" && res.Outcome != verdict.Passed {
		r.blame(res, tellOf(res, why))
		return false // its process is its own: no other scenario is affected
	}
	if res.Run == nil || res.Outcome == verdict.Passed || !brokenOff(res.Records) || !exited(res.Run, noticed) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed[processEnded] && d.again == nil && pl.Stage == 0 && !pl.Exclusive() {
		d.putAside(processEnded, aside{pl: pl, res: *res})
		return true
	}
	if d.again != nil {
		d.again.culprits++
	}
	r.blame(res, r.tellEnd(res))
	return false
}

// pageEnd says how a page ended by its own fault; "" if none did.
func pageEnd(records []transcript.Record) string {
	for _, rec := range records {
		if rec.Kind == transcript.Closed && browser.ByFault(rec.Label) {
			return rec.Label
		}
	}
	return ""
}

// tellEnd adds to a result how the target's process exited, and what it wrote last.
func (r *run) tellEnd(res *steps.Result) string {
	return tellOf(res, fmt.Sprintf("the target's process ended during this scenario: %v",
		res.Run.(target.Exiter).ExitErr())+steps.Cry(r.redact, res.Run.Stderr()))
}

// tellOf adds to a result how the target ended.
func tellOf(res *steps.Result, end string) string {
	res.Notes = append(res.Notes, end)
	for i := range res.Failures {
		if !strings.Contains(res.Failures[i].Observed, end) {
			res.Failures[i].Observed += "; " + end
		}
	}
	return end
}

// stillRunning is the expectation in a failure that blame records.
const stillRunning = "a target that keeps running"

// blame names the clause broken by a scenario that ended the target's process when it ran alone. If a step has
// already found a binding clause broken, that one stands. Otherwise it is the first clause that the scenario could
// not test, since the actual one cannot be told. The other clauses are not tested.
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
		outcome := verdict.ByLevel(r.ledger.Level(c.Clause), r.o.Strict)
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
	res.Failures = append(res.Failures, steps.Failure{Clause: c.Clause, Outcome: worst,
		Finding: verdict.Finding{Expected: stillRunning, Observed: end, At: at}})
	res.Outcome, res.Reason = worst, end
}

// brokenOff reports whether the target ended a connection, or could not be reached.
func brokenOff(records []transcript.Record) bool {
	for _, rec := range records {
		if rec.Dir == transcript.Received && (rec.Kind == transcript.Failure || rec.Kind == transcript.Closed &&
			rec.Label != "closed by the harness") {
			return true
		}
	}
	return false
}

// again runs the bystanders of a crash one at a time. The new results count only if one of the scenarios ends the
// process alone.
func (r *run) again(ctx context.Context, d *driverRun) {
	first := d.takeAside(processEnded, true)
	now := r.repeat(ctx, d, first, 1, rerun{kept: true})
	if now.culprits > 0 || ctx.Err() != nil {
		for i, a := range now.results {
			now.results[i].res = standing(now.first[a.pl.key], a.res)
		}
		r.asTheyCame(d, now.results)
		return
	}
	blamed := false
	for i := range first {
		r.tellEnd(&first[i].res)
		blamed = blamed || first[i].res.Outcome == verdict.Failed
	}
	if !blamed && len(first) > 0 { // no step found a failure, so the scenario at fault is unknown
		r.blame(&first[0].res, first[0].res.Notes[len(first[0].res.Notes)-1])
	}
	r.asTheyCame(d, first)
}
