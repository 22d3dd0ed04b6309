package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/words"
	"parley/reports"
	"parley/steps"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// A target that is slow because many scenarios run at once is overloaded, not wrong. If answers were missing while
// others came late, or connections were refused for lack of room, the affected scenarios run again alone and are
// judged by that. So do those that lost records because the transcripts of all had no more room. A missing answer
// among quick ones is not a sign of overload: that scenario stays failed. A wrong message always stands (standing),
// since it might be right by chance when the scenario runs alone.

const (
	// scenarios to run again first: if none of them passes alone, the target is broken, and the other results stay
	probes   = 2
	patience = 3   // all reruns together take at most so many times limits.scenario
	abridged = 500 // records of a flooded scenario that are kept until it runs again
)

// setAside holds back the result of a scenario that missed an answer while others ran, until it is known whether the
// target was overloaded.
func (r *run) setAside(d *driverRun, pl Planned, res steps.Result) bool {
	away := r.frontAway(d, res)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed[answersMissed] || d.again != nil && d.again.alone {
		return false
	}
	short := res.Outcome == verdict.Failed || res.Outcome == verdict.NotTested || res.Outcome == verdict.Warned
	missed := (res.Late > 0 || hasRefused(res.Records)) && res.Lacks()
	unheard := away || wentAwayIn(res) || slices.ContainsFunc(res.Records, steps.Unheard)
	one := asideResult{pl: pl, res: res, missed: missed, unheard: unheard, cut: cutOff(res),
		squeezed: res.Squeezed}
	if !d.crowded && !away && !one.squeezed || !short || !one.missed && !one.unheard && !one.cut && !one.squeezed {
		return false
	}
	one.res = res.Abridged(abridged)
	d.putAside(answersMissed, one) // until then it fails no clause and shortens no waits
	return true
}

// wentAwayIn reports whether the target was unreachable in a scenario after it had been reachable.
func wentAwayIn(res steps.Result) bool { return strings.HasPrefix(res.Reason, wentAway) }

// hasRefused reports whether the target has reported that it has no room.
func hasRefused(records []transcript.Record) bool { return slices.ContainsFunc(records, steps.NoRoom) }

// decideSetAside decides the scenarios that were set aside.
func (r *run) decideSetAside(ctx context.Context, d *driverRun, parallel int) {
	kept := d.takeAside(answersMissed, true)
	d.mu.Lock()
	d.crowded = false
	d.mu.Unlock()
	squeezed := func(a asideResult) bool { return a.squeezed && !a.unheard }
	others := slices.DeleteFunc(slices.Clone(kept), squeezed)
	if len(others) > 0 { // first, because they have their records
		r.decideOverloaded(ctx, d, others, parallel)
	}
	r.rerunWithRoom(ctx, d, slices.DeleteFunc(kept, func(a asideResult) bool { return !squeezed(a) }))
}

// decideOverloaded decides scenarios that were set aside because the target may be overloaded. If it was, each runs
// again alone; otherwise its result stays.
func (r *run) decideOverloaded(ctx context.Context, d *driverRun, kept []asideResult, parallel int) {
	slowest := d.envs.Sluggish()
	if strays, _ := d.envs.Strays(); strays > 0 {
		r.finishAside(d, kept) // the late answers belonged to other scenarios
		return
	}
	full := slices.ContainsFunc(kept, func(a asideResult) bool { return hasRefused(a.res.Records) })
	room, replaces := 0, false
	if slices.ContainsFunc(kept, func(a asideResult) bool { return a.cut }) {
		room, replaces = r.roomOf(ctx, d)
	}
	stays := func(a asideResult) bool {
		return !a.unheard && (!a.missed || slowest == 0 && !full) && (!a.cut || room == 0)
	}
	r.finishAside(d, slices.DeleteFunc(slices.Clone(kept), func(a asideResult) bool { return !stays(a) }))
	if kept = slices.DeleteFunc(kept, stays); len(kept) == 0 {
		return
	}
	for i := range kept {
		if kept[i].cut && room > 0 { // its other failures come after the end of its connection
			kept[i].stands = r.wrongByItself
		}
	}
	held, again := r.rerunAlone(ctx, d, kept)
	if held == 0 {
		return
	}
	if slowest == 0 && room == 0 && !full {
		r.addNote(reports.Note{Kind: "target",
			Text: fmt.Sprintf("the target, or what stands before it, was away for a while: "+
				"%d of the %d scenarios that lost connections pass in a run of their own and were judged by it", held,
				again)})
		return
	}
	fewer := max(parallel/8, 1)
	what := fmt.Sprintf("the target is overloaded by %d scenarios at once", parallel)
	why := fmt.Sprintf("the slowest answer took %.1f s", slowest.Seconds())
	if slowest == 0 {
		why = "it refused some because it was full"
	}
	switch {
	case replaces:
		what = "the target closes an older connection for a new one"
		why, fewer = fmt.Sprintf("of those that stay idle it keeps %d", room), max(min(fewer, room/2), 1)
	case room > 0:
		why = fmt.Sprintf("it has room for %d connections", room)
	}
	r.addNote(reports.Note{Kind: "target",
		Text: fmt.Sprintf("%s (%s): %d of the %d that got no answer pass in a run of their own and were judged by it. "+
			"Give --concurrency %d, or concurrency: %d in the profile", what, why, held, again, fewer, fewer)})
}

// rerunAlone runs scenarios again alone, all of them if one of the first passes. It returns how many pass, and how many
// were run; the results of the others stay.
func (r *run) rerunAlone(ctx context.Context, d *driverRun, kept []asideResult) (held, again int) {
	d.envs.Forget() // answers missed alone have other causes; waits get their whole limits again
	limit := patience * r.o.Profile.Limits.Scenario.Duration
	limited, cancel := deadline.WithLimitCause(ctx, limit, &errNoTime{"the target was overloaded", limit})
	defer cancel()
	for i := 0; held == 0 && len(kept) > 0; i++ {
		if i == probes {
			r.finishAside(d, kept)
			return 0, again
		}
		n := len(kept) / 2
		held += r.repeatScenarios(limited, d, kept[n:n+1], 1, rerun{}).passed
		again, kept = again+1, slices.Delete(kept, n, n+1)
	}
	if held == 0 {
		return 0, again
	}
	return held + r.repeatScenarios(limited, d, kept, 1, rerun{}).passed, again + len(kept)
}

// rerunWithRoom runs the scenarios again that lost records for lack of memory beside others: all of them for which half
// of limits.scenario suffices, unless the first ones lose records alone, too, because the target floods them. The
// results of the others stay then.
func (r *run) rerunWithRoom(ctx context.Context, d *driverRun, again []asideResult) {
	if len(again) == 0 {
		return
	}
	d.envs.Forget() // see retry
	limited, cancel := deadline.WithLimitCause(ctx, r.o.Profile.Limits.Scenario.Duration/2, errNoRoom)
	defer cancel()
	for range probes {
		n := len(again) / 2
		lost := r.repeatScenarios(limited, d, again[n:n+1], 1, rerun{}).lost
		if again = slices.Delete(again, n, n+1); len(again) == 0 {
			return
		}
		if lost == 0 {
			r.repeatScenarios(limited, d, again, 1, rerun{})
			return
		}
	}
	r.finishAside(d, again)
}

// errNoTime is the cause of the end of a context of reruns.
type errNoTime struct {
	why   string // there are reruns
	limit time.Duration
}

func (e *errNoTime) Error() string {
	return fmt.Sprintf("%s, and the %s for judging such scenarios again one at a time (%d × "+
		"limits.scenario) were over: give --concurrency 1, or raise limits.scenario", e.why, steps.Span(e.limit), patience)
}

// noTime returns why reruns ended before their end, if their time was up; nil if not.
func noTime(ctx context.Context) *errNoTime {
	var late *errNoTime
	errors.As(context.Cause(ctx), &late)
	return late
}

var errNoRoom = errors.New("the scenarios at once sent more than Parley holds, and no time was left to judge this " +
	"again in a run of its own: give --concurrency 1")

// wrongByItself reports whether no other message of the target could have prevented a failure.
func (r *run) wrongByItself(f steps.Failure) bool {
	return slices.ContainsFunc(r.protocol.Monitors(),
		func(m monitor.Monitor) bool { return m.Name == f.Monitor && m.PerRecord })
}

// What stands between the harness and a target is not the target. Package driver sends again what a gateway refuses;
// here is what cannot be sent again: a front that goes away in the middle of a run, and credentials that expire.

// frontAway reports whether a connection of a scenario was lost because what stands before the target was away, or
// whether a gateway answered in the target's place. A target whose process has exited is judged by crashed.
func (r *run) frontAway(d *driverRun, res steps.Result) bool {
	if res.Run == nil || res.Outcome == verdict.Passed || res.Outcome == verdict.NotApplicable ||
		hasExited(res.Run, 0) {
		return false
	}
	if slices.ContainsFunc(res.Records, func(rec transcript.Record) bool { return driver.ByGateway(&rec) }) {
		return true
	}
	if !brokenOff(res.Records) {
		return false
	}
	if slices.ContainsFunc(res.Records, steps.Unheard) {
		return true
	}
	refusal := d.opensAgain()
	return refusal != nil && (driver.IsGateway(refusal.Status) || refusal.Status == 0 && steps.Unreachable(refusal))
}

// opensAgain opens the run's first connection again and closes it. It returns nil if the target accepts it, or if there
// was none.
func (d *driverRun) opensAgain() *driver.OpenError {
	first, _ := d.envs.Opened()
	if first.URL == "" {
		return nil
	}
	ctx, cancel := deadline.WithLimit(context.Background(), d.envs.Profile.Limits.Open.Duration)
	defer cancel()
	t := transcript.New(nil)
	defer t.Release()
	first.Alone = false
	conn, err := d.d.Open(ctx, first, t.Append)
	if err == nil {
		_ = conn.Close(driver.Reset)
		return nil
	}
	var refusal *driver.OpenError
	errors.As(err, &refusal)
	return refusal
}

// refusesCredentials matches the record of a refusal of credentials.
func refusesCredentials(rec transcript.Record) bool {
	return rec.Dir == transcript.Received && rec.Kind == transcript.Response && isUnauthorized(rec.Status)
}

func isUnauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// endIfLapsed ends the run if the credentials are refused with which its first connection was opened. A target may
// refuse a message with the same status, so that connection is tried again. Results from then on count as not tested.
// While other connections are open, 403 may also mean that the target is full: then lapse puts the result aside until
// they have ended, and reports that.
func (r *run) endIfLapsed(d *driverRun, pl Planned, res *steps.Result) (later bool) {
	if res.Outcome == verdict.Passed || d.envs == nil {
		return false
	}
	if why := r.lapsedBy(); why != "" {
		asUntested(res, why)
		return false
	}
	at := slices.IndexFunc(res.Records, refusesCredentials)
	if at < 0 {
		return false
	}
	busy := d.envs.Busy()
	refusal := d.opensAgain()
	if refusal == nil || refusal.Status != res.Records[at].Status {
		return false
	}
	after := time.Since(r.started) - res.Duration + res.Records[at].At
	if refusal.Status == http.StatusForbidden && (busy || d.envs.Busy()) { // others may have ended meanwhile
		d.mu.Lock()
		defer d.mu.Unlock()
		if later = !d.closed[mayBeFull]; later {
			d.putAside(mayBeFull, asideResult{pl: pl, res: *res, after: after})
		}
		return later
	}
	if refusal = d.staysRefused(); refusal != nil && refusal.Status == res.Records[at].Status {
		asUntested(res, r.endForLapse(refusal.Status, after))
	}
	return false
}

// endForLapse ends the run because credentials were refused after a time. It returns why.
func (r *run) endForLapse(status int, after time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lapsed == "" {
		r.lapsed = fmt.Sprintf("the credentials were refused after %.1f s (HTTP %d), with which connections had been "+
			"opened: give some that outlast the run", max(after, 0).Seconds(), status)
		if r.env == "" {
			r.env = r.lapsed
		}
	}
	return r.lapsed
}

// asUntested makes a result count for nothing.
func asUntested(res *steps.Result, why string) {
	res.Outcome, res.Reason, res.Failures, res.Monitors = verdict.NotTested, why, nil, nil
	for i, c := range res.Clauses {
		if c.Outcome == verdict.Failed || c.Outcome == verdict.Warned || c.Outcome == verdict.NotTested {
			res.Clauses[i].Outcome, res.Clauses[i].Reason = verdict.NotTested, why
		}
	}
}

// lapsedOrFull decides the results that lapse has put aside, when no other scenario runs any more.
func (r *run) lapsedOrFull(d *driverRun) {
	list := d.takeAside(mayBeFull, true)
	if len(list) == 0 {
		return
	}
	if refusal := d.staysRefused(); refusal != nil && isUnauthorized(refusal.Status) {
		first := slices.MinFunc(list, func(a, b asideResult) int { return cmp.Compare(a.after, b.after) })
		why := r.endForLapse(refusal.Status, first.after)
		for i := range list {
			asUntested(&list[i].res, why)
		}
	}
	r.finishAside(d, list)
}

// roomAfter is how long a front that is full may take to notice that connections have ended.
const roomAfter = time.Second

// staysRefused opens the first connection again, and returns the refusal; nil if the target accepts it. A 403 must
// outlast roomAfter, since a front may have been full a moment ago.
func (d *driverRun) staysRefused() *driver.OpenError {
	for end := time.Now().Add(roomAfter); ; time.Sleep(roomAfter / 20) {
		refusal := d.opensAgain()
		if refusal == nil || refusal.Status != http.StatusForbidden || time.Now().After(end) {
			return refusal
		}
	}
}

// lapsedBy returns why the run has ended before its end; "" if it has not.
func (r *run) lapsedBy() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lapsed
}

// tellGateway notes what a gateway has answered, and what to do.
func (r *run) tellGateway(d *driverRun) {
	one, ok := d.d.(interface{ Gateway() *driver.Gateway })
	if !ok {
		return
	}
	counts, rate := one.Gateway().Counts()
	if len(counts) == 0 {
		return
	}
	var list []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d (%s)", status, words.Counted(counts[status], "time")))
	}
	text := "a gateway answered in place of the target: HTTP " + strings.Join(list, ", ") + ". "
	if rate > 0 {
		text += fmt.Sprintf("Since then at most %.0f requests a second were sent. ", rate)
	}
	r.addNote(reports.Note{Kind: "target",
		Text: text + "Test the target behind it, raise its limits for the test, or give " +
			"--concurrency 1"})
}
