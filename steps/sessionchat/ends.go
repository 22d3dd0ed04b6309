package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	engine "parley/steps/probe"
	"parley/steps/sessionchat/model"
	"parley/steps/sessionchat/probe"
	"parley/transport/transcript"
)

// became returns what has become of a turn, as the records so far show it.
func (s *suite) became(t *turn) *model.Chat {
	if c := s.model().Chat(t.mark); c != nil {
		return c
	}
	return &model.Chat{} // nothing was sent, or the transcript is full
}

// settles matches the record that settles what a turn owes.
func (s *suite) settles(t *turn, what model.Due) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool { return r.N == s.became(t).Settled(what) }
}

// settled waits until what a chat obliges the target to has come, and reports what the model finds of it. If it is
// missing or wrong, the scenario ends.
func (s *suite) settled(ctx context.Context, t *turn, what model.Due) error {
	var miss *verdict.Miss
	switch what {
	case model.Answer:
		miss = s.awaitAnswer(ctx, t, true)
	case model.End, model.Usable:
		miss = s.awaitEnd(ctx, t)
	}
	return s.report(t, what, miss)
}

// report judges what the model finds of a turn; miss says why a wait for that was in vain.
func (s *suite) report(t *turn, what model.Due, miss *verdict.Miss) error {
	f := s.became(t).Found(what)
	if f.Miss = miss; miss != nil {
		f.At = miss.At
	}
	return s.Need(f)
}

// inVain tells the model that a wait for what a chat owes was in vain, and why.
func (s *suite) inVain(t *turn, miss *verdict.Miss, more string) {
	if !miss.NotOwed {
		s.T.Remark("", "%s%d: %s%s", model.InVain, t.mark, miss.Reason, more)
	}
}

// instead says what else is known of a wait that was in vain.
func (s *suite) instead(t *turn, miss *verdict.Miss) (more string) {
	if s.Env.Brain != nil && t.nonce != "" && len(s.calls(t)) <= t.before {
		more = "; the model was not asked for the chat"
	}
	if heard := s.Between(t.client, t.mark, 0); miss.At == 0 && len(heard) > 0 {
		more += fmt.Sprintf("; the last of %d messages since the chat: %s", len(heard), steps.Seen(heard[len(heard)-1]))
	}
	return more
}

// dueAnswer is the kind of every wait for an answer that clauses demand, whichever step waits. Optional answers have
// another kind, so that a correct target that omits them does not lose time for the others.
const dueAnswer = "the answer to a chat"

// awaitAnswer waits until the target has answered a turn: with the model's words if it uses our model, otherwise with
// any words. due reports whether clauses demand the answer.
func (s *suite) awaitAnswer(ctx context.Context, t *turn, due bool) *verdict.Miss {
	w := steps.Wait{Conn: t.client, After: t.mark, Within: s.Env.Turn(), Match: s.settles(t, model.Answer),
		Hopeless: func(r *transcript.Record) string { return s.became(t).Hopeless(r.N) }, Piece: s.piece(t)}
	if due && !s.became(t).Extra() {
		w.Kind = dueAnswer
	}
	miss := s.awaitUnlessRefused(ctx, t, w)
	if miss != nil && miss.At > 0 && miss.At == s.became(t).Doubtful() {
		w.Hopeless = nil
		if _, none := s.fenced(ctx, w); none == nil {
			miss = nil
		}
	}
	if miss == nil {
		s.RecordReach(steps.Given)
		return nil
	}
	miss = s.unlessModelLacks(t, miss)
	s.inVain(t, miss, s.instead(t, miss))
	return miss
}

// unlessModelLacks returns the miss of an answer. Where the model is the target's own, and no chat has been answered
// yet in this run, an error that answers a chat may come of the model as well as of the target, and judges nothing.
func (s *suite) unlessModelLacks(t *turn, miss *verdict.Miss) *verdict.Miss {
	errs := s.Between(t.client, t.mark, 0)
	i := slices.IndexFunc(errs, func(r transcript.Record) bool { return ofSession(t.of, vocab.ErrorMessage)(&r) })
	if s.Env.Brain != nil || i < 0 || miss.NotOwed || s.Env.HasCome(dueAnswer) {
		return miss
	}
	return steps.NotOwed("the server answered the chat with an error: %q (%s See model in the profile)",
		probe.ErrorText(engine.Object(errs[i].Bytes)), steps.AsksForModel)
}

// awaitUnlessRefused is Await, except that after an error about the session it waits only for the event limit or a
// fence: the error may refuse the chat, or be only a warning.
func (s *suite) awaitUnlessRefused(ctx context.Context, t *turn, w steps.Wait) *verdict.Miss {
	refused := false
	refusal, hopeless := ofSession(t.of, vocab.ErrorMessage), w.Hopeless
	w.Hopeless = func(r *transcript.Record) string {
		if refusal(r) && !refused && !s.became(t).Extra() {
			refused = true
			return "an error: " + steps.Seen(*r)
		}
		return hopeless(r)
	}
	_, miss := s.Await(ctx, w)
	if miss == nil || !refused {
		return miss
	}
	w.Within = s.Env.Event()
	_, more := s.fenced(ctx, w)
	if more == nil || more.At > 0 && more.At == s.became(t).Doubtful() {
		return more
	}
	return miss
}

// piece returns a matcher of the pieces of a turn's answer; nil if none may come any more.
func (s *suite) piece(t *turn) func(*transcript.Record) bool {
	if s.became(t).Cut() {
		return nil
	}
	return ofSession(t.of, vocab.StreamMessage)
}

// awaitEnd waits for the end of a turn, its result. A result that may be an earlier turn's does not count if the
// turn's own follows.
func (s *suite) awaitEnd(ctx context.Context, t *turn) *verdict.Miss {
	w := steps.Wait{Conn: t.client, After: t.mark, Within: s.Env.Turn(), Kind: t.kind, Proof: t.kind == endOfFence,
		Piece: s.piece(t), Match: func(r *transcript.Record) bool {
			c := s.became(t)
			return r.N == c.Settled(model.End) || r.N == c.Doubtful()
		}}
	if s.became(t).Settled(model.End) == 0 {
		if _, miss := s.Await(ctx, w); miss != nil {
			s.inVain(t, miss, s.instead(t, miss))
			return miss
		}
	}
	s.undoubted(ctx, t, w)
	s.RecordReach(steps.Answered)
	return nil
}

// undoubted waits for the result of a turn that has got one which may be an earlier turn's. If no other comes, that one
// counts.
func (s *suite) undoubted(ctx context.Context, t *turn, w steps.Wait) {
	if s.became(t).Doubtful() == 0 {
		return
	}
	w.Match = s.settles(t, model.End)
	if _, none := s.fenced(ctx, w); none != nil {
		s.inVain(t, none, "")
	}
}

// fenced waits for a message that a target sends at once or not at all. If the quiet window brings nothing, it chats
// with a fresh agent_id, waits until that is answered, and then for twice the time that this took. A slow target gets
// a longer quiet window, so that the chat does not disturb a target that only needs time.
func (s *suite) fenced(ctx context.Context, w steps.Wait) (transcript.Record, *verdict.Miss) {
	within := w.Within
	w.Within = s.Env.Undisturbed(s.Env.Profile.Limits.Quiet.Duration)
	if rec, miss := s.Await(ctx, w); miss == nil || miss.At > 0 {
		return rec, miss
	}
	w.Within = within
	began := time.Now()
	end := s.endOfAnother(ctx, w.Conn)
	if end == nil { // the connection has ended, so nothing more will arrive
		return s.Await(ctx, w)
	}
	hopeless, behind := w.Hopeless, 0
	w.Hopeless = func(r *transcript.Record) string {
		if end(r) {
			behind = r.N
			return "a later chat was answered first"
		}
		if hopeless == nil {
			return ""
		}
		return hopeless(r)
	}
	rec, miss := s.Await(ctx, w)
	if miss == nil || behind == 0 {
		return rec, miss
	}
	w.Hopeless, w.Within = hopeless, s.Env.Profile.Limits.Quiet.Duration+2*time.Since(began)
	rec, miss = s.Await(ctx, w)
	if miss != nil && miss.At == 0 {
		miss.Reason = fmt.Sprintf("no such message, although a later chat was answered (record %d)", behind)
	}
	return rec, miss
}

// endsInAnyWay waits for the end of a turn whose model fails: a result, an error about its session, or both; the
// document demands none. The result may arrive long after the error, so after an error the session may not be idle yet.
// It waits for a part of the limit only: a chat may follow a turn that is still ending, and errorsNamed waits for the
// rest.
func (s *suite) endsInAnyWay(ctx context.Context, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	if err := s.modelCalled(ctx, t); err != nil {
		return err
	}
	switch miss := s.endOfFailed(ctx, t, s.Env.Event()/4); {
	case miss == nil:
	case !miss.Late && !s.BrokenOff(miss):
		return steps.NotTestedf("a turn whose model fails does not report it: %s", miss.Reason)
	default: // no clause demands a report, but the session goes on
		s.Note("a turn whose model fails does not report it: %s", miss.Reason)
		s.dropEnded(t.client)
	}
	return nil
}

// endOfFailed waits for the end of a turn whose model fails: a result, or an error that a result may follow.
func (s *suite) endOfFailed(ctx context.Context, t *turn, within time.Duration) *verdict.Miss {
	w := steps.Wait{Conn: t.client, After: t.mark, Within: within, Proof: true, Match: s.settles(t, model.End)}
	if _, miss := s.Await(ctx, w); miss != nil {
		return miss
	}
	if end := s.became(t).Result(); end.Event.Type == vocab.ErrorMessage { // the monitors also see what follows at once
		w.After, w.Within = end.N, s.Env.Profile.Limits.Quiet.Duration
		_, _ = s.Await(ctx, w)
	}
	return nil
}

// errorsNamed reports whether an error about the model's failure in a turn has an agent_id and a session_id (SC-038,
// SC-039), and whether these are its session's (SC-042).
func (s *suite) errorsNamed(ctx context.Context, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	if t.failed && s.became(t).Running() {
		_ = s.endOfFailed(ctx, t, s.Env.Event())
	}
	if !t.failed || s.became(t).Running() {
		return steps.NotTestedf("no turn of %s has failed", name)
	}
	return s.Judge(s.found(model.Errors, t.of)...)
}

// canChatAgain judges that a session is usable after a turn that may still be ending: after a refusal it tries again,
// until the turn limit.
func (s *suite) canChatAgain(ctx context.Context, client, name string) error {
	ss := s.session(name)
	if ss.turn() == nil {
		return steps.NotTestedf("no client has chatted with %s", name)
	}
	until := deadline.In(s.Env.Turn())
	pause := 5 * time.Millisecond
	for attempt := 1; ; attempt++ {
		if err := s.chat(ctx, client, name, &turn{}, "[[echo %s]] Again"); err != nil {
			return err
		}
		t := ss.turn()
		within := s.Env.Turn()
		if attempt > 1 {
			within = max(until.Left(), s.Env.Event())
		}
		answers := s.settles(t, model.Answer)
		rec, miss := s.Await(ctx, steps.Wait{Conn: client, After: t.mark, Kind: dueAnswer, Within: within,
			Match: func(r *transcript.Record) bool {
				isError := r.Dir == transcript.Received && r.Event != nil && r.Event.Type == vocab.ErrorMessage
				return isError && member(r, vocab.AgentID) == nil || ofSession(ss, vocab.ErrorMessage)(r) || answers(r)
			}})
		switch {
		case miss != nil:
			s.inVain(t, miss, s.instead(t, miss))
			return s.report(t, model.Answer, miss)
		case answers(&rec):
			if err := s.settled(ctx, t, model.End); err != nil {
				return err
			}
			return s.report(t, model.Answer, nil)
		case until.Over():
			s.inVain(t, &verdict.Miss{Reason: fmt.Sprintf("each of %d chats within %s was refused, the last by: %s", attempt,
				steps.Span(s.Env.Turn()), steps.Seen(rec))}, "")
			return s.report(t, model.Answer, nil)
		}
		_, _ = s.Await(ctx, steps.Wait{Conn: client, After: rec.N, Within: pause, // of the turn that is still ending
			Match: ofSession(ss, vocab.ResultMessage)})
		pause = min(2*pause, 100*time.Millisecond)
	}
}
