package agentselect

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"

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
	r.step(`^the first event of client (\w+) is "connected"$`, r.firstIsConnected)
	r.step(`^the next event of client (\w+) is "agent_list"$`, r.nextIsList)
	r.step(`^client (\w+) receives the list of agents$`, r.receivesList)
	r.step(`^client (\w+) receives the id of its connection$`, r.receivesID)
	r.step(`^the ids of the connections differ$`, r.idsDiffer)
	r.step(`^client (\w+) is offered the built-in agents$`,
		r.reportsList("AS-001", "AS-009", "AS-129", "AS-034", "AS-117"))
	r.step(`^client (\w+) is offered the custom agent$`, r.isOfferedCustom)
	r.step(`^the list of client (\w+) names its current agent, or null$`, r.reportsList("AS-040", "AS-118", "AS-123"))
	r.step(`^the list of client (\w+) names the default agent as current, or none$`, r.namesNoOther)
	r.step(`^the order and the example values of the list of client (\w+) are recorded$`, r.examplesObserved)
	r.step(`^client (\w+) connects and switches to "([^"]*)" as early as possible$`, r.connectsAndSwitches)
	r.step(`^client (\w+) receives the list of agents before any answer$`, r.listBeforeAnswers)
}

func (s *suite) hasConnectedWith(ctx context.Context, c *client, query string) error {
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
		Miss: steps.NotOpened(c.openErr)}
	switch {
	case contains(clauses, "AS-029") || check.Miss.NotOwed:
		return s.Need(check)
	case s.bind.ws:
		return s.waited(c, vocab.ConnectedEvent, transcript.Record{}, check.Miss)
	}
	fault := check
	fault.Clauses = []string{"AS-029"}
	return s.ExplainedBy(model.FoundBySteps, fault, check)
}

// isGivenStream judges the answer to GET /events (AS-029).
func (s *suite) isGivenStream(c *client) error {
	if err := s.notOpened(c, "AS-029"); err != nil {
		return err
	}
	for _, r := range s.Between(c.name, c.opened, 0) {
		if r.Kind != transcript.Open {
			continue
		}
		media, _, err := mime.ParseMediaType(r.Type)
		return s.Judge(verdict.Finding{Clauses: []string{"AS-029"}, At: r.N,
			OK:       r.Status == http.StatusOK && err == nil && media == "text/event-stream",
			Expected: "HTTP 200 with Content-Type text/event-stream",
			Observed: fmt.Sprintf("HTTP %d with Content-Type %q", r.Status, r.Type)})
	}
	return steps.NotTestedf("this driver records no HTTP response")
}

// isNamed matches the events of this protocol. Events that no document names, such as a server's own greeting, may
// come anywhere.
var isNamed = isEvent(vocab.ConnectedEvent, vocab.AgentListEvent, vocab.AgentSwitchedEvent, vocab.ErrorEvent,
	vocab.MessageEvent, vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent, vocab.CompleteEvent,
	vocab.SessionCreatedEvent, vocab.SessionLoadedEvent)

// noteUnnamed notes the undocumented events between two records.
func (s *suite) noteUnnamed(name string, after, before int, where string) {
	for _, r := range s.Between(name, after, before) {
		if (r.Kind == transcript.Stream || r.Kind == transcript.Frame) && !isNamed(&r) {
			s.Note("%s, an undocumented event: %s", where, steps.Seen(r))
		}
	}
}

// firstIsConnected judges that connected is the first event of this protocol (AS-030).
func (s *suite) firstIsConnected(ctx context.Context, c *client) error {
	if err := s.notOpened(c, "AS-030", "AS-008", "AS-033", "AS-105", "AS-083", "AC-110"); err != nil {
		return err
	}
	first, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.opened, Greeting: c.conn != nil,
		Match: isNamed})
	if miss == nil {
		s.noteUnnamed(c.name, c.opened, first.N, "before connected")
		first, miss = s.greeting(ctx, c, vocab.ConnectedEvent)
	}
	return s.waited(c, vocab.ConnectedEvent, first, miss)
}

// nextIsList judges that agent_list is the next event of this protocol after connected (AS-033, AS-105).
func (s *suite) nextIsList(ctx context.Context, c *client) error {
	connected, err := s.greeted(ctx, c, vocab.ConnectedEvent)
	if err != nil {
		return err
	}
	next, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: connected.N,
		Match: func(r *transcript.Record) bool { return isNamed(r) && !s.again(r) }})
	if miss != nil {
		return s.waited(c, vocab.AgentListEvent, next, miss)
	}
	s.noteUnnamed(c.name, connected.N, next.N, "between connected and agent_list")
	return s.receivesList(ctx, c)
}

// receivesList judges that agent_list comes unprompted, with its fields (AS-008, AS-083).
func (s *suite) receivesList(ctx context.Context, c *client) error {
	if err := s.notOpened(c, "AS-008", "AS-016", "AS-083", "AS-033", "AS-117", "AC-110"); err != nil {
		return err
	}
	rec, miss := s.greeting(ctx, c, vocab.AgentListEvent)
	return s.waited(c, vocab.AgentListEvent, rec, miss)
}

func (s *suite) receivesID(ctx context.Context, c *client) error {
	if err := s.notOpened(c, "AS-031"); err != nil {
		return err
	}
	rec, miss := s.greeting(ctx, c, vocab.ConnectedEvent)
	return s.waited(c, vocab.ConnectedEvent, rec, miss)
}

func (s *suite) idsDiffer() error {
	open := 0
	for _, c := range s.clients {
		if c.conn != nil {
			open++
		}
	}
	if open < 2 {
		return steps.NotTestedf("fewer than two clients have connected")
	}
	_ = s.report(s.T.Len(), nil)
	return nil
}

// offeredList returns the list that a client was sent at connect, or why there is none.
func (s *suite) offeredList(ctx context.Context, c *client, clauses ...string) (transcript.Record, error) {
	if err := s.notOpened(c, clauses...); err != nil {
		return transcript.Record{}, err
	}
	rec, miss := s.greeting(ctx, c, vocab.AgentListEvent)
	if miss != nil { // the list of the scenarios about other clauses is unknown
		fault := miss.Check("agent_list without any message of the client", "AS-083")
		return rec, cmp.Or(s.ExplainedBy(model.ListShape, fault, miss.Check("agent_list", clauses...)),
			s.waited(c, vocab.AgentListEvent, rec, miss))
	}
	return rec, nil
}

// reportsList returns the step that reports what the model finds of a client's list, which some clauses are about.
func (s *suite) reportsList(clauses ...string) func(context.Context, *client) error {
	return func(ctx context.Context, c *client) error {
		rec, err := s.offeredList(ctx, c, clauses...)
		if err != nil {
			return err
		}
		return s.waited(c, vocab.AgentListEvent, rec, nil)
	}
}

func (s *suite) isOfferedCustom(ctx context.Context, c *client) error {
	if _, err := s.custom(); err != nil {
		return err
	}
	return s.reportsList("AS-002", "AS-010", "AS-034", "AS-117")(ctx, c)
}

// namesNoOther judges that a URL parameter did not choose an agent (AS-021).
func (s *suite) namesNoOther(ctx context.Context, c *client) error {
	clauses := []string{"AS-021", "AS-022"}
	rec, err := s.offeredList(ctx, c, clauses...)
	if err != nil {
		return err
	}
	v := field(rec, vocab.CurrentAgentID)
	usual := s.Env.Profile.Agents.Default
	ok := v == nil || v == any(usual)
	if _, named, _ := strings.Cut(c.query, "="); !ok && (v != any(named) || s.namesOtherAnyway(ctx)) {
		// the source leaves open which agent of the list a connection without a session has; it is not the URL's
		s.Note("client %s, whose URL has %s, is told %s as the current agent", c.name, c.query, quoted(v))
		ok = true
	}
	return s.Judge(verdict.Finding{Clauses: clauses, OK: ok, Observed: quoted(v), At: rec.N,
		Expected: "currentAgentId null or " + usual + " despite the URL's " + c.query})
}

// namesOtherAnyway reports whether a connection without a query, too, is told another current agent than the default
// one.
func (s *suite) namesOtherAnyway(ctx context.Context) bool {
	control := s.client("control")
	if binding.Of(s.Env.Profile).Correlation.Single || s.connected(ctx, control) != nil {
		return false
	}
	defer func() { _ = s.hasDisconnected(ctx, control) }()
	rec, err := s.offeredList(ctx, control)
	v := field(rec, vocab.CurrentAgentID)
	return err == nil && v != nil && v != any(s.Env.Profile.Agents.Default)
}

// examplesObserved compares the list with the document's example; a difference is only recorded.
func (s *suite) examplesObserved(ctx context.Context, c *client) error {
	rec, err := s.offeredList(ctx, c)
	if err != nil {
		return err
	}
	examples := map[string]vocab.AgentInfo{
		"AS-035": {ID: "general", Name: "General", Description: "通用主代理"},
		"AS-036": {ID: "requirement_analyzer", Name: "Requirement Analyzer", Description: "需求分析代理"},
		"AS-037": {ID: "debugger", Name: "Debugger", Description: "调试代理"},
		"AS-038": {ID: "code_reviewer", Name: "Code Reviewer", Description: "代码审查专家"},
	}
	var checks []verdict.Finding
	for id, want := range examples {
		got, _ := find(c.offered, want.ID)
		checks = append(checks, verdict.Finding{Clauses: []string{id}, OK: got == want,
			Expected: fmt.Sprintf("%+v", want), Observed: fmt.Sprintf("%+v", got), At: rec.N})
	}
	ordered := len(c.offered) >= 3
	for i, id := range vocab.BuiltinIDs {
		ordered = ordered && c.offered[i].ID == id
	}
	checks = append(checks, verdict.Finding{Clauses: []string{"AS-039"}, OK: ordered, Observed: "another order", At: rec.N,
		Expected: "general, requirement_analyzer, debugger, then custom agents"})
	return s.Judge(checks...)
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
	_, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: agent}, act{})
	return err
}

// listBeforeAnswers judges AS-106: the list comes before any answer to the early message.
func (s *suite) listBeforeAnswers(ctx context.Context, c *client) error {
	if _, err := s.greeted(ctx, c, vocab.AgentListEvent); err != nil {
		return err
	}
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	_ = s.report(s.T.Len(), nil)
	return nil
}
