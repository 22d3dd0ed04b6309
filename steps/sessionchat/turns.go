package sessionchat

import (
	"context"
	"fmt"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/sessionchat/model"
	"parley/transport/transcript"
)

func (s *suite) registerTurns(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) interrupts "(\w+)"$`, s.interrupts)
	steps.Step(sc, `^the turn of "(\w+)" is interrupted$`, s.isInterrupted)
	steps.Step(sc, `^the turn of "(\w+)" has ended$`, s.hasEnded)
	steps.Step(sc, `^the turn of "(\w+)" still runs$`, s.stillRuns)
	steps.Step(sc, `^the (turn|earlier turn) of "(\w+)" is released$`, s.releases)
	steps.Step(sc, `^the turns of "(\w+)" and "(\w+)" run at the same time$`, s.runAtOnce)
	steps.Step(sc, `^client (\w+) pings$`, s.pings)
	steps.Step(sc, `^client (\w+) gets a pong$`, s.getsPong)
	steps.Step(sc, `^no turn of "(\w+)" runs any more$`, s.noneRuns)
}

// interrupts sends an interrupt for a session's agent_id, whether or not the session exists.
func (s *suite) interrupts(ctx context.Context, client, name string) error {
	c, ss := s.client(client), s.session(name)
	m, err := s.bind.message(vocab.InterruptType, fields{vocab.AgentID: ss.agentID})
	if err != nil {
		return err
	}
	s.endsTurns(ss)
	mark, err := s.send(ctx, c, m)
	if err != nil {
		return err
	}
	s.mark, ss.asker = mark, client
	return nil
}

// isInterrupted waits until an interrupt has ended a turn whose model waits, because nothing else can end it (SC-035,
// SC-036).
func (s *suite) isInterrupted(ctx context.Context, name string) error {
	t := s.session(name).turn()
	if t == nil || !t.held || s.became(t).Stopped() == 0 {
		return steps.NotTestedf("no turn of %s is held and interrupted", name)
	}
	if asker := t.of.asker; asker != t.client { // another connection is in no order with the turn's
		if err := s.fence(ctx, s.client(asker)); err != nil {
			return err
		}
	}
	c := s.became(t)
	w := steps.Wait{Conn: t.client, After: c.Stopped(),
		Match: func(r *transcript.Record) bool { return s.settles(t, model.Stop)(r) || r.N == c.Doubtful() }}
	var miss *verdict.Miss
	if end := c.Settled(model.Stop); end == 0 || end > c.Stopped() {
		first := w
		first.Fence = func(ctx context.Context) func(*transcript.Record) bool { return s.endOfAnother(ctx, t.client) }
		_, miss = s.Await(ctx, first)
	}
	if end := s.became(t).Settled(model.Stop); miss != nil && end > 0 {
		s.Note("the end of an interrupted turn is told on the connection of the interrupt, and not of the chat")
		miss = nil
	}
	if err := s.led(t.of, t.of.asker); miss != nil && err != nil {
		return err
	}
	if miss != nil {
		s.inVain(t, miss, s.toldAsker(t))
		return s.report(t, model.Stop, miss)
	}
	s.undoubted(ctx, t, w)
	if c.Outcome() == vocab.Success && t.nonce == "" {
		return steps.NotTestedf("the turn that provoke.running_turn starts may have ended by itself: %s",
			steps.Seen(c.Result()))
	}
	if how := c.Outcome(); how != vocab.Interrupted {
		s.Note("an interrupted turn ends with %s %q", vocab.ResultMessage, how)
	}
	return s.report(t, model.Stop, nil)
}

// toldAsker returns what the client of an interrupt received for it, if another one had asked for the turn.
func (s *suite) toldAsker(t *turn) string {
	asker := t.of.asker
	if asker == t.client {
		return ""
	}
	for _, r := range s.Between(asker, s.became(t).Stopped(), 0) {
		if ofSession(t.of)(&r) {
			return fmt.Sprintf("; client %s, which interrupted, received: %s", asker, steps.Seen(r))
		}
	}
	return fmt.Sprintf("; client %s, which interrupted, received nothing of the session", asker)
}

// hasEnded releases a turn whose interrupt may have been too early or too late, and waits for its end, whatever the
// outcome: the clauses are about what follows.
func (s *suite) hasEnded(ctx context.Context, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	if t.held && s.Env.Brain != nil {
		// A timely interrupt has ended it already, or does before the model can continue.
		_, _ = s.Await(ctx, steps.Wait{Conn: t.client, After: t.mark, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: s.settles(t, model.End)})
		s.Env.Brain.Release(t.nonce)
	}
	return s.settled(ctx, t, model.End)
}

// stillRuns judges, with a fence, that nothing sent since has ended a turn whose model waits (SC-036).
func (s *suite) stillRuns(ctx context.Context, name string) error {
	t, err := s.heldTurn(name)
	if err != nil {
		return err
	}
	if err := s.fence(ctx, s.client(t.client)); err != nil {
		return err
	}
	if s.became(t).Doubtful() > 0 { // the release of the turn shows whose it is
		s.Note("a %s that may be an earlier turn's, in record %d", vocab.ResultMessage, s.became(t).Doubtful())
		return nil
	}
	return s.report(t, model.Running, nil)
}

// releases lets the model continue with the last turn of a session, or with the one before.
func (s *suite) releases(which, name string) error {
	turns := s.session(name).turns
	if which == "earlier turn" {
		turns = turns[:max(0, len(turns)-1)]
	}
	if len(turns) == 0 || turns[len(turns)-1].nonce == "" || s.Env.Brain == nil {
		return steps.NotTestedf("no %s of %s waits for the model stub", which, name)
	}
	s.Env.Brain.Release(turns[len(turns)-1].nonce)
	return nil
}

// runAtOnce ensures that the models of two turns wait at the same time. A target that runs turns sequentially is not
// at fault (SC-G05), but the scenario can't be tested.
func (s *suite) runAtOnce(ctx context.Context, one, other string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	for _, name := range []string{one, other} {
		t, err := s.heldTurn(name)
		if err != nil {
			return err
		}
		if s.awaitAsked(ctx, t, s.Env.Event()); len(s.calls(t)) > 0 {
			continue
		}
		if s.became(t).Settled(model.End) > 0 {
			return s.report(t, model.Asking, nil)
		}
		return steps.NotTestedf("the target does not run the turns of two sessions at the same time: "+
			"the model was not asked for %s while the other turn ran", name)
	}
	return nil
}

func (s *suite) pings(ctx context.Context, client string) error {
	c := s.client(client)
	m, err := s.bind.message(vocab.PingType, nil)
	if err != nil {
		return err
	}
	mark, err := s.send(ctx, c, m)
	if err != nil {
		return err
	}
	c.ping, s.mark = mark, mark
	return nil
}

// getsPong waits for the reply to a ping, and reports it (SC-037, SC-037a).
func (s *suite) getsPong(ctx context.Context, client string) error {
	c := s.client(client)
	if c.ping == 0 {
		return steps.NotTestedf("client %s has sent no ping", client)
	}
	_, miss := s.fenced(ctx, steps.Wait{Conn: client, After: c.ping, Match: func(*transcript.Record) bool {
		_, settled := s.model().Heartbeat(c.ping)
		return settled
	}})
	if miss != nil && !miss.NotOwed {
		s.T.Remark("", "%s%d: %s", model.InVain, c.ping, miss.Reason)
	}
	found, _ := s.model().Heartbeat(c.ping)
	for i := range found {
		found[i].Miss, found[i].Judge = miss, verdict.ByModel
	}
	return s.Judge(found...)
}

// noneRuns waits until a session that got two chats at once is usable again. A target may queue the second chat,
// refuse it, or let it replace the first (SC-G05); the step records which.
func (s *suite) noneRuns(ctx context.Context, name string) error {
	ss := s.session(name)
	if len(ss.turns) < 2 {
		return steps.NotTestedf("%s was not asked twice", name)
	}
	first, second := ss.turns[len(ss.turns)-2], ss.turn()
	if err := s.settled(ctx, first, model.End); err != nil {
		return err
	}
	within, ended, end := s.Env.Event(), s.became(first).Settled(model.End), ofSession(ss, vocab.ResultMessage,
		vocab.ErrorMessage)
	if s.refused(second) {
		within = time.Millisecond
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: second.client, After: ended, Within: within, Match: end})
	how, answered := "refused, or dropped", s.became(second).Settled(model.Answer)
	switch {
	case answered > 0 && answered <= ended:
		how = "let it replace the first"
	case miss == nil && rec.Event.Type == vocab.ResultMessage:
		how = "queued"
	}
	s.Note("a second chat to a busy agent_id: %s (SC-G05)", how)
	return nil
}
