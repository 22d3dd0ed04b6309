package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/internal/stall"
	"parley/reports"
	"parley/steps"
	"parley/transcript"
	"parley/verdict"
)

// A target that is slow because many scenarios run at once is overloaded, and not wrong. Where answers were missing while others
// came late, or connections were refused for want of room, the scenarios that had to do without are run again, each alone, and
// judged by that. A missing answer among quick ones is no overload: that scenario stays failed.

const (
	probes   = 2                // so many are run again first: where none of them holds alone, the target is broken, and the rest stays as it is
	patience = 60 * time.Second // for all that run again
)

// setAside keeps the result of a scenario that had to do without an answer while others ran, until it is known whether the
// target was overloaded.
func (r *run) setAside(d *driverRun, pl Planned, res steps.Result) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	short := res.Outcome == verdict.Failed || res.Outcome == verdict.NotTested || res.Outcome == verdict.Warned
	if !d.crowded || !short || res.Late == 0 && !refused(res.Records) {
		return false
	}
	d.aside = append(d.aside, aside{pl, res})
	d.envs.Judged(res) // as far as it is known
	return true
}

// aside is a scenario that had to do without an answer, and what came of it.
type aside struct {
	pl  Planned
	res steps.Result
}

// refused reports whether the target has said that it has no room: HTTP 429 or 503, or the close code 1013.
func refused(records []transcript.Record) bool {
	return slices.ContainsFunc(records, func(r transcript.Record) bool {
		return r.Dir == transcript.Received && (r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable || r.Status == tryAgainLater)
	})
}

const tryAgainLater = 1013 // a WebSocket close code, of the registry of RFC 6455, 11.7

// alone judges what was set aside: as it came, or, where the target was overloaded, by running it again without others.
func (r *run) alone(ctx context.Context, d *driverRun, parallel int) {
	d.mu.Lock()
	kept := d.aside
	d.aside, d.crowded = nil, false
	d.mu.Unlock()
	if len(kept) == 0 {
		return
	}
	slowest := d.envs.Sluggish()
	if strays, _, _ := d.envs.Strays(); strays > 0 {
		r.asTheyCame(d, kept) // what came late was another scenario's
		return
	}
	if slowest == 0 && !slices.ContainsFunc(kept, func(a aside) bool { return refused(a.res.Records) }) {
		r.asTheyCame(d, kept)
		return
	}
	again := 0
	d.envs.Forget() // what is missed alone is missed for other reasons, and within whole limits
	limited, cancel := stall.WithLimitCause(ctx, patience, errNoTime)
	defer cancel()
	held := 0
	for i := 0; held == 0 && len(kept) > 0; i++ {
		if i == probes {
			r.asTheyCame(d, kept)
			return
		}
		n := len(kept) / 2
		held += r.repeat(limited, d, kept[n:n+1])
		again, kept = again+1, slices.Delete(kept, n, n+1)
	}
	if held == 0 {
		return
	}
	held, again = held+r.repeat(limited, d, kept), again+len(kept)
	why := fmt.Sprintf("the slowest answer took %.1f s", slowest.Seconds())
	if slowest == 0 {
		why = "it refused some for want of room"
	}
	r.note(reports.Note{Kind: "target", Text: fmt.Sprintf("the target is overloaded by %d scenarios at once (%s): %d of the %d that had to do without an answer hold alone, and were judged by that. "+
		"Give --concurrency %d, or concurrency: %d in the profile", parallel, why, held, again, max(parallel/8, 1), max(parallel/8, 1))})
}

var errNoTime = errors.New("the target was overloaded, and no time was left to judge this again alone: give --concurrency 1")

// asTheyCame takes in what was set aside.
func (r *run) asTheyCame(d *driverRun, kept []aside) {
	for _, a := range kept {
		r.finish(d, a.pl, a.res)
	}
}

// repeat runs scenarios again, one at a time, and tells how many hold. One for which no time is left is not tested.
func (r *run) repeat(ctx context.Context, d *driverRun, again []aside) (held int) {
	suspects := map[string]bool{}
	for _, a := range again {
		suspects[a.pl.key] = true
	}
	d.mu.Lock()
	d.suspects = suspects
	d.mu.Unlock()
	if len(suspects) > 0 {
		r.suite(ctx, d, rest, 1)
	}
	d.mu.Lock()
	d.suspects = nil
	d.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range again {
		if r.results[d.name][a.pl.ID].Outcome == verdict.Passed {
			held++
		}
	}
	return held
}
