package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	wjson "parley/transport/wire/json"
)

// firstStateKnown learns how a session proceeds: its first state and those after the calls of the booking, without
// the last call, which would book. What differs between two sessions, such as ids, is excluded from comparisons.
func (s *suite) firstStateKnown(ctx context.Context) error {
	p := s.party("A")
	if err := s.hasSession(ctx, p); err != nil {
		return err
	}
	if err := s.learnRestless(ctx, p); err != nil {
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
		return s.Need(verdict.Finding{Clauses: []string{"EA-011"}, At: s.mark, Observed: missing.Reason,
			Expected: "a session in which the booking proceeds as in the previous one"})
	}
	if err != nil {
		return err
	}
	for i := range one {
		at := s.carried(one, s.walked[i], i)
		if at != "" && s.observe(ctx, one[i], s.walked[i]) { // e.g. a clock
			at = s.carried(one, s.walked[i], i)
		}
		if at != "" {
			return s.Need(verdict.Finding{Clauses: []string{"EA-011"}, At: s.walked[i].at, Observed: at +
				" is unchanged from the previous session",
				Expected: fmt.Sprintf("the state of the previous session at this point, in record %d", one[i].at)})
		}
		s.leftOut(s.perSession.add(placesApart(one[i], s.walked[i])...))
		if d := s.difference(atMost(one[i], s.walked[i]), s.walked[i]); d != "" { // more than ids and the like
			return s.Need(unlike(s.walked[i].at, d, fmt.Sprintf("the state of the first session at this point, in record %d",
				one[i].at), "EA-011"))
		}
	}
	return s.anew(ctx, p)
}

// atMost returns a state of a first session for the comparison with a later one, which may have fewer messages: the
// first may tell that the agent has come.
func atMost(first, later state) state {
	a, _ := first.history.([]any)
	if b, ok := later.history.([]any); ok && len(b) < len(a) {
		first.history = later.history
	}
	return first
}

// carried returns the first place at which a state is not as at the same point of the session before, but as it
// became there later, so that an effect has been carried over. It returns "" if there is none: other differences,
// such as ids, belong to the session.
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
	if err := s.says(ctx, p, object{}); err != nil {
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
		for _, params := range slices.Backward(t.Examples(s.known(t.Name, now.ui))) { // the first is the likeliest to succeed
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
func (s *suite) endsAndStarts(ctx context.Context, p *party, calling bool, tool string) error {
	var under *request
	if calling {
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
	begun := s.startOf(p)
	first, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	if s.leftIn(first) != "" {
		s.observe(ctx, s.walked[0], first) // e.g. a clock
	}
	for _, r := range s.Between(p.name, begun, 0) {
		if !told(&r) || r.N < s.startedAt(p, begun) {
			continue
		}
		if found := s.leftIn(stateOf(&r)); found != "" {
			return s.Judge(verdict.Finding{Clauses: []string{"EA-011"}, At: r.N, Observed: found,
				Expected: "no effect of actions in the previous session"})
		}
	}
	now, err := s.walk(ctx, p)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) {
		return s.Judge(verdict.Finding{Clauses: []string{"EA-011"}, At: s.mark, Observed: missing.Reason,
			Expected: "a session in which the booking proceeds as in an earlier one"})
	}
	if err != nil {
		return err
	}
	for i := range now {
		if found := s.saidIn(now[i]); found != "" {
			return s.Judge(verdict.Finding{Clauses: []string{"EA-011"}, At: now[i].at, Observed: found,
				Expected: "no message from the previous session"})
		}
		d := s.difference(s.walked[i], now[i])
		if d != "" && s.observe(ctx, s.walked[i], now[i]) {
			d = s.difference(s.walked[i], now[i])
		}
		if d != "" {
			return s.Judge(unlike(now[i].at, d,
				fmt.Sprintf("the state of an earlier session at this point, in record %d", s.walked[i].at), "EA-011"))
		}
	}
	return s.Judge(verdict.Finding{Clauses: []string{"EA-011"}, OK: true, At: now[0].at})
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

// saidIn returns the text of an earlier session that a state still contains, or "".
func (s *suite) saidIn(st state) string {
	said := wjson.Compact(st.history) + wjson.Compact(st.ui)
	for _, word := range s.traces {
		if strings.Contains(said, word) {
			return "it is still there: " + word
		}
	}
	return ""
}

// leftIn returns what the first states of a session still contain of an earlier session, or "".
func (s *suite) leftIn(st state) string {
	found := s.saidIn(st)
	if found == "" && len(s.walked) > 0 {
		if at := s.carried(s.walked, st, 0); at != "" {
			found = at + " is unchanged from an earlier session"
		}
	}
	return found
}
