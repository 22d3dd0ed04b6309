package simulator

import (
	"context"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

// Event is what Follow reports: a record, or a monitor's finding on the records so far.
type Event struct {
	Record  *transcript.Record // nil: a finding
	Failure steps.Failure      // with Monitor, Clause, Expected, Observed and At
}

// Follow reports each record after mark as it comes, and the first finding of each monitor on each clause, until ctx
// ends or Close is called. Everything that has come by then is reported. It returns the number of the last record. It
// calls tell from one goroutine; records queue up meanwhile. Several goroutines can follow one session.
func (s *Session) Follow(ctx context.Context, mark int, tell func(Event)) int {
	t, told := s.Transcript(), 0
	for last := false; ; {
		changed := t.Changed()
		s.mu.Lock()
		news, fresh := s.found[told:], s.fresh
		s.mu.Unlock()
		for r := range t.From(mark) {
			mark = r.N
			tell(Event{Record: &r})
		}
		for _, f := range news { // after the records that they are about
			told++
			tell(Event{Failure: f})
		}
		if last {
			return mark
		}
		select {
		case <-changed:
		case <-fresh:
		case <-ctx.Done():
			last = true
		case <-s.over:
			last = true
		}
	}
}

// When the monitors run. Together they read the whole transcript, as they do at the end, so their work grows with it.
// They run after a pause, which is longer if their last run took long, and in a stream without pauses whenever the
// transcript has grown by a fraction of its length. Their total work in a session is thus a small multiple of its
// length. Monitors of single records judge each record soon, however long the transcript is.
const (
	quiet = 30 * time.Millisecond  // without a record: an exchange may be over
	soon  = 250 * time.Millisecond // since the first record: it is judged even if more come

	few   = 500 // records: up to this number, all monitors run after each exchange
	grown = 4   // a longer stream is judged again once it has grown by a fourth
	idle  = 20  // all monitors run after a pause of this many times their last run
)

// judgeOn runs the monitors until ctx ends.
func (s *Session) judgeOn(ctx context.Context) {
	t := s.Transcript()
	next := func(mark int, within time.Duration) bool { // reports whether a record arrived
		limited, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		_, err := t.Await(limited, mark, func(r *transcript.Record) bool { return r.N > mark })
		return err == nil
	}
	for {
		s.checking.Lock()
		seen, left, rest := s.seen, s.whole >= 0 && s.whole < s.seen, max(quiet, idle*s.cost)
		s.checking.Unlock()
		if left && !next(seen, rest) && ctx.Err() == nil {
			if s.Check(ctx) != nil {
				return
			}
			continue
		}
		if _, err := t.Await(ctx, seen, func(r *transcript.Record) bool { return r.N > seen }); err != nil {
			return
		}
		for end := time.Now().Add(soon); time.Now().Before(end) && next(t.Len(), quiet); {
		}
		s.learnFromRecords()
		if s.judgeDue(ctx) != nil {
			return
		}
	}
}

// judgeDue runs what is due.
func (s *Session) judgeDue(ctx context.Context) error {
	s.checking.Lock()
	defer s.checking.Unlock()
	n := s.Transcript().Len()
	if s.whole >= 0 && (n <= few || n-s.whole >= s.whole/grown) {
		return s.judgeAll(ctx)
	}
	return s.judgeNew(ctx)
}

// Check runs all monitors now, and returns after their findings have been passed on. It waits for a running step. The
// error is steps.ErrLiveOver or the cause of ctx.
func (s *Session) Check(ctx context.Context) error {
	s.checking.Lock()
	defer s.checking.Unlock()
	if s.whole < 0 {
		return s.judgeNew(ctx)
	}
	return s.judgeAll(ctx)
}

// judgeAll runs all monitors. The caller holds s.checking.
func (s *Session) judgeAll(ctx context.Context) error {
	began := time.Now()
	n := s.Transcript().Len()
	said, failures, whole, err := s.live.Judge(ctx)
	if err != nil {
		return err
	}
	s.cost = time.Since(began)
	s.reportFindings(said, failures)
	if s.whole = n; !whole { // another run would have the same result
		s.whole = -1
		return s.judgeNew(ctx)
	}
	s.seen = max(s.seen, n)
	return nil
}

// judgeNew runs the monitors of single records on the new records. The caller holds s.checking.
func (s *Session) judgeNew(ctx context.Context) error {
	said, failures, last, err := s.live.JudgeAfter(ctx, s.seen)
	if err != nil {
		return err
	}
	s.reportFindings(said, failures)
	s.seen = last
	return nil
}

// reportFindings passes on the findings of monitors.
func (s *Session) reportFindings(said []verdict.Judgement, failures []steps.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range said {
		s.worst.Take(j.Clause, j.Outcome)
	}
	before := len(s.found)
	for _, f := range failures {
		if !slices.ContainsFunc(s.found, func(was steps.Failure) bool {
			return was.Monitor == f.Monitor && was.Clause == f.Clause
		}) {
			s.found = append(s.found, f)
		}
	}
	if len(s.found) > before {
		close(s.fresh)
		s.fresh = make(chan struct{})
	}
}
