package sessionchat

import (
	"context"
	"fmt"
	"strings"
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

// doubtful reports whether a result after a chat may belong to an earlier turn: none of the model's words for this
// turn have arrived, and an earlier turn of the session ended, by a result that this one may repeat or by an error
// that it may complete. A failure can only repeat or complete the end of a failed turn.
func (s *suite) doubtful(t *turn, r transcript.Record) bool {
	if s.Env.Brain == nil || t.nonce == "" || !t.of.endedBefore(t, text(&r, vocab.Subtype) == vocab.Failed) {
		return false
	}
	answer := s.answers(t)
	for _, m := range s.Between(t.client, t.mark, r.N+1) {
		if answer(&m) {
			return false
		}
	}
	return true
}

// cutShort reports whether a turn that was held while another session was interrupted has ended without the words that
// its model says once it is released.
func (s *suite) cutShort(t *turn) bool {
	if !t.spared || s.Env.Brain == nil || t.nonce == "" {
		return false
	}
	last, pieces := "released "+t.nonce, ""
	for _, r := range s.since(t, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage) {
		said := text(&r, vocab.Text)
		if r.Event.Type == vocab.StreamMessage {
			pieces += said
		}
		if strings.Contains(said, last) || strings.Contains(pieces, last) {
			return false
		}
	}
	return true
}

// endedBefore reports whether an earlier turn of the session has ended; with failed, only a failure counts.
func (ss *session) endedBefore(t *turn, failed bool) bool {
	for _, earlier := range ss.turns {
		if earlier == t {
			return false
		}
		end := &earlier.end
		asError := end.Event != nil && end.Event.Type == vocab.ErrorMessage
		if earlier.over && (!failed || asError || text(end, vocab.Subtype) == vocab.Failed) {
			return true
		}
	}
	return false
}

// dueAnswer is the kind of every wait for an answer that clauses demand, whichever step waits. Optional answers have
// another kind, so that a correct target that omits them does not lose time for the others.
const dueAnswer = "the answer to a chat"

// awaitAnswer waits until the target has answered a turn: with the model's words if it uses our model, otherwise with
// any words. due reports whether clauses demand the answer.
func (s *suite) awaitAnswer(ctx context.Context, t *turn, due bool) (transcript.Record, *verdict.Miss) {
	w := steps.Wait{Conn: t.client, After: t.mark, Within: s.Env.Turn(), Match: s.answers(t), Hopeless: s.ended(t),
		Piece: t.piece()}
	if due {
		w.Kind = dueAnswer
	}
	rec, miss := s.awaitUnlessRefused(ctx, t, w)
	if miss != nil && miss.At > 0 {
		by := s.T.After(miss.At - 1)[0]
		if ofSession(t.of, vocab.ResultMessage)(&by) && s.doubtful(t, by) {
			w.Hopeless = nil
			if own, none := s.fenced(ctx, w); none == nil {
				rec, miss = own, nil
			}
		}
	}
	if miss == nil {
		s.learn(t.of, rec)
		return rec, nil
	}
	return rec, s.unlessModelLacks(t, miss)
}

// unlessModelLacks returns the miss of an answer. Where the model is the target's own, and no chat has been answered
// yet in this run, an error that answers a chat may come of the model as well as of the target, and judges nothing.
func (s *suite) unlessModelLacks(t *turn, miss *verdict.Miss) *verdict.Miss {
	errs := s.since(t, vocab.ErrorMessage)
	if s.Env.Brain != nil || len(errs) == 0 || miss.NotOwed || s.Env.HasCome(dueAnswer) {
		return miss
	}
	return steps.NotOwed("the server answered the chat with an error: %q (%s See model in the profile)",
		probe.ErrorText(engine.Object(errs[0].Bytes)), steps.AsksForModel)
}

// awaitUnlessRefused is Await, except that after an error about the session it waits only for the event limit or a
// fence: the error may refuse the chat, or be only a warning.
func (s *suite) awaitUnlessRefused(ctx context.Context, t *turn, w steps.Wait) (transcript.Record, *verdict.Miss) {
	var refused string
	refusal, hopeless := ofSession(t.of, vocab.ErrorMessage), w.Hopeless
	w.Hopeless = func(r *transcript.Record) string {
		if refusal(r) && refused == "" && !t.extra {
			refused = "an error: " + steps.Seen(*r)
			return refused
		}
		return hopeless(r)
	}
	rec, miss := s.Await(ctx, w)
	if miss == nil || refused == "" {
		return rec, miss
	}
	w.Within = s.Env.Event()
	rec, more := s.fenced(ctx, w)
	switch {
	case more == nil:
		return rec, nil
	case more.At > 0 && s.doubtful(t, s.T.After(more.At - 1)[0]):
		return rec, more
	}
	return rec, miss
}

// piece returns a matcher of the pieces of a turn's answer; nil if none may come any more.
func (t *turn) piece() func(*transcript.Record) bool {
	if t.cut {
		return nil
	}
	return ofSession(t.of, vocab.StreamMessage)
}

// ended returns a function that returns why a turn can no longer be answered; "" if it can.
func (s *suite) ended(t *turn) func(*transcript.Record) string {
	end := ofSession(t.of, vocab.ResultMessage)
	return func(r *transcript.Record) string {
		if r.Event != nil && r.Event.Type == vocab.AssistantMessage && r.Dir == transcript.Received {
			if id := text(r, vocab.AgentID); id != "" && id != t.of.agentID && mentions(text(r, vocab.Text), t.nonce) {
				return "the answer under another agent_id: " + steps.Seen(*r)
			}
		}
		if end(r) && !t.extra { // the result may be the other turn's
			return "the turn has ended: " + steps.Seen(*r)
		}
		return ""
	}
}

// awaitEnd waits for the end of a turn, its result. A result that may be an earlier turn's does not count if the
// turn's own follows.
func (s *suite) awaitEnd(ctx context.Context, t *turn) *verdict.Miss {
	if t.over {
		return nil
	}
	w := steps.Wait{Conn: t.client, After: t.mark, Within: s.Env.Turn(), Kind: t.kind, Proof: t.kind == endOfFence,
		Match: ofSession(t.of, vocab.ResultMessage), Piece: t.piece()}
	rec, miss := s.Await(ctx, w)
	if miss != nil {
		return miss
	}
	if !t.cut && !t.failed && s.doubtful(t, rec) {
		w.Match = s.endOfAnswer(t)
		if own, none := s.fenced(ctx, w); none == nil {
			rec = own
		}
	}
	t.over, t.end = true, rec
	s.learn(t.of, rec)
	s.RecordReach(steps.Answered)
	return nil
}

// endOfAnswer matches the first result after, or with, the answer to a turn.
func (s *suite) endOfAnswer(t *turn) func(*transcript.Record) bool {
	answer, answered := s.answers(t), false
	return func(r *transcript.Record) bool {
		answered = answered || answer(r)
		return answered && ofSession(t.of, vocab.ResultMessage)(r)
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

// endOfFailed waits for the end of a turn whose model fails, and notes it.
func (s *suite) endOfFailed(ctx context.Context, t *turn, within time.Duration) *verdict.Miss {
	rec, miss := s.Await(ctx, steps.Wait{Conn: t.client, After: t.mark, Within: within, Proof: true,
		Match: ofSession(t.of, vocab.ResultMessage, vocab.ErrorMessage)})
	if miss != nil {
		return miss
	}
	if rec.Event.Type == vocab.ErrorMessage { // the monitors also see what follows at once
		if result, miss := s.awaitResult(ctx, t, rec.N, s.Env.Profile.Limits.Quiet.Duration); miss == nil {
			rec = result
		}
	}
	t.over, t.end = true, rec
	return nil
}

// errorsNamed reports whether an error about the model's failure in a turn has an agent_id and a session_id (SC-038,
// SC-039), and whether these are its session's (SC-042).
func (s *suite) errorsNamed(ctx context.Context, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	if !t.over && t.failed {
		_ = s.endOfFailed(ctx, t, s.Env.Event())
	}
	if !t.over || !t.failed || t.end.N == 0 {
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
		t.extra = true // a result may be the earlier turn's, so only the answer counts
		answer := s.answers(t)
		within := s.Env.Turn()
		if attempt > 1 {
			within = max(until.Left(), s.Env.Event())
		}
		wait := steps.Wait{Conn: client, After: t.mark, Kind: dueAnswer, Within: within}
		wait.Match = func(r *transcript.Record) bool {
			isError := r.Dir == transcript.Received && r.Event != nil && r.Event.Type == vocab.ErrorMessage
			return isError && member(r, vocab.AgentID) == nil || ofSession(ss, vocab.ErrorMessage)(r) || answer(r)
		}
		rec, miss := s.Await(ctx, wait)
		switch {
		case miss != nil:
			return s.lacking(unanswered, ss.expectsAnswer(), s.instead(t, miss), miss)
		case rec.Event.Type != vocab.ErrorMessage:
			return s.answeredAtLast(ctx, ss, rec)
		case until.Over():
			return s.fatal(unanswered, rec.N, fmt.Sprintf("an answer to one of %d chats within %s, with agent_id %q",
				attempt, steps.Span(s.Env.Turn()), ss.agentID), "each was refused, the last by: "+steps.Seen(rec))
		}
		t.cut = true // refused
		_, _ = s.awaitResult(ctx, t, rec.N, pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// answeredAtLast waits for the end of a turn whose answer has arrived.
func (s *suite) answeredAtLast(ctx context.Context, ss *session, answered transcript.Record) error {
	t := ss.turn()
	rec, miss := s.awaitResult(ctx, t, answered.N-1, s.Env.Turn())
	if miss != nil {
		return s.lacking(unanswered, ss.expectsEnd(), miss.Reason, miss)
	}
	t.over, t.extra, t.end = true, false, rec
	s.learn(ss, rec)
	return s.pass(answeredClauses, rec.N)
}
