package steps

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// sluggish: an answer is late if it takes more than this fraction (1/sluggish) of its limit.
const sluggish = 8

// Sluggish returns the longest time of an answer that came late in its limit; 0 if none did. It distinguishes an
// overloaded target from one that omits answers.
func (e *Env) Sluggish() time.Duration {
	e.load.Lock()
	defer e.load.Unlock()
	return e.slowest
}

// tookFor records the time of an answer. Limits below limits.event are ignored: they are for messages that should not
// come.
func (e *Env) tookFor(took, limit time.Duration) {
	if limit < e.Event() || took < limit/sluggish {
		return
	}
	e.load.Lock()
	defer e.load.Unlock()
	e.slowest = max(e.slowest, took)
}

// tryAgainLater is a WebSocket close code from the registry of RFC 6455, 11.7.
const tryAgainLater = 1013

// NoRoom reports whether a record says that the target, or a gateway before it, has no room: HTTP 429 or 502 to 504, or
// close code 1013.
func NoRoom(r transcript.Record) bool {
	return driver.ByGateway(&r) || r.Dir == transcript.Received && r.Status == tryAgainLater
}

// Unheard reports whether a record says that the connection for a request was refused.
func Unheard(r transcript.Record) bool {
	return r.Kind == transcript.Failure && strings.Contains(r.Label, syscall.ECONNREFUSED.Error())
}

// Lacks reports whether a scenario failed only by missing something: answers that came too late or were refused for
// lack of room. Its other failures stand, whatever a rerun shows.
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

// Stands reports whether a failure holds regardless of the target's load at the time: it is about a message that
// came. A missing message or the end of a connection may be due to the load.
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

// Forget resets what was learnt of the target's pace, and which clauses have failed, because circumstances change
// from now on. No scenario may run meanwhile.
func (e *Env) Forget() {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	e.patience.kinds, e.patience.families, e.patience.failed = nil, nil, nil
	e.patience.came, e.patience.longest, e.patience.overtaken = false, 0, false
}
