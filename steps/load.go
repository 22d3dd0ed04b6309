package steps

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"parley/transcript"
)

// sluggish is the part of its limit that an answer takes which is late.
const sluggish = 8

// Sluggish is the longest time that the target has taken for an answer which came late in its limit; 0 where none did.
// It tells a target that is overloaded from one that leaves things out.
func (e *Env) Sluggish() time.Duration {
	e.load.Lock()
	defer e.load.Unlock()
	return e.slowest
}

// tookFor takes note of what has come. Limits below limits.event are for what should not come.
func (e *Env) tookFor(took, limit time.Duration) {
	if limit < e.Event() || took < limit/sluggish {
		return
	}
	e.load.Lock()
	defer e.load.Unlock()
	e.slowest = max(e.slowest, took)
}

// tryAgainLater is a WebSocket close code, of the registry of RFC 6455, 11.7.
const tryAgainLater = 1013

// NoRoom reports whether a target says by a record that it has no room: HTTP 429 or 503, or the close code 1013.
func NoRoom(r transcript.Record) bool {
	return r.Dir == transcript.Received &&
		(r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable || r.Status == tryAgainLater)
}

// Unheard reports whether a record tells that a request found nobody who listens.
func Unheard(r transcript.Record) bool {
	return r.Kind == transcript.Failure && strings.Contains(r.Label, syscall.ECONNREFUSED.Error())
}

// Lacks reports whether a scenario had to do without something: answers that did not come in time, or that were refused
// for want of room. All else that it has found wrong stands, whatever it finds when it runs again.
func (r Result) Lacks() bool {
	found, missing := false, false // by steps
	for _, f := range r.Failures {
		if !f.Missing && !f.Stands(r.Records) {
			return false
		}
		found, missing = found || f.Monitor == "", missing || f.Missing
	}
	return missing || !found
}

// Stands reports whether a failure holds whatever else befell the target at that moment: it is about a message that
// came. What did not come, and the end of a connection, may be due to that.
func (f Failure) Stands(records []transcript.Record) bool {
	return !f.Missing && slices.ContainsFunc(f.sightings(), func(s *Failure) bool {
		if s.gone || s.At <= 0 || s.At > len(records) || records[s.At-1].Dir != transcript.Received {
			return false
		}
		switch records[s.At-1].Kind {
		case transcript.Stream, transcript.Comment, transcript.Frame, transcript.Response:
			return true
		}
		return false
	})
}

// Forget forgets what was learnt of the target's pace, and which clauses have failed: what it was asked for from now on
// is asked in other circumstances. No scenario may run meanwhile.
func (e *Env) Forget() {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	e.patience.kinds, e.patience.failed = nil, nil
	e.patience.came, e.patience.longest, e.patience.overtaken = false, 0, false
}
