package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// aliveTarget returns the shared target, and restarts it if its process has exited.
func (r *run) aliveTarget(ctx context.Context) (target.Running, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !hasExited(r.shared, 0) {
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

// hasExited reports whether a target's process has exited by itself, or does so within the given time.
func hasExited(run target.Running, within time.Duration) bool {
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

// handleCrash handles the exit of the target's process during a scenario that did not pass, and reports whether the
// scenario was put aside. In the first round it is put aside; once it has run alone, the exit is part of its result.
func (r *run) handleCrash(d *driverRun, pl Planned, res *steps.Result) bool {
	if why := pageEnd(res.Records); why != "" && res.Outcome != verdict.Passed {
		r.blameClause(res, tellOf(res, why))
		return false // its process is its own: no other scenario is affected
	}
	if res.Run == nil || res.Outcome == verdict.Passed || !brokenOff(res.Records) || !hasExited(res.Run, noticed) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed[processEnded] && d.again == nil && pl.Stage == 0 && !pl.Exclusive() {
		d.putAside(processEnded, asideResult{pl: pl, res: *res})
		return true
	}
	if d.again != nil {
		d.again.culprits++
	}
	r.blameClause(res, r.tellEnd(res))
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
	return tellOf(res, fmt.Sprintf("%s: %v", endedHere, res.Run.(target.Exiter).ExitErr())+
		steps.QuoteStderr(r.redact, res.Run.Stderr()))
}

const endedHere = "the target's process ended during this scenario"

func tellsEnd(note string) bool { return strings.HasPrefix(note, endedHere) }

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

// blameClause names the clause broken by a scenario that ended the target's process when it ran alone. If a step has
// already found a binding clause broken, that one stands. Otherwise it is the first clause that the scenario could
// not test, since the actual one cannot be told. The other clauses are not tested.
func (r *run) blameClause(res *steps.Result, end string) {
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
	res.Failures = append(res.Failures, steps.Failure{Clause: c.Clause, Outcome: worst, Step: res.StepOf(at),
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

// rerunBystanders runs the bystanders of a crash again, each alone: one at a time, or on an instance of its own. The
// new results count only if one of the scenarios ends the process alone.
func (r *run) rerunBystanders(ctx context.Context, d *driverRun) {
	first := d.takeAside(processEnded, true)
	idle, parallel := r.bystanderInstances(len(first))
	now := r.repeatScenarios(ctx, d, first, parallel, rerun{kept: true, idle: idle})
	r.blameLast(now, r.endedInstances(idle, now.culprits == 0))
	r.stopInstances(idle)
	if now.culprits > 0 || ctx.Err() != nil {
		for i, a := range now.results {
			now.results[i].res = standingFailures(now.first[a.pl.key], a.res)
		}
		r.finishAside(d, now.results)
		return
	}
	blamed := false
	for i := range first {
		r.tellEnd(&first[i].res)
		blamed = blamed || first[i].res.Outcome == verdict.Failed
	}
	if !blamed && len(first) > 0 { // no step found a failure, so the scenario at fault is unknown
		r.blameClause(&first[0].res, first[0].res.Notes[len(first[0].res.Notes)-1])
	}
	r.finishAside(d, first)
}

// lasting is how much later than its cause the end of a process is looked for, if nothing else tells what ended it.
const lasting = 1500 * time.Millisecond

// endedInstances returns the idle instances that have exited by themselves, or do so within lasting if late.
func (r *run) endedInstances(idle chan *instance, late bool) (ended []target.Running) {
	within := time.Duration(0)
	if late {
		within = lasting
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for range len(idle) {
		one := <-idle
		all.Go(func() {
			exited := one.own != nil && hasExited(one.own, within)
			mu.Lock()
			defer mu.Unlock()
			if ended = append(ended, one.ended...); exited {
				ended = append(ended, one.own)
			}
			idle <- one
		})
	}
	all.Wait()
	return ended
}

// blameLast blames the scenario that ran last on an instance which ended behind it, when none ran.
func (r *run) blameLast(now *rerun, ended []target.Running) {
	for _, run := range ended {
		i := lastOn(now.results, run)
		if i < 0 || slices.ContainsFunc(now.results[i].res.Notes, tellsEnd) {
			continue
		}
		res := &now.results[i].res
		r.blameClause(res, r.tellEnd(res))
		if isBroken(res.Outcome) {
			now.culprits++
		}
	}
}

// lastOn returns the index of the last result on an instance; -1 if there is none.
func lastOn(results []asideResult, run target.Running) int {
	for i, a := range slices.Backward(results) {
		if a.res.Run == run {
			return i
		}
	}
	return -1
}
