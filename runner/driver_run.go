package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/target"
)

// runDriver runs the plan of one driver: the three preflight stages one after the other, then the rest side by side.
func (r *run) runDriver(ctx context.Context, d *driverRun, parallel int) {
	d.envs = r.newEnvironment(d)
	if r.o.unguarded {
		d.reached = steps.Answered
	}
	for stage := 1; stage <= 3; stage++ {
		r.runPreflightStage(ctx, d, stage)
	}
	if len(d.held) == 0 {
		r.driveRest(ctx, d, parallel)
	}
	r.tellRepeats(d)
}

// driveRest runs the scenarios after preflight.
func (r *run) driveRest(ctx context.Context, d *driverRun, parallel int) {
	d.crowded = parallel > 1 && r.o.Enough == nil
	d.beside = map[string]bool{}
	d.envs.Alone(parallel)
	d.slots = newSlots(parallel, r.lendableSlots(d.name, parallel))
	began := time.Now()
	r.runStage(ctx, d, rest, parallel+d.slots.most)
	r.tellShared(d, time.Since(began))
	r.lapsedOrFull(d)
	r.judgeAgain(ctx, d, parallel, false)
	r.decideSetAside(ctx, d, parallel)
	r.judgeAgain(ctx, d, 1, true)
	r.rerunBystanders(ctx, d)
	r.judgeDoubted(ctx, d)
	r.exploreSequences(ctx, d)
	r.cutPoints(ctx, d, parallel)
	r.tellGateway(d)
}

// rest is the stage of all scenarios outside preflight.
const rest = 0

// runStage runs the scenarios of a stage, those that take long first.
func (r *run) runStage(ctx context.Context, d *driverRun, stage, parallel int) {
	due := d.dueScenarios(stage)
	if parallel == 1 || r.o.Godog.Format != "" {
		r.runDue(ctx, d, stage, parallel, due)
		return
	}
	var long, others []Planned
	for _, pl := range due {
		if pl.isLong() {
			long = append(long, pl)
		} else {
			others = append(others, pl)
		}
	}
	var both sync.WaitGroup
	both.Go(func() { r.runDue(ctx, d, stage, parallel, long) })
	both.Go(func() { r.runDue(ctx, d, stage, parallel, others) })
	both.Wait()
}

// runDue runs scenarios of a stage in godog. Results come through done, not from godog's exit code, which counts
// skipped scenarios as passed. It parses what is due alone, since all of it would take longer than a short run itself.
func (r *run) runDue(ctx context.Context, d *driverRun, stage, parallel int, due []Planned) {
	if len(due) == 0 {
		return
	}
	tag := fmt.Sprintf("@preflight-%d", stage)
	if stage == rest {
		tag = "~@preflight-1 && ~@preflight-2 && ~@preflight-3"
	}
	var files []string
	for _, pl := range due {
		if file := pl.file; !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	s := &steps.Suite{Protocol: r.protocol, Env: d.envs, Own: len(r.o.Own) > 0,
		Begin: func(ctx context.Context, sc *godog.Scenario) steps.Slot { return r.beginScenario(ctx, d, sc) },
		Done:  func(res steps.Result) { r.recordDone(d, res) }}
	o := &godog.Options{FS: featureExcerpts(r.o.FS, r.everything, due), Paths: files, Tags: tag, Concurrency: parallel,
		Strict: true, DefaultContext: ctx, Format: silent, Output: io.Discard, NoColors: true}
	if r.o.Godog.Format != "" {
		o.Format, o.Output, o.Concurrency = r.o.Godog.Format, r.o.Godog.Output, 1
	}
	godog.TestSuite{Name: steps.Name(r.protocol) + "/" + d.name, ScenarioInitializer: s.Initialize, Options: o}.Run()
}

// dueScenarios returns the planned scenarios of a stage; when doubtful ones run again, only these. Random sequences run
// by themselves.
func (d *driverRun) dueScenarios(stage int) (out []Planned) {
	for _, pl := range d.plan {
		if pl.file != "" && pl.Stage == stage && d.isRunning(pl.key) {
			out = append(out, pl)
		}
	}
	return out
}

// silent is a godog format that prints nothing.
const silent = "parley-silent"

func init() {
	godog.Format(silent, "prints nothing: the results come from Parley's own model",
		func(suite string, out io.Writer) godog.Formatter {
			return godog.NewBaseFmt(suite, io.Discard)
		})
}

// beginScenario gives a scenario its target, or the reason why it is skipped.
func (r *run) beginScenario(ctx context.Context, d *driverRun, sc *godog.Scenario) steps.Slot {
	pl, ok := d.byKey[pickleKey(sc)]
	switch {
	case !ok, !d.isRunning(pl.key), r.o.Enough != nil && pl.Stage == 0 && r.o.Enough(pl):
		return steps.Slot{Skip: notPlanned}
	case noTime(ctx) != nil:
		return steps.Slot{Skip: verdict.NotTested, Reason: noTime(ctx).Error(), CutOff: true}
	case errors.Is(context.Cause(ctx), errNoRoom):
		return steps.Slot{Skip: verdict.NotTested, Reason: errNoRoom.Error(), CutOff: true}
	case tooLate(ctx) != nil:
		return steps.Slot{Skip: verdict.NotTested, Reason: tooLate(ctx).Error(), CutOff: true}
	case ctx.Err() != nil:
		return steps.Slot{Skip: verdict.NotTested, Reason: "interrupted", CutOff: true}
	case r.lapsedBy() != "":
		return steps.Slot{Skip: verdict.NotTested, Reason: r.lapsedBy()}
	case d.again == nil && r.o.FailFast.Why() != "":
		return steps.Slot{Skip: verdict.NotTested, Reason: r.o.FailFast.Why()}
	}
	room, err := r.awaitMemory(ctx, d, sc, pl)
	if late := tooLate(ctx); err != nil && late != nil {
		return steps.Slot{Skip: verdict.NotTested, Reason: late.Error(), CutOff: true}
	}
	if err != nil {
		return steps.Slot{Skip: verdict.NotTested, Reason: "interrupted", CutOff: true}
	}
	var s steps.Slot
	if pl.Exclusive() && d.blockingStage(pl) == "" && r.protocol.NotRunnable(d.envs, pl.Tags) == "" {
		s = r.exclusiveSlot(ctx, r.makeNonce(d, pl.ID))
	} else {
		s = r.sharedSlot(ctx, d, &pl, r.makeNonce(d, pl.ID))
	}
	if s.Release == nil {
		room.leave()
		return s
	}
	unlock := s.Release
	s.Release = func() { unlock(); room.leave() }
	s.Lender, s.Turns, s.Again = room.slot, room.turns, d.again != nil
	return s
}

// awaitMemory blocks until the target and the memory of this process have room for the scenario.
func (r *run) awaitMemory(ctx context.Context, d *driverRun, sc *godog.Scenario, pl Planned) (capacityShare, error) {
	out, err := d.awaitRoom(ctx, r.protocol, sc, pl)
	if err != nil {
		return out, err
	}
	giveBack, err := memory.reserveMemory(ctx, r.memoryName(pl))
	if err != nil {
		out.leave()
		return out, err
	}
	leave := out.leave
	out.leave = func() { giveBack(); leave() }
	return out, nil
}

// capacityShare is a scenario's share of the target's capacity.
type capacityShare struct {
	slot, turns steps.Lender // nil: not lendable
	leave       func()
}

// awaitRoom blocks until the target has room for the scenario.
func (d *driverRun) awaitRoom(ctx context.Context, p steps.Protocol, sc *godog.Scenario, pl Planned) (capacityShare,
	error) {
	r := capacityShare{leave: func() {}}
	if pl.Stage != rest {
		return r, nil
	}
	held := 0
	if !pl.Exclusive() {
		var err error
		if held, err = d.occupyWorkers(ctx, p, sc); err != nil {
			return r, err
		}
	}
	if err := d.slots.takeSlots(ctx, 1); err != nil {
		d.workers.giveBack(held)
		return r, err
	}
	r.leave = func() { d.slots.giveBack(1); d.workers.giveBack(held) }
	if d.slots.most > 0 {
		r.slot = lender{d.slots, 1}
		if held > 0 {
			r.turns = lender{d.workers, held}
		}
	}
	return r, nil
}

// makeNonce makes the names of a scenario unique within the run and across runs, since a target may keep its sessions.
// A rerun gets a new nonce, because the target and the model remember the old one.
func (r *run) makeNonce(d *driverRun, id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun == nil {
		d.begun = map[string]int{}
	}
	d.begun[id]++
	again := ""
	if n := d.begun[id]; n > 1 {
		again = fmt.Sprintf("r%d", n)
	}
	return fmt.Sprintf("%s-%s-%x%s", strings.ToLower(strings.ReplaceAll(id, ".", "-")), d.name, r.salt, again)
}

// sharedSlot gives a scenario the shared target, or the reason why it is skipped.
func (r *run) sharedSlot(ctx context.Context, d *driverRun, pl *Planned, nonce string) steps.Slot {
	if why := d.blockingStage(*pl); why != "" {
		return steps.Slot{Skip: verdict.NotTested, Reason: why}
	}
	if why := r.protocol.NotRunnable(d.envs, pl.Tags); why != "" {
		return steps.Slot{Skip: verdict.NotTested, Reason: why}
	}
	alone := r.runsAlone(d, pl)
	idle := r.idle
	if d.again != nil && d.again.idle != nil {
		alone, idle = false, d.again.idle
	}
	s := r.shareTarget(ctx, nonce, alone, idle)
	d.mu.Lock()
	s.Beside = d.crowded && pl.Stage == rest && !alone
	if d.beside != nil {
		d.beside[pl.key] = s.Beside
	}
	d.mu.Unlock()
	return s
}

// notPlanned marks a scenario outside the selection; it appears in no result.
const notPlanned verdict.Outcome = "not-planned"

// exclusiveSlot gives a scenario a target of its own, or exclusive use of the shared one.
func (r *run) exclusiveSlot(ctx context.Context, nonce string) steps.Slot {
	if !r.o.Launcher.Private() {
		return r.shareTarget(ctx, nonce, true, r.idle)
	}
	unlock := func() {}
	if r.o.Profile.Resets() {
		r.lock.Lock()
		unlock = r.lock.Unlock
	}
	own, err := r.o.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: r.modelURL, Own: true})
	if err != nil {
		unlock()
		return steps.Slot{Skip: verdict.NotTested,
			Reason: "a separate target for this scenario could not be started: " + err.Error()}
	}
	return r.resetForScenario(ctx, steps.Slot{Run: own, Nonce: nonce,
		Release: func() { stopWithin(stopLimit, own.Stop); unlock() }})
}

// blockingStage names the preflight stage whose failure blocks the scenario; "" if none does.
func (d *driverRun) blockingStage(pl Planned) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pl.Needs() > d.reached {
		return d.failed
	}
	return ""
}

// advancePreflight advances the preflight, or marks it as failed. A target that has got through a stage is past it,
// whether a step has said so or not.
func (r *run) advancePreflight(d *driverRun, pl Planned, res steps.Result) {
	if pl.Stage == 0 {
		return
	}
	if res.Outcome == verdict.Passed || res.Outcome == verdict.Warned {
		res.Reached = max(res.Reached, steps.Reach(pl.Stage)+1)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reached = max(d.reached, res.Reached)
	if d.reached <= steps.Reach(pl.Stage) && d.failed == "" {
		what, how := r.protocol.Stages()[pl.Stage-1], "did not work"
		if res.Run == nil { // there was no target to try it with
			how = "was not tested"
		}
		d.failed = fmt.Sprintf("preflight: %s %s (%s %q): %s", what, how, pl.ID, pl.Name, firstLine(res.Reason))
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// recordDone records a scenario's result: judgements, transcript, report.
func (r *run) recordDone(d *driverRun, res steps.Result) {
	if res.Outcome == notPlanned {
		return
	}
	pl := d.byKey[pickleKey(res.Scenario)]
	if res.Run != nil {
		memory.learnMemory(r.memoryName(pl), res)
	}
	r.finishScenario(d, pl, res)
}

func (r *run) finishScenario(d *driverRun, pl Planned, res steps.Result) {
	defer r.recoverPanic(pl)
	if r.endIfLapsed(d, pl, &res) {
		return
	}
	if r.handleCrash(d, pl, &res) {
		return // it runs again alone, to tell the culprit from the bystanders
	}
	if !d.keepRerun(pl, res) {
		r.acceptResult(d, pl, res)
	}
}

// recoverPanic must be deferred. It records a panic as a harness failure, so that the target is not blamed for it.
func (r *run) recoverPanic(pl Planned) {
	if p := recover(); p != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.broken = true
		r.notes = append(r.notes, reports.Note{Kind: "harness",
			Text: fmt.Sprintf("result of %s: %v\n%s", pl.Name, p, debug.Stack())})
	}
}

// acceptResult records a result that no rerun after a crash will replace; a rerun after an overload still may.
func (r *run) acceptResult(d *driverRun, pl Planned, res steps.Result) {
	defer r.recoverPanic(pl)
	if res.Outcome == verdict.EnvError && pl.Stage != 1 {
		res = notTestedIfLost(res)
	}
	if pl.Stage == 0 && (!pl.Exclusive() || wentAwayIn(res) || res.Squeezed) && r.setAside(d, pl, res) {
		return // it may run again alone if the target was overloaded
	}
	if r.holdDoubtful(d, pl, res) {
		return // it runs again alone
	}
	res = d.combineRerun(pl, res)
	r.advancePreflight(d, pl, res)
	d.envs.Judged(res)
	if !r.isPreliminary(d, pl, res) && !r.holdPreflight(d, pl, res) {
		r.storeResult(d, pl, res)
	}
}

// storeResult stores a result in the run and reports it to the observer.
func (r *run) storeResult(d *driverRun, pl Planned, res steps.Result) {
	r.countReached(res.Behaviour)
	r.publishResult(d, pl, r.prepareResult(d, pl, res))
}

// storedResult is a result as the run stores it, without its records.
type storedResult struct {
	scenario reports.Scenario
	judged   []verdict.Judgement
	course   []string // see steps.Comparer
	compared bool     // over the drivers
	outcome  verdict.Outcome
	reason   string
}

// prepareResult sums up a result and lets its records go.
func (r *run) prepareResult(d *driverRun, pl Planned, res steps.Result) storedResult {
	defer res.Release()
	if r.o.Finished != nil {
		r.o.Finished(pl, res.Records)
	}
	out := storedResult{scenario: r.scenarioReport(d, pl, res), judged: judgementsOver(d.name, pl.ID, res),
		outcome: res.Outcome,
		reason:  res.Reason}
	if comparer, ok := r.protocol.(steps.Comparer); ok && !slices.Contains(pl.Tags, cutTag) { // where it is cut is a race
		out.course, out.compared = comparer.Course(res.Records), true
	}
	return out
}

// publishResult stores a prepared result and reports it to the observer.
func (r *run) publishResult(d *driverRun, pl Planned, res storedResult) {
	r.mu.Lock()
	r.results[d.name][pl.ID] = res.scenario
	r.judged = append(r.judged, res.judged...)
	r.failFast(res.judged)
	if res.outcome == verdict.EnvError && r.env == "" {
		r.env = res.reason
	}
	r.broken = r.broken || res.outcome == verdict.HarnessError
	if res.compared {
		if r.traces[pl.ID] == nil {
			r.traces[pl.ID] = map[string][]string{}
		}
		r.traces[pl.ID][d.name] = res.course
	}
	r.mu.Unlock()
	if r.o.Observer != nil {
		r.o.Observer.ScenarioDone(res.scenario)
	}
}

const wentAway = "the target went away during the run"

// notTestedIfLost turns "unreachable" in the middle of a run into not tested: the target went away.
func notTestedIfLost(res steps.Result) steps.Result {
	res.Outcome = verdict.NotTested
	res.Reason = wentAway + ": " + res.Reason
	for i := range res.Clauses {
		if res.Clauses[i].Outcome == verdict.EnvError {
			res.Clauses[i].Outcome, res.Clauses[i].Reason = verdict.NotTested, res.Reason
		}
	}
	return res
}

// judgementsOver returns the judgements of a scenario over a driver.
func judgementsOver(driver, id string, res steps.Result) []verdict.Judgement {
	all := slices.Concat(res.Clauses, res.Monitors)
	for i := range all {
		all[i].Driver, all[i].Scenario = driver, id
	}
	return all
}
