package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	wjson "parley/wire/json"
)

// firstStateKnown learns how a session goes: its first state, and those behind the calls of the booking but for the
// last one, which would book. What two sessions tell differently, such as their own ids, is left out of comparisons.
func (s *suite) firstStateKnown(ctx context.Context) error {
	p := s.party("A")
	if err := s.hasSession(ctx, p); err != nil {
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
	if errors.As(err, &missing) { // the same calls went well in the session before
		return s.Need(steps.Check{Clauses: []string{"EA-011"}, At: s.mark, Observed: missing.Reason,
			Expected: "a session in which the booking goes as in the one before"})
	}
	if err != nil {
		return err
	}
	for i := range one {
		if at := s.carried(one, s.walked[i], i); at != "" {
			return s.Need(steps.Check{Clauses: []string{"EA-011"}, At: s.walked[i].at, Observed: at +
				" is as that session has left it",
				Expected: fmt.Sprintf("the state of the session before at this point, in record %d", one[i].at)})
		}
		s.leftOut(s.perSession.add(placesApart(one[i], s.walked[i])...))
	}
	return s.anew(ctx, p)
}

// carried is the first place at which a state is not as it was at that point of the session before, and as it became
// there later: what was done there is still done. "" where there is none: what differs otherwise, such as an id, is the
// session's.
func (s *suite) carried(before []state, now state, i int) string {
	for _, name := range members {
		is := s.settled(name, now.member(name))
		for _, at := range changes(name, s.settled(name, before[i].member(name)), is) {
			pointer := strings.TrimPrefix(at, name)
			v, ok := wjson.Lookup(is, pointer)
			if !ok || v == nil {
				continue
			}
			for _, later := range before[i+1:] {
				if old, there := wjson.Lookup(s.settled(name, later.member(name)), pointer); there && wjson.Equal(old, v) {
					return at
				}
			}
		}
	}
	return ""
}

// walk goes through the booking but for its last call, and gives the states.
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

// leavesTraces does what can be done in a session that goes nowhere: it speaks, lets the participant speak where that
// can be had, and calls every tool of the first stage that does not lead away. Sessions that have gone on are those of
// firstStateKnown.
func (s *suite) leavesTraces(ctx context.Context, p *party) error {
	if err := s.says(ctx, p, object{}); err != nil {
		return err
	}
	s.traces = append(s.traces, s.word)
	if s.participantSpeaks(ctx, p) == nil {
		s.traces = append(s.traces, s.word)
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	announced, err := s.announced(now)
	if err != nil {
		return err
	}
	for i := range announced {
		t := &announced[i]
		if t.Name == vocab.Next || t.Name == vocab.Prev {
			continue
		}
		for _, params := range slices.Backward(t.Examples(s.known(t.Name, now.ui))) { // the first is the likeliest to go well
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

// endsAndStarts ends a session and starts another without waiting for the answer, be it with a call under way: what is
// asked next is asked of the new one (EA-011). A host that refuses the second while it is busy with the first is asked
// again.
func (s *suite) endsAndStarts(ctx context.Context, p *party, calling bool) error {
	var under *request
	if calling {
		now, err := s.still(ctx, p)
		if err != nil {
			return err
		}
		path, err := s.wholePath()
		if err != nil {
			return err
		}
		if under, err = s.stepOf(ctx, p, path[0], now, len(path) == 1); err != nil {
			return err
		}
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
			s.Note("the call that was under way when the session ended is not answered: %s", miss.Reason)
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

// startsClean judges that a session goes as one goes in which nothing was done before (EA-011): from its first state
// on, which may still load and must have nothing of what was done, to the end of the walk.
func (s *suite) startsClean(ctx context.Context, p *party) error {
	if err := s.hasSession(ctx, p); err != nil {
		return err
	}
	if _, err := s.snapshot(ctx, p); err != nil {
		return err
	}
	begun := s.startOf(p)
	if _, err := s.still(ctx, p); err != nil {
		return err
	}
	for _, r := range s.Between(p.name, begun, 0) {
		if !told(&r) || r.N < s.startedAt(p, begun) {
			continue
		}
		if found := s.leftIn(stateOf(&r)); found != "" {
			return s.Judge(steps.Check{Clauses: []string{"EA-011"}, At: r.N, Observed: found,
				Expected: "nothing of what was done in the session before"})
		}
	}
	now, err := s.walk(ctx, p)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) {
		return s.Judge(steps.Check{Clauses: []string{"EA-011"}, At: s.mark, Observed: missing.Reason,
			Expected: "a session in which the booking goes as in one before"})
	}
	if err != nil {
		return err
	}
	for i := range now {
		if found := s.saidIn(now[i]); found != "" {
			return s.Judge(steps.Check{Clauses: []string{"EA-011"}, At: now[i].at, Observed: found,
				Expected: "nothing of what was said in the session before"})
		}
		if d := s.difference(s.walked[i], now[i]); d != "" {
			return s.Judge(unlike(now[i].at, d,
				fmt.Sprintf("the state of an earlier session at this point, in record %d", s.walked[i].at), "EA-011"))
		}
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-011"}, OK: true, At: now[0].at})
}

// startedAt is the record by which the session that was asked for at a mark was told of.
func (s *suite) startedAt(p *party, mark int) int {
	for _, r := range s.Between(p.name, mark, 0) {
		if received(vocab.SessionStarted)(&r) {
			return r.N
		}
	}
	return mark
}

// saidIn is what a state still has of what was said in the session before; "" for nothing.
func (s *suite) saidIn(st state) string {
	said := wjson.Compact(st.history) + wjson.Compact(st.ui)
	for _, word := range s.traces {
		if strings.Contains(said, word) {
			return "it is still there: " + word
		}
	}
	return ""
}

// leftIn is what the first states of a session still have of the session before; "" for nothing.
func (s *suite) leftIn(st state) string {
	found := s.saidIn(st)
	if found == "" && len(s.walked) > 0 {
		if at := s.carried(s.walked, st, 0); at != "" {
			found = at + " is as a session before has left it"
		}
	}
	return found
}
