package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
)

// firstStateKnown learns how a session proceeds: its first state and those after the calls of the booking, without
// the last call, which would book. What differs between two sessions, such as ids, is excluded from comparisons.
func (s *suite) firstStateKnown(ctx context.Context) error {
	p := s.party("A")
	if err := inTurn(ctx, p, s.hasSession, s.learnRestless); err != nil {
		return err
	}
	one, err := s.walk(ctx, p)
	if err != nil {
		return err
	}
	if err := s.anew(ctx, p); err != nil {
		return err
	}
	s.walked, err = s.walk(ctx, p)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) { // the same calls succeeded in the session before
		return s.Need(model.Proceeds(s.mark, missing.Reason))
	}
	if err != nil {
		return err
	}
	for i := range one {
		left := s.Left(s.walked[i], nil, one, i)
		if left != "" && s.observe(ctx, one[i], s.walked[i]) { // e.g. a clock
			left = s.Left(s.walked[i], nil, one, i)
		}
		if left != "" {
			return s.Need(s.Clean(s.walked[i], left))
		}
		s.leftOut(s.perSession.add(placesApart(one[i], s.walked[i])...))
		if f := s.AsBefore(atMost(one[i], s.walked[i]), s.walked[i]); !f.OK { // more than ids and the like
			return s.Need(f)
		}
	}
	return s.anew(ctx, p)
}

// atMost returns a state of a first session for the comparison with a later one, which may have fewer messages: the
// first may tell that the agent has come.
func atMost(first, later state) state {
	a, _ := first.History.([]any)
	if b, ok := later.History.([]any); ok && len(b) < len(a) {
		first.History = later.History
	}
	return first
}

// walk goes through the booking except its last call and returns the states.
func (s *suite) walk(ctx context.Context, p *party) ([]state, error) {
	path, err := s.wholePath()
	if err != nil {
		return nil, err
	}
	now, err := s.still(ctx, p)
	if err == nil {
		now, _, err = s.reached(ctx, p, path[0], now)
	}
	out := []state{now}
	for _, c := range path[:len(path)-1] {
		if err != nil {
			return nil, err
		}
		now, err = s.advance(ctx, p, c, now, false)
		out = append(out, now)
	}
	return out, err
}

// leavesTraces does what a session allows without moving on: the agent speaks, the participant too if possible, and
// every tool of the first stage that does not lead away is called. Sessions that moved on come from firstStateKnown.
func (s *suite) leavesTraces(ctx context.Context, p *party) error {
	if err := s.says(ctx, p, ""); err != nil {
		return err
	}
	s.traces = append(s.traces, s.word)
	if s.participantSpeaks(ctx, p) == nil {
		s.traces = append(s.traces, s.word)
	}
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	for i := range announced {
		t := &announced[i]
		if t.Name == vocab.Next || t.Name == vocab.Prev {
			continue
		}
		for _, params := range slices.Backward(t.Examples(s.known(t.Name, now.UI))) { // the first is the likeliest to succeed
			q, err := s.call(ctx, p, t.Name, params)
			if err != nil {
				return err
			}
			if _, miss := s.answer(ctx, q); miss != nil {
				return steps.NotTestedf("%s was not answered: %s", t.Name, miss.Reason)
			}
		}
	}
	return nil
}

// callsUnderWay makes a call whose answer is not awaited: the first of the booking, the first of a tool of the booking,
// or one of postMessage, whose text is a trace of the session.
func (s *suite) callsUnderWay(ctx context.Context, p *party, tool string) error {
	if tool != vocab.PostMessage {
		return s.upTo(ctx, p, tool)
	}
	_, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	if announced.Find(tool) == nil {
		return &steps.NotApplicableError{Reason: fmt.Sprintf("the host does not announce %q at this stage", tool)}
	}
	s.traces = append(s.traces, s.newWord("word"))
	_, err = s.call(ctx, p, tool, object{"text": s.traces[len(s.traces)-1]})
	return err
}

// endsAndStarts ends a session and starts another without waiting for the answer, perhaps with a call in progress:
// later requests belong to the new session (EA-011). A host that refuses the second session while busy with the first
// is asked again.
func (s *suite) endsAndStarts(ctx context.Context, name, calling, tool string) error {
	p, under := s.party(name), (*request)(nil)
	if calling != "" {
		if err := s.callsUnderWay(ctx, p, tool); err != nil {
			return err
		}
		under = p.last
	}
	if err := s.ends(ctx, p); err != nil {
		return err
	}
	end := p.last
	if err := s.starts(ctx, p); err != nil {
		return err
	}
	start := p.last
	p.last = end
	if err := s.isEnded(ctx, p); err != nil {
		return err
	}
	if under != nil {
		if _, miss := s.answer(ctx, under); miss != nil {
			s.Note("the call in progress when the session ended is not answered: %s", miss.Reason)
		}
	}
	p.last = start
	if rec, miss := s.answer(ctx, start); miss == nil && refused(&rec) {
		s.Note("session.start right after session.end is refused: %s", steps.Seen(rec))
		if err := s.starts(ctx, p); err != nil {
			return err
		}
	}
	return s.isStarted(ctx, p)
}

// startsClean judges that a session proceeds as if nothing had been done before (EA-011): from its first state, which
// may still be loading but must have no traces, to the end of the walk.
func (s *suite) startsClean(ctx context.Context, p *party) error {
	if len(s.walked) == 0 {
		return steps.NotTestedf("no states of an earlier session are known")
	}
	if err := s.hasSession(ctx, p); err != nil {
		return err
	}
	if _, err := s.snapshot(ctx, p); err != nil {
		return err
	}
	begun := s.model().Since(p.name)
	first, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	left := func(st state) string { return s.Left(st, s.traces, s.walked, 0) }
	if left(first) != "" {
		s.observe(ctx, s.walked[0], first) // e.g. a clock
	}
	for _, r := range s.Between(p.name, s.startedAt(p, begun)-1, 0) {
		if st := model.StateOf(&r); told(&r) && left(st) != "" {
			return s.Judge(s.Clean(st, left(st)))
		}
	}
	now, err := s.walk(ctx, p)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) {
		return s.Judge(model.Proceeds(s.mark, missing.Reason))
	}
	if err != nil {
		return err
	}
	for i := range now {
		if f := s.Clean(now[i], s.Left(now[i], s.traces, nil, 0)); !f.OK {
			return s.Judge(f)
		}
		f := s.AsBefore(s.walked[i], now[i])
		if !f.OK && s.observe(ctx, s.walked[i], now[i]) {
			f = s.AsBefore(s.walked[i], now[i])
		}
		if !f.OK {
			return s.Judge(f)
		}
	}
	return s.Judge(s.Clean(now[0], ""))
}

// startedAt returns the record of session.started for the session requested at a mark.
func (s *suite) startedAt(p *party, mark int) int {
	for _, r := range s.Between(p.name, mark, 0) {
		if received(vocab.SessionStarted)(&r) {
			return r.N
		}
	}
	return mark
}
