package agentselect

import (
	"cmp"
	"context"
	"fmt"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

func (r registry) sessions() {
	r.step(`^client (\w+) has a session$`, r.withSession)
	r.step(`^client (\w+) has another session$`, r.mustCreate)
	r.step(`^client (\w+) creates a session$`, func(ctx context.Context, c *client) error {
		return r.creates(ctx, c, nil)
	})
	r.step(`^client (\w+) creates a session with the initial agent `+agentRef+`$`,
		func(ctx context.Context, c *client, initial agentID) error {
			return r.creates(ctx, c, fields{vocab.InitialAgentID: initial.id})
		})
	r.step(`^client (\w+) (?:loads|tries to load) the session of client (\w+)$`, r.loads)
	r.step(`^client (\w+) loads its first session again$`, r.loadsFirst)
	r.step(`^client (\w+) loads the session "([^"]*)"$`, r.loadsNamed)
	r.step(`^client (\w+) has its session$`, r.hasItsSession)
	r.step(`^client (\w+) is refused the session$`, r.isRefusedSession)
	r.step(`^client (\w+) deletes its session$`, r.deletes)
	r.step(`^whether the first session of client (\w+) can still be switched is recorded$`, r.firstSessionObserved)
	r.step(`^the target declares "([^"]*)"$`, r.declares)
}

func (s *suite) declares(capability string) error {
	if !s.Env.Profile.Has(capability) {
		return &steps.NotApplicableError{Reason: "the profile does not declare the capability " + capability}
	}
	return nil
}

// creates requests a session and records the result.
func (s *suite) creates(ctx context.Context, c *client, f fields) (err error) {
	s.mark, s.actor = s.T.Len(), c
	c.try, err = s.openSession(ctx, c, vocab.SessionCreateType, f)
	if init, ok := f[vocab.InitialAgentID].(string); ok && c.try.refused == "" {
		c.agent = init
	}
	return err
}

// loads loads another client's session, which a target may refuse while it is in use. If that client has just
// disconnected, the target may need a moment to notice, so a refusal is retried until the event limit.
func (s *suite) loads(ctx context.Context, c, of *client) (err error) {
	if of.session == "" {
		return steps.NotTestedf("client %s has no session", of.name)
	}
	s.retry(ctx, c, s.Limit(s.Env.Event()), func() (again bool) {
		s.mark, s.actor = s.T.Len(), c
		err = s.loadsNamed(ctx, c, of.session)
		c.try.of = of
		return err == nil && c.try.refused != "" && of.conn == nil
	})
	if t := of.turn; err == nil && c.try.refused == "" && t != nil && !t.over && t.session == c.session {
		c.turn = t // what follows of it comes here
	}
	return err
}

// loadsFirst loads the first session of a client's connection, which has got another one since.
func (s *suite) loadsFirst(ctx context.Context, c *client) error {
	if len(c.earlier) == 0 {
		return steps.NotTestedf("client %s had no earlier session", c.name)
	}
	return s.loadsNamed(ctx, c, c.earlier[0])
}

func (s *suite) loadsNamed(ctx context.Context, c *client, id string) (err error) {
	c.try, err = s.openSession(ctx, c, vocab.SessionLoadType, fields{vocab.SessionID: id})
	c.try.session = id
	return err
}

// hasItsSession reports whether a session was created or loaded.
func (s *suite) hasItsSession(c *client) error {
	if c.try == nil {
		return steps.NotTestedf("client %s asked for no session", c.name)
	}
	if c.try.refused == "" {
		s.RecordReach(steps.Given)
	}
	if of := c.try.of; of != nil && c.try.refused != "" && c.try.miss == nil {
		if name := s.Routed(c.name, of.name); name != "" {
			return steps.NotTestedf("%s, and the cookie %s of client %s is not that of client %s: a balancer may have led "+
				"them to different instances", c.try.refused, name, c.name, of.name)
		}
	}
	return s.wasGiven(c, c.try.refused == "")
}

// wasGiven reports what the model finds of a client's session request. If it was not answered as it should be, a remark
// says that this was waited for.
func (s *suite) wasGiven(c *client, right bool) error {
	miss := c.try.miss
	if !right && miss == nil {
		miss = &verdict.Miss{Reason: cmp.Or(c.try.refused, "it was accepted"), At: c.try.at}
	}
	return s.waited(c, model.GivenTo(c.try.mark), transcript.Record{N: c.try.at}, miss)
}

// isRefusedSession reports whether loading an unknown session has failed (AS-099). A target that does not answer has
// not refused.
func (s *suite) isRefusedSession(c *client) error {
	if c.try == nil {
		return steps.NotTestedf("client %s has tried to load no session", c.name)
	}
	return s.wasGiven(c, s.answered(c))
}

// answered reports whether a client's last attempt to load a session was answered, even by a refusal.
func (s *suite) answered(c *client) bool {
	if c.try.miss == nil {
		return true
	}
	at := s.T.After(c.try.at - 1)
	return c.try.at > 0 && len(at) > 0 && at[0].Kind != transcript.Failure && at[0].Kind != transcript.Closed
}

// deletes deletes a client's session, as a precondition.
func (s *suite) deletes(ctx context.Context, c *client) error {
	if c.conn == nil || c.session == "" {
		return steps.NotTestedf("client %s has no session", c.name)
	}
	mark, err := c.conn.Send(ctx, s.bind.deletion(c.session, c.id))
	if err != nil {
		return fmt.Errorf("client %s: send: %w", c.name, err)
	}
	rec, miss := s.answer(ctx, c, mark)
	if miss != nil {
		return steps.NotTestedf("the session was not deleted: %s", miss.Reason)
	}
	if why := s.notAccepted(rec); why != "" {
		return steps.NotTestedf("the session was not deleted: %s", why)
	}
	c.deleted, c.session, c.agent = c.session, "", ""
	return nil
}

// endedAt returns the number of the record in which a client's connection ended; 0 if it is open.
func (s *suite) endedAt(c *client) int {
	for _, r := range s.Between(c.name, c.opened, 0) {
		if r.Kind == transcript.Closed {
			return r.N
		}
	}
	return 0
}

// ended reports whether the target has closed a client's connection.
func (s *suite) ended(c *client) bool { return s.endedAt(c) > 0 }

// firstSessionObserved records whether a session that is no longer its connection's current one can still be named.
func (s *suite) firstSessionObserved(ctx context.Context, c *client) error {
	if len(c.earlier) == 0 {
		return steps.NotTestedf("client %s had no earlier session", c.name)
	}
	f := fields{vocab.AgentID: vocab.General, vocab.SessionID: c.earlier[0]}
	if _, err := s.sendSwitch(ctx, c, f, act{named: true, elsewhere: true}); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, whichever)
	if miss != nil {
		s.Note("the first of two sessions on one connection: %s", miss.Reason)
		return nil
	}
	s.Note("the first of two sessions on one connection: %s", steps.Seen(rec))
	_ = s.report(rec.N, nil)
	return nil
}
