package externalagent

import (
	"context"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transport/transcript"
)

// callsAtNull goes through the booking and makes a call wherever a state has a null uiSpec, even briefly. Such a call
// must be refused (EA-082).
func (s *suite) callsAtNull(ctx context.Context, p *party) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	tried := 0
	now, err := s.nullsSince(ctx, p, s.startOf(p), &tried)
	for i, c := range path {
		if err != nil {
			return err
		}
		var q *request
		if q, err = s.stepOf(ctx, p, c, now, i == len(path)-1); err != nil {
			break
		}
		if _, err = s.wentWell(ctx, q); err != nil {
			break
		}
		if _, err = s.nullsSince(ctx, p, q.mark, &tried); err != nil {
			break
		}
		now, err = s.settle(ctx, q, q.before)
	}
	switch {
	case err != nil:
		return err
	case tried == 0:
		return &steps.NotApplicableError{Reason: "uiSpec is never null during the booking, except where the tools that are " +
			"called are announced"}
	}
	return nil
}

// nullsSince waits for the first state after a mark. While no state with a uiSpec has come, it makes calls: a
// message, which all stages may have, and the latest call of the booking, or its first. It returns the final state.
func (s *suite) nullsSince(ctx context.Context, p *party, mark int, tried *int) (state, error) {
	quiet := s.Env.Profile.Limits.Quiet.Duration
	if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: mark, Within: quiet, Kind: "a state at once",
		Match: received(vocab.StateUpdated)}); miss != nil {
		if _, err := s.snapshot(ctx, p); err != nil {
			return state{}, err
		}
	}
	path := s.path()
	for _, tool := range []string{vocab.PostMessage, path[0].Tool} {
		last := s.lastTold(p)
		if last.at == 0 || last.ui != nil {
			break
		}
		params := object{"text": "parley"}
		if tool != vocab.PostMessage {
			params = s.paramsAnyhow(path[0], p)
		}
		q, err := s.call(ctx, p, tool, params)
		if err != nil {
			return state{}, err
		}
		if _, miss := s.answer(ctx, q); miss == nil && !s.nullUpTo(q) {
			s.Note("a call in the state of record %d, which had no uiSpec, crossed a state that has one", last.at)
			if s.wentThrough(q) && tool != vocab.PostMessage {
				return state{}, steps.NotTestedf("%s was carried out in a state that crossed the call: the booking is no longer "+
					"where it was", tool)
			}
			break
		}
		if s.announcedAtNull(q) && s.wentThrough(q) {
			s.Note("%s is not judged: the state of record %d has no uiSpec, and announces it", tool, last.at)
			if tool != vocab.PostMessage {
				return state{}, steps.NotTestedf("%s, which is announced while no uiSpec is active, was carried out: the booking "+
					"is no longer where it was", tool)
			}
			continue
		}
		*tried++
		if err := s.judgeRefusal(ctx, q, vocab.NoActiveSpec); err != nil {
			return state{}, err
		}
		if s.wentThrough(q) {
			return state{}, steps.NotTestedf("a call was carried out while no uiSpec was active: the booking is no longer " +
				"where it was")
		}
	}
	return s.snapshot(ctx, p)
}

// lastTold returns the state that a party was sent last.
func (s *suite) lastTold(p *party) state {
	var last state
	for _, r := range s.Between(p.name, p.opened, 0) {
		if _, there := payload(&r)["uiSpec"]; told(&r) && there {
			last = stateOf(&r)
		}
	}
	return last
}

// announcedAtNull reports whether the last state before a call has a null uiSpec and announces the tool (EA-082 is not
// judged then).
func (s *suite) announcedAtNull(q *request) bool {
	announced := false
	for _, r := range s.Between(q.of.name, q.of.opened, q.mark) {
		if told(&r) {
			st := stateOf(&r)
			announced = st.ui == nil && slices.Contains(namesOf(st.list()), q.tool)
		}
	}
	return announced
}

// nullUpTo reports whether no state with a uiSpec came between a call and its answer.
func (s *suite) nullUpTo(q *request) bool {
	for _, r := range s.Between(q.of.name, q.mark, 0) {
		switch {
		case answers(q.id)(&r):
			return true
		case told(&r) && stateOf(&r).ui != nil:
			return false
		}
	}
	return true
}

func told(r *transcript.Record) bool { return received(vocab.StateUpdated, vocab.SnapshotState)(r) }
