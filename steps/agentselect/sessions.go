package agentselect

import (
	"context"
	"fmt"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerSessions(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) has a session$`, func(ctx context.Context, name string) error {
		return s.withSession(ctx, s.client(name))
	})
	steps.Step(sc, `^client (\w+) has another session$`, s.hasAnother)
	steps.Step(sc, `^client (\w+) creates a session$`, func(ctx context.Context, name string) error { return s.creates(ctx, name, nil) })
	steps.Step(sc, `^client (\w+) creates a session with the initial agent "([^"]*)"$`, func(ctx context.Context, name, id string) error {
		return s.creates(ctx, name, fields{"initialAgentId": id})
	})
	steps.Step(sc, `^client (\w+) loads the session of client (\w+)$`, s.loads)
	steps.Step(sc, `^client (\w+) tries to load the session of client (\w+)$`, s.triesToLoad)
	steps.Step(sc, `^client (\w+) loads the session "([^"]*)"$`, s.loadsNamed)
	steps.Step(sc, `^client (\w+) has its session$`, s.hasItsSession)
	steps.Step(sc, `^client (\w+) is refused the session$`, s.isRefusedSession)
	steps.Step(sc, `^client (\w+) deletes its session$`, s.deletes)
	steps.Step(sc, `^client (\w+) switches the deleted session to `+agentRef+`$`, s.switchesDeleted)
	steps.Step(sc, `^what becomes of the first session of client (\w+) is observed$`, s.firstSessionObserved)
	steps.Step(sc, `^the target declares "([^"]*)"$`, s.declares)
}

func (s *suite) declares(capability string) error {
	if !s.Env.Profile.Has(capability) {
		return &steps.NotApplicableError{Reason: "the profile does not declare the capability " + capability}
	}
	return nil
}

func (s *suite) hasAnother(ctx context.Context, name string) error {
	return s.mustCreate(ctx, s.client(name))
}

// creates asks for a session and remembers what came of it.
func (s *suite) creates(ctx context.Context, name string, f fields) error {
	c := s.client(name)
	s.mark, s.actor = s.T.Len(), c
	refused, at, err := s.createSession(ctx, c, f)
	c.try = &attempt{session: c.session, refused: refused, at: at}
	if init, ok := f["initialAgentId"].(string); ok && refused == "" {
		c.agent, c.chosen = init, true
	}
	return err
}

// loads loads another client's session. Where that client has just gone the target may need a moment to notice, so a
// refusal is tried again until the event limit.
func (s *suite) loads(ctx context.Context, name, of string) error {
	c, o := s.client(name), s.client(of)
	if o.session == "" {
		return steps.NotTestedf("client %s has no session", of)
	}
	deadline := stall.In(s.Limit(s.Env.Event()))
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		s.mark, s.actor = s.T.Len(), c
		refused, at, err := s.loadSession(ctx, c, o.session)
		c.try = &attempt{session: o.session, of: o, refused: refused, at: at}
		if err != nil || refused == "" || o.conn != nil || deadline.Over() {
			return err
		}
		s.pace(ctx, c, s.T.Len(), pause)
	}
}

// triesToLoad loads a session that lives on another connection; a target may refuse that.
func (s *suite) triesToLoad(ctx context.Context, name, of string) error {
	return s.loads(ctx, name, of)
}

func (s *suite) loadsNamed(ctx context.Context, name, id string) error {
	c := s.client(name)
	refused, at, err := s.loadSession(ctx, c, id)
	c.try = &attempt{session: id, refused: refused, at: at}
	return err
}

// hasItsSession judges that a session was created or loaded.
func (s *suite) hasItsSession(_ context.Context, name string) error {
	c := s.client(name)
	if c.try == nil {
		return steps.NotTestedf("client %s asked for no session", name)
	}
	clauses, what := []string{"AS-098", "AS-100"}, "a new session with its id"
	if c.try.of != nil {
		clauses, what = []string{"AS-099", "AS-101"}, "the session of client "+c.try.of.name+" loaded"
	}
	if c.try.refused == "" {
		s.Reached(steps.Given)
	}
	if s.bind.ws {
		return s.Need(steps.Check{Clauses: clauses, OK: c.try.refused == "", Expected: what, Observed: c.try.refused, At: c.try.at})
	}
	return s.Need(steps.Check{Clauses: clauses[:1], OK: c.try.refused == "", Expected: what, Observed: c.try.refused, At: c.try.at})
}

// isRefusedSession judges that loading what does not exist is no success (AS-099).
func (s *suite) isRefusedSession(_ context.Context, name string) error {
	c := s.client(name)
	return s.Judge(steps.Check{Clauses: []string{"AS-099"}, OK: c.try != nil && c.try.refused != "", At: c.try.at,
		Expected: "loading the unknown session " + c.try.session + " refused", Observed: "it was accepted"})
}

// deletes deletes a client's session, as a precondition.
func (s *suite) deletes(ctx context.Context, name string) error {
	c := s.client(name)
	if c.conn == nil || c.session == "" {
		return steps.NotTestedf("client %s has no session", name)
	}
	mark, err := c.conn.Send(ctx, s.bind.deletion(c.session, c.id))
	if err != nil {
		return fmt.Errorf("client %s: send: %w", name, err)
	}
	rec, miss := s.answer(ctx, c, mark)
	if miss != nil {
		return steps.NotTestedf("the session was not deleted: %s", miss.Reason)
	}
	if why := s.notAccepted(rec); why != "" {
		return steps.NotTestedf("the session was not deleted: %s", why)
	}
	c.deleted, c.session, c.agent, c.switches = c.session, "", "", 0
	return nil
}

func (s *suite) switchesDeleted(ctx context.Context, name, ref string) error {
	c := s.client(name)
	if c.deleted == "" {
		return steps.NotTestedf("client %s has deleted no session", name)
	}
	id, err := s.agentID(ref)
	if err != nil {
		return err
	}
	_, err = s.sendSwitch(ctx, c, fields{"agentId": id, "sessionId": c.deleted}, act{named: true})
	return err
}

// endedAt is the number of the record that tells the end of a client's connection; 0 while it stands.
func (s *suite) endedAt(c *client) int {
	for _, r := range s.Between(c.name, c.opened, 0) {
		if r.Kind == transcript.Closed {
			return r.N
		}
	}
	return 0
}

// ended tells whether the target has closed a client's connection.
func (s *suite) ended(c *client) bool { return s.endedAt(c) > 0 }

// firstSessionObserved records whether a session that is no longer its connection's default can still be named.
func (s *suite) firstSessionObserved(ctx context.Context, name string) error {
	c := s.client(name)
	if len(c.earlier) == 0 {
		return steps.NotTestedf("client %s had no earlier session", name)
	}
	if _, err := s.sendSwitch(ctx, c, fields{"agentId": vocab.General, "sessionId": c.earlier[0]}, act{named: true, elsewhere: true}); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, whichever)
	if miss != nil {
		s.Note("the first of two sessions on one connection: %s", miss.Reason)
		return nil
	}
	previous, found := wjson.Lookup(rec.Event.Data, "/previousAgentId")
	if rec.Event.Type == vocab.AgentSwitchedEvent && found {
		// It can still be named; then its agent is its own and not the newer session's.
		return s.Judge(steps.Check{Clauses: []string{"AS-093"}, OK: previous != any(c.agent), At: rec.N,
			Expected: fmt.Sprintf("the first session with its own agent, not %q of the second", c.agent), Observed: steps.Seen(rec)})
	}
	s.Note("the first of two sessions on one connection: %s", steps.Seen(rec))
	return nil
}
