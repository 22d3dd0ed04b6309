package sessionchat

import (
	"context"
	"time"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transcript"
)

func (s *suite) registerTurns(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) interrupts "(\w+)"$`, s.interrupts)
	steps.Step(sc, `^the turn of "(\w+)" is interrupted$`, s.isInterrupted)
	steps.Step(sc, `^the turn of "(\w+)" has come to its end$`, s.comesToItsEnd)
	steps.Step(sc, `^the turn of "(\w+)" still runs$`, s.stillRuns)
	steps.Step(sc, `^the turn of "(\w+)" is let go on$`, s.letGoOn)
	steps.Step(sc, `^the turn of "(\w+)" before it is let go on$`, s.letEarlierGoOn)
	steps.Step(sc, `^the turns of "(\w+)" and "(\w+)" run at the same time$`, s.runAtOnce)
	steps.Step(sc, `^client (\w+) pings$`, s.pings)
	steps.Step(sc, `^client (\w+) gets a pong$`, s.getsPong)
	steps.Step(sc, `^"(\w+)" comes to rest$`, s.comesToRest)
}

// interrupts sends an interrupt for a session's agent_id, whether the session exists or not.
func (s *suite) interrupts(ctx context.Context, client, name string) error {
	c, ss := s.client(client), s.session(name)
	m, err := s.bind.message(vocab.InterruptType, fields{"agent_id": ss.agentID})
	if err != nil {
		return err
	}
	mark, err := s.send(ctx, c, m)
	if err != nil {
		return err
	}
	if t := ss.turn(); t != nil && !t.over {
		if t.cutAt == 0 {
			t.cutAt = mark
		}
		t.cut = true
	}
	s.mark, ss.asker = mark, client
	return nil
}

// isInterrupted judges that an interrupt ends a turn whose model waits: nothing else can end it (SC-035, SC-036).
func (s *suite) isInterrupted(ctx context.Context, name string) error {
	t := s.session(name).turn()
	if t == nil || !t.held || !t.cut {
		return steps.NotTestedf("no turn of %s is held and interrupted", name)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: t.client, After: t.cutAt, Match: ofSession(t.of, vocab.ResultMessage)})
	clauses := []string{"SC-035", "SC-036", "SC-055"}
	if miss != nil {
		return s.Need(steps.Check{Clauses: clauses, Expected: "the end of the interrupted turn (" + vocab.ResultMessage + ") of " + t.of.agentID, Observed: miss.Reason, At: miss.At})
	}
	if text(&rec, inSubtype) != vocab.Interrupted && s.doubtful(t, rec) {
		if own, none := s.fenced(ctx, steps.Wait{Conn: t.client, After: rec.N, Match: ofSession(t.of, vocab.ResultMessage)}); none == nil {
			rec = own
		}
	}
	t.over, t.end = true, rec
	s.learn(t.of, rec)
	how := text(&rec, inSubtype)
	if how == vocab.Success && t.nonce == "" {
		return steps.NotTestedf("the turn that provoke.running_turn starts may have ended by itself: %s", steps.Seen(rec))
	}
	if how != vocab.Interrupted {
		s.Note("an interrupted turn ends with %s %q", vocab.ResultMessage, how)
	}
	return s.Judge(steps.Check{Clauses: clauses, OK: true, At: rec.N})
}

// comesToItsEnd lets a turn go on that was interrupted at a moment when it may have been too early or too late, and waits
// for its end, whatever that is: the clauses are about what follows.
func (s *suite) comesToItsEnd(ctx context.Context, name string) error {
	t := s.session(name).turn()
	if t == nil {
		return steps.NotTestedf("nobody has chatted with %s", name)
	}
	if t.held && s.Env.Brain != nil {
		// An interrupt that came in time has ended it already, or does before the model can speak on.
		_, _ = s.Await(ctx, steps.Wait{Conn: t.client, After: t.mark, Within: s.Env.Profile.Limits.Quiet.Duration, Match: ofSession(t.of, vocab.ResultMessage)})
		s.Env.Brain.Release(t.nonce)
	}
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return s.Need(steps.Check{Clauses: []string{"SC-035", "SC-036"}, Expected: "the end of the turn of " + t.of.agentID + ", interrupted or not", Observed: s.instead(t, miss), At: miss.At})
	}
	return nil
}

// stillRuns judges that a turn whose model waits has not been ended by what was sent since: a fence proves it (SC-036).
func (s *suite) stillRuns(ctx context.Context, name string) error {
	t := s.session(name).turn()
	if t == nil || !t.held {
		return steps.NotTestedf("no turn of %s is held", name)
	}
	if err := s.fence(ctx, s.client(t.client)); err != nil {
		return err
	}
	clauses := []string{"SC-004", "SC-036", "SC-037", "SC-054"}
	for _, r := range s.Between(t.client, t.mark, 0) {
		if !ofSession(t.of, vocab.ResultMessage)(&r) {
			continue
		}
		if s.doubtful(t, r) { // whose it is shows when the turn is let go on
			s.Note("a %s that may be an earlier turn's: %s", vocab.ResultMessage, steps.Seen(r))
			return nil
		}
		return s.Need(steps.Check{Clauses: clauses, Expected: "the turn of " + t.of.agentID + " still running", Observed: steps.Seen(r), At: r.N})
	}
	return s.Judge(steps.Check{Clauses: clauses, OK: true})
}

func (s *suite) letGoOn(name string) error {
	t := s.session(name).turn()
	if t == nil || t.nonce == "" || s.Env.Brain == nil {
		return steps.NotTestedf("without the model stub nobody can end a turn of %s", name)
	}
	s.Env.Brain.Release(t.nonce)
	return nil
}

// letEarlierGoOn frees the turn before the last one of a session.
func (s *suite) letEarlierGoOn(name string) error {
	turns := s.session(name).turns
	if len(turns) < 2 || s.Env.Brain == nil {
		return steps.NotTestedf("%s was not asked twice", name)
	}
	s.Env.Brain.Release(turns[len(turns)-2].nonce)
	return nil
}

// runAtOnce makes sure that the models of two turns wait at the same time. A target that runs one turn after the other
// is not at fault (SC-G05), but what the scenario is about cannot be seen.
func (s *suite) runAtOnce(ctx context.Context, one, other string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	for _, name := range []string{one, other} {
		t := s.session(name).turn()
		if t == nil || !t.held {
			return steps.NotTestedf("no turn of %s is held", name)
		}
		_, err := s.AwaitModelFor(ctx, s.Env.Event(), func(ctx context.Context) error {
			_, err := s.Env.Brain.Await(ctx, t.nonce, 1)
			return err
		})
		if err != nil {
			for _, r := range s.Between(t.client, t.mark, 0) {
				if ofSession(t.of, vocab.ResultMessage)(&r) {
					return s.Need(steps.Check{Clauses: []string{"SC-004", "SC-024", "SC-027"}, Expected: "the turn of " + t.of.agentID + " running", Observed: steps.Seen(r), At: r.N})
				}
			}
			return steps.NotTestedf("the target does not run the turns of two sessions at the same time: the model was not asked for %s while the other turn ran", name)
		}
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

// getsPong judges the answer to a ping (SC-037a).
func (s *suite) getsPong(ctx context.Context, client string) error {
	c := s.client(client)
	rec, miss := s.fenced(ctx, steps.Wait{Conn: client, After: c.ping, Match: func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && r.Event != nil && r.Event.Type == vocab.PongMessage
	}})
	if miss != nil {
		if err := s.pingRefused(c, miss); err != nil {
			return err
		}
	}
	check := steps.Check{Clauses: []string{"SC-037a"}, OK: miss == nil, Expected: "a " + vocab.PongMessage + " for the ping", At: rec.N}
	if miss != nil {
		check.Observed, check.At = miss.Reason, miss.At
	}
	return s.Judge(check)
}

// pingRefused judges that a ping without agent_id is legal: no error comes of it, and the connection stays (SC-037).
func (s *suite) pingRefused(c *client, miss *steps.Miss) error {
	observed, at := miss.Reason, miss.At
	if at == 0 {
		for _, r := range s.Between(c.name, c.ping, 0) {
			if r.Event != nil && r.Event.Type == vocab.ErrorMessage && text(&r, inAgent) == "" {
				observed, at = steps.Seen(r), r.N
			}
		}
	}
	return s.Judge(steps.Check{Clauses: []string{"SC-037"}, OK: at == 0, Expected: "a ping without agent_id taken as a legal message", Observed: observed, At: at})
}

// comesToRest waits until a session that was asked twice at once can be asked again. A target may queue the second chat,
// refuse it, or let it replace the first (SC-G05); which one it did is noted.
func (s *suite) comesToRest(ctx context.Context, name string) error {
	ss := s.session(name)
	if len(ss.turns) < 2 {
		return steps.NotTestedf("%s was not asked twice", name)
	}
	first, second := ss.turns[len(ss.turns)-2], ss.turn()
	if miss := s.awaitEnd(ctx, first); miss != nil {
		return s.Need(steps.Check{Clauses: []string{"SC-021", "SC-041", "SC-057"}, Expected: "an end of the turns of " + ss.agentID, Observed: miss.Reason, At: miss.At})
	}
	within := s.Env.Event()
	if s.refusedAfter(second) {
		within = time.Millisecond
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: second.client, After: first.end.N, Within: within, Match: ofSession(ss, vocab.ResultMessage, vocab.ErrorMessage)})
	switch {
	case miss == nil && rec.Event.Type == vocab.ResultMessage:
		second.over, second.end = true, rec
		how := "queued"
		if s.mentionedBefore(second, first.end.N) {
			how = "let it replace the first"
		}
		s.Note("a second chat to a busy agent_id: %s (SC-G05)", how)
	default:
		second.cut = true
		s.Note("a second chat to a busy agent_id: refused, or dropped (SC-G05)")
	}
	return nil
}

// refusedAfter tells whether an error about the session came since a chat.
func (s *suite) refusedAfter(t *turn) bool {
	for _, r := range s.Between(t.client, t.mark, 0) {
		if ofSession(t.of, vocab.ErrorMessage)(&r) {
			return true
		}
	}
	return false
}

// mentionedBefore tells whether a turn's answer had begun before a record.
func (s *suite) mentionedBefore(t *turn, upTo int) bool {
	answer := s.answers(t)
	for _, r := range s.Between(t.client, t.mark, upTo+1) {
		if answer(&r) {
			return true
		}
	}
	return false
}
