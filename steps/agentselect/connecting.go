package agentselect

import (
	"context"
	"fmt"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

func (r registry) connecting() {
	r.step(`^client (\w+) (?:connects|reconnects)$`, func(ctx context.Context, c *client) error {
		r.mark, r.actor = r.T.Len(), c
		return r.connect(ctx, c, "")
	})
	r.step(`^client (\w+) is connected$`, r.connected)
	r.step(`^client (\w+) has connected with the query "([^"]*)"$`, r.hasConnectedWith)
	r.step(`^client (\w+) has disconnected$`, r.hasDisconnected)
	r.step(`^client (\w+) receives an event stream$`, r.isGivenStream)
	r.step(`^the first event of client (\w+) is "connected"$`,
		r.reports(vocab.ConnectedEvent, "AS-030", "AS-008", "AS-033", "AS-105", "AS-083", "AC-110"))
	r.step(`^client (\w+) receives the id of its connection$`, r.reports(vocab.ConnectedEvent, "AS-031"))
	lists := []string{"AS-008", "AS-016", "AS-083", "AS-033", "AS-117", "AC-110"}
	r.step(`^the next event of client (\w+) is "agent_list"$`, r.reports(vocab.AgentListEvent, lists...))
	r.step(`^client (\w+) receives the list of agents$`, r.reports(vocab.AgentListEvent, lists...))
	r.step(`^client (\w+) is offered the built-in agents$`,
		r.reports(vocab.AgentListEvent, "AS-001", "AS-009", "AS-129", "AS-034", "AS-117"))
	r.step(`^client (\w+) is offered the custom agent$`, r.isOfferedCustom)
	r.step(`^the list of client (\w+) names its current agent, or null$`,
		r.reports(vocab.AgentListEvent, "AS-040", "AS-118", "AS-123"))
	r.step(`^the list of client (\w+) names the default agent as current, or none$`,
		r.reports(vocab.AgentListEvent, "AS-021", "AS-022"))
	r.step(`^the order and the example values of the list of client (\w+) are recorded$`, r.reports(vocab.AgentListEvent))
	r.step(`^client (\w+) connects and switches to "([^"]*)" as early as possible$`, r.connectsAndSwitches)
}

// hasConnectedWith connects a client, after another one without the query: the source leaves open which agent a
// connection without a session is told, and the query must not change that.
func (s *suite) hasConnectedWith(ctx context.Context, c *client, query string) error {
	usual := s.client("usual")
	if err := s.connected(ctx, usual); err != nil {
		return err
	}
	if err := s.hasDisconnected(ctx, usual); err != nil {
		return err
	}
	if err := s.connect(ctx, c, query); err != nil {
		return err
	}
	return s.connected(ctx, c)
}

func (s *suite) hasDisconnected(ctx context.Context, c *client) error {
	if c.conn != nil {
		if err := c.conn.Close(0); err != nil {
			return fmt.Errorf("close the connection of client %s: %w", c.name, err)
		}
		c.conn = nil
		running := c.turn != nil && !c.turn.over
		if binding.Of(s.Env.Profile).Correlation.Single || running || s.othersConnected(c) {
			// Nothing shows when the target has noticed; until then it may attribute other messages to this client, and
			// what the end does to others is not yet to be seen.
			s.pace(ctx, c, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
		}
	}
	return nil
}

// notOpened judges a failed connection in a step that needs one.
func (s *suite) notOpened(c *client, clauses ...string) error {
	if c.openErr == nil && c.conn == nil && c.opened == 0 {
		return steps.NotTestedf("client %s has not connected", c.name)
	}
	if c.openErr == nil {
		return nil
	}
	check := verdict.Finding{Clauses: clauses, Expected: "a connection", Observed: c.openErr.Error(), At: s.T.Len(),
		Miss: steps.NotOpened(c.openErr), Judge: verdict.ByConnection}
	if check.Miss.NotOwed {
		return s.Need(check)
	}
	switch err := s.report(s.T.Len(), nil); {
	case err != nil:
		return err
	case contains(clauses, "AS-029"):
		return s.Need(check)
	case s.bind.ws:
		return s.waited(c, vocab.ConnectedEvent, transcript.Record{}, check.Miss)
	}
	fault := check
	fault.Clauses = []string{"AS-029"}
	return s.ExplainedBy(model.FoundBySteps, fault, check)
}

// isGivenStream reports what the model finds of the answer to GET /events (AS-029).
func (s *suite) isGivenStream(c *client) error {
	if err := s.notOpened(c, "AS-029"); err != nil {
		return err
	}
	for _, r := range s.Between(c.name, c.opened, 0) {
		if r.Kind == transcript.Open {
			_ = s.report(r.N, nil)
			return nil
		}
	}
	return steps.NotTestedf("this driver records no HTTP response")
}

// isNamed matches the events of this protocol. Events that no document names, such as a server's own greeting, may
// come anywhere.
var isNamed = isEvent(vocab.ConnectedEvent, vocab.AgentListEvent, vocab.AgentSwitchedEvent, vocab.ErrorEvent,
	vocab.MessageEvent, vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent, vocab.CompleteEvent,
	vocab.SessionCreatedEvent, vocab.SessionLoadedEvent)

// greets waits for an event of a client's greeting, and reports what the model finds up to it. Clauses are those that
// cannot be judged without a connection.
func (s *suite) greets(ctx context.Context, c *client, kind string, clauses ...string) (transcript.Record, error) {
	if err := s.notOpened(c, clauses...); err != nil {
		return transcript.Record{}, err
	}
	rec, miss := s.greeting(ctx, c, kind)
	where := "before connected"
	for _, r := range s.Between(c.name, c.opened, rec.N) {
		if isEvent(vocab.ConnectedEvent)(&r) {
			where = "between connected and agent_list"
		} else if (r.Kind == transcript.Stream || r.Kind == transcript.Frame) && !isNamed(&r) && !c.noted[where] {
			s.Note("%s, an undocumented event: %s", where, steps.Seen(r))
			c.noted[where] = true
		}
	}
	return rec, s.waited(c, kind, rec, miss)
}

func (s *suite) reports(kind string, clauses ...string) func(context.Context, *client) error {
	return func(ctx context.Context, c *client) error {
		_, err := s.greets(ctx, c, kind, clauses...)
		return err
	}
}

func (s *suite) isOfferedCustom(ctx context.Context, c *client) error {
	if _, err := s.custom(); err != nil {
		return err
	}
	return s.reports(vocab.AgentListEvent, "AS-002", "AS-010", "AS-034", "AS-117")(ctx, c)
}

// connectsAndSwitches sends a switch before the list can have come or, over SSE, as soon as the connection has an id.
func (s *suite) connectsAndSwitches(ctx context.Context, c *client, agent string) error {
	if err := s.connect(ctx, c, ""); err != nil {
		return err
	}
	if c.openErr != nil {
		return steps.NotTestedf("client %s could not connect: %v", c.name, c.openErr)
	}
	if !s.bind.ws {
		if _, err := s.greeted(ctx, c, vocab.ConnectedEvent); err != nil {
			return err
		}
	}
	return s.switches(ctx, c, agentID{agent})
}
