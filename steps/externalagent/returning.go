package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	wjson "parley/transport/wire/json"
)

// findsAsLeft judges what an agent sees that has reconnected to its study session (EA-073): nobody has acted meanwhile,
// so the state must not have fallen behind what the agent was told before. Its first snapshot must not show an earlier
// state; once the host keeps still, nothing must be lost. A host may react to the loss of the connection, such as by an
// entry in the history, may announce a new state, and may end the session (EA-G09); nothing is judged then.
func (s *suite) findsAsLeft(ctx context.Context, p *party) error {
	study, back := p.study, p.opened
	before := s.toldIn(p, study, back+1)
	if study == "" || !p.joined || len(before) == 0 {
		return steps.NotTestedf("agent %s has left no session of which it knew the state", p.name)
	}
	if err := s.returnNoted(ctx, p); err != nil || p.study == "" {
		return err
	}
	rec := s.got(p.last)
	if rec == nil || payload(rec)["sessionId"] != study {
		s.Note("the agent has come back to another session")
		return nil
	}
	last, now := before[len(before)-1], stateOf(rec)
	lost := s.settledLoss(ctx, s.shownAgain, before, now)
	if lost == "" {
		var err error
		if now, err = s.still(ctx, p); err != nil {
			return err
		}
		lost = s.settledLoss(ctx, s.fallenBehind, before, now)
	}
	if news := s.updates(p, back); len(news) > 0 && news[0].at < now.at {
		s.Note("the host has announced a state since the agent has come back, in record %d", news[0].at)
		return nil
	}
	if lost == "" && !s.same(last, now) {
		s.Note("the state is not as before the connection was lost: %s", s.difference(last, now))
	}
	return s.Judge(verdict.Finding{Clauses: []string{"EA-073"}, OK: lost == "", At: now.at, Observed: lost,
		Expected: fmt.Sprintf("a snapshot that agrees with the last state before the connection was lost, record %d, as "+
			"nobody has acted since", last.at)})
}

// settledLoss returns what a function says that a state has lost of the last one of a list, apart from what changes by
// itself.
func (s *suite) settledLoss(
	ctx context.Context, of func(list []state, now state) string, list []state, now state,
) string {
	lost := of(list, now)
	if lost != "" && s.observe(ctx, list[len(list)-1], now) { // e.g. a clock
		lost = of(list, now)
	}
	return lost
}

// toldIn returns the states that a party was told in a study session before a record.
func (s *suite) toldIn(p *party, study string, before int) (out []state) {
	begun := 0 // record of session.started; 0 outside the session
	for _, r := range s.Between(p.name, 0, before) {
		switch {
		case received(vocab.SessionStarted)(&r):
			if begun, out = 0, nil; payload(&r)["sessionId"] == study {
				begun = r.N
			}
		case begun > 0 && told(&r):
			out = append(out, stateOf(&r))
		}
	}
	return out
}

// shownAgain describes the member of a state that is no longer as in the last one of a list, but as in an earlier one.
func (s *suite) shownAgain(list []state, now state) string {
	last := list[len(list)-1]
	for _, name := range []string{"uiSpec", "toolSchema"} {
		if d := s.differs(name, last, now); d != "" {
			for _, old := range slices.Backward(list) {
				if s.differs(name, old, now) == "" {
					return fmt.Sprintf("%s is again as in record %d: %s", name, old.at, d)
				}
			}
		}
	}
	return ""
}

// fallenBehind describes what a state has lost of the last one of a list: a value that is once more what it was in an
// earlier one, or entries of the history. It returns "" if nothing was lost.
func (s *suite) fallenBehind(list []state, now state) string {
	last := list[len(list)-1]
	for _, name := range []string{"uiSpec", "toolSchema"} {
		is := s.settled(name, now.member(name))
		for _, at := range changes(name, s.settled(name, last.member(name)), is) {
			pointer := strings.TrimPrefix(at, name)
			v, there := wjson.Lookup(is, pointer)
			for _, old := range slices.Backward(list) {
				if was, had := wjson.Lookup(s.settled(name, old.member(name)), pointer); had == there && wjson.Equal(was, v) {
					return fmt.Sprintf("%s is again as in record %d: %s", at, old.at, s.differs(name, last, now))
				}
			}
		}
	}
	was, _ := last.history.([]any)
	if is, ok := now.history.([]any); ok && len(is) < len(was) {
		return fmt.Sprintf("messageHistory has %d entries, and had %d", len(is), len(was))
	}
	return ""
}
