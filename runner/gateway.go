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
	"parley/transport/driver"
	"parley/transport/transcript"
)

// What stands between the harness and a target is not the target. Package driver sends again what a gateway refuses;
// here is what cannot be sent again: a front that goes away in the middle of a run, and credentials that expire.

// frontAway reports whether a connection of a scenario was lost because what stands before the target was away, or
// whether a gateway answered in the target's place. A target whose process has exited is judged by crashed.
func (r *run) frontAway(d *driverRun, res steps.Result) bool {
	if res.Run == nil || res.Outcome == verdict.Passed || res.Outcome == verdict.NotApplicable || exited(res.Run, 0) {
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
	return rec.Dir == transcript.Received && rec.Kind == transcript.Response && unauthorized(rec.Status)
}

func unauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// lapse ends the run if the credentials are refused with which its first connection was opened. A target may refuse a
// message with the same status, so that connection is tried again. Results from then on count as not tested. While
// other connections are open, 403 may also mean that the target is full: then lapse puts the result aside until they
// have ended, and reports that.
func (r *run) lapse(d *driverRun, pl Planned, res *steps.Result) (later bool) {
	if res.Outcome == verdict.Passed || d.envs == nil {
		return false
	}
	if why := r.lapsedBy(); why != "" {
		untested(res, why)
		return false
	}
	at := slices.IndexFunc(res.Records, refusesCredentials)
	if at < 0 {
		return false
	}
	refusal := d.opensAgain()
	if refusal == nil || refusal.Status != res.Records[at].Status {
		return false
	}
	after := time.Since(r.started) - res.Duration + res.Records[at].At
	if refusal.Status == http.StatusForbidden && d.envs.Busy() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if later = !d.closed[mayBeFull]; later {
			d.putAside(mayBeFull, aside{pl: pl, res: *res, after: after})
		}
		return later
	}
	untested(res, r.lapses(refusal.Status, after))
	return false
}

// lapses ends the run because credentials were refused after a time. It returns why.
func (r *run) lapses(status int, after time.Duration) string {
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

// untested makes a result count for nothing.
func untested(res *steps.Result, why string) {
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
	if refusal := d.opensAgain(); refusal != nil && unauthorized(refusal.Status) {
		first := slices.MinFunc(list, func(a, b aside) int { return cmp.Compare(a.after, b.after) })
		why := r.lapses(refusal.Status, first.after)
		for i := range list {
			untested(&list[i].res, why)
		}
	}
	r.asTheyCame(d, list)
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
	r.note(reports.Note{Kind: "target", Text: text + "Test the target behind it, raise its limits for the test, or give " +
		"--concurrency 1"})
}
