package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
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
		run, err = r.aliveTarget(ctx)
		return run, func() {}, err
	}
	for {
		select {
		case one := <-r.idle:
			giveBack = func() { r.idle <- one }
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
	return tellOf(res, fmt.Sprintf("the target's process ended during this scenario: %v",
		res.Run.(target.Exiter).ExitErr())+steps.QuoteStderr(r.redact, res.Run.Stderr()))
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

// rerunBystanders runs the bystanders of a crash one at a time. The new results count only if one of the scenarios ends
// the process alone.
func (r *run) rerunBystanders(ctx context.Context, d *driverRun) {
	first := d.takeAside(processEnded, true)
	now := r.repeatScenarios(ctx, d, first, 1, rerun{kept: true})
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
func (r *run) shareTarget(ctx context.Context, nonce string, alone bool) steps.Slot {
	lock, unlock := r.lock.RLock, r.lock.RUnlock
	if alone || r.o.Profile.Resets() {
		lock, unlock = r.lock.Lock, r.lock.Unlock
	}
	lock()
	run, giveBack, err := r.lendTarget(ctx)
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
