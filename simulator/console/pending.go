package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/cut"
)

// PendingStep is a step that runs, or waits for its turn.
type PendingStep struct {
	N       int       `json:"n"` // DELETE /sessions/{id}/steps/{n} cancels it
	Step    string    `json:"step"`
	Running bool      `json:"running"` // false: it waits for those before it
	Since   time.Time `json:"since"`   // when it was given
	Awaits  *Awaited  `json:"awaits,omitempty"`
	Clauses []string  `json:"clauses"` // that it can judge
}

// Awaited is what a step waits for.
type Awaited struct {
	Party string    `json:"party"` // on whose connection a record is expected
	What  string    `json:"what"`  // short name of it; "" if the step says it
	After int       `json:"after"` // number of the record that causes it; 0: none does
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when the wait ends without it, at the latest
}

// pendingStep is a PendingStep with the function that cancels it.
type pendingStep struct {
	n       int
	text    string
	since   time.Time
	clauses []string
	cancel  context.CancelCauseFunc
}

// errCancelled is the cause of the end of a step that its user has cancelled.
var errCancelled = errors.New("the step was cancelled")

// addPending takes note of a step that is to run, and returns its context, which ends when it is cancelled, and the
// function to call at its end.
func (s *session) addPending(ctx context.Context, text string) (step context.Context, done func()) {
	step, cancel := context.WithCancelCause(ctx)
	p := &pendingStep{text: text, since: time.Now().UTC(), cancel: cancel}
	p.clauses = append([]string{}, s.test.Judges(text)...)
	s.mu.Lock()
	s.stepSerial++
	p.n = s.stepSerial
	s.pending = append(s.pending, p)
	s.mu.Unlock()
	s.log.wakeForState()
	return step, func() {
		cancel(nil)
		s.mu.Lock()
		s.pending = slices.DeleteFunc(s.pending, func(other *pendingStep) bool { return other == p })
		s.mu.Unlock()
		s.log.wakeForState()
	}
}

// longestPending bounds the text of a step in the list of pending ones.
const longestPending = 500

// pendingSteps returns the steps that run or wait, the running one first.
func (s *session) pendingSteps() []PendingStep {
	now, _ := s.test.Progress()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []PendingStep{}
	running := false
	for _, p := range s.pending {
		one := PendingStep{N: p.n, Step: s.redact(cut.Line(p.text, longestPending)), Since: p.since, Clauses: p.clauses}
		if !running && now.Step != "" && strings.HasSuffix(strings.TrimSpace(p.text), now.Step) { // without its keyword
			running, one.Running = true, true
			if a := now.Awaits; a != nil {
				one.Awaits = &Awaited{Party: a.Party, What: s.redact(a.What), After: a.After, Since: a.Since.UTC(),
					Until: a.Since.Add(a.Within).UTC()}
			}
			out = slices.Insert(out, 0, one)
			continue
		}
		out = append(out, one)
	}
	return out
}

// watchProgress reports what the steps wait for.
func (s *session) watchProgress() {
	for {
		_, changed := s.test.Progress()
		s.log.wakeForState()
		select {
		case <-changed:
		case <-s.ctx.Done():
			return
		}
	}
}

// cancelStep cancels a step that runs or waits. What it has seen until then is judged, and the session continues.
func (s *session) cancelStep(_ http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(r.PathValue("n"))
	s.mu.Lock()
	i := slices.IndexFunc(s.pending, func(p *pendingStep) bool { return p.n == n })
	if i >= 0 {
		s.pending[i].cancel(errCancelled)
	}
	s.mu.Unlock()
	if i < 0 {
		return nil, newError(http.StatusNotFound, "no step "+strconv.Quote(r.PathValue("n"))+
			" runs or waits (the session lists those that do as pending)")
	}
	return s.sessionView(), nil
}

// nextStep answers with a step that can follow.
func (s *session) nextStep(http.ResponseWriter, *http.Request) (any, error) {
	if err := s.requireKind(kindTest); err != nil {
		return nil, err
	}
	next, err := s.test.Next()
	if err != nil {
		return nil, err
	}
	return map[string]string{"step": s.redact(next)}, nil
}
