package agentselect

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/cucumber/godog"

	mon "parley/monitor"
	judge "parley/monitor/agentselect"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerConnecting(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) connects$`, func(ctx context.Context, name string) error {
		return s.act0(ctx, name, func(c *client) error { return s.connect(ctx, c, "") })
	})
	steps.Step(sc, `^client (\w+) reconnects$`, func(ctx context.Context, name string) error {
		return s.act0(ctx, name, func(c *client) error { return s.connect(ctx, c, "") })
	})
	steps.Step(sc, `^client (\w+) is connected$`, func(ctx context.Context, name string) error {
		return s.connected(ctx, s.client(name))
	})
	steps.Step(sc, `^client (\w+) has connected with the query "([^"]*)"$`, s.hasConnectedWith)
	steps.Step(sc, `^client (\w+) has disconnected$`, s.hasDisconnected)
	steps.Step(sc, `^client (\w+) is given an event stream$`, s.isGivenStream)
	steps.Step(sc, `^client (\w+) is told its connection first$`, s.isToldConnectionFirst)
	steps.Step(sc, `^client (\w+) is told the agents next$`, s.isToldAgentsNext)
	steps.Step(sc, `^client (\w+) is told the agents$`, s.isToldAgents)
	steps.Step(sc, `^client (\w+) is told the id of its connection$`, s.isToldID)
	steps.Step(sc, `^the ids of the connections differ$`, s.idsDiffer)
	steps.Step(sc, `^client (\w+) is offered the built-in agents$`, s.isOfferedBuiltins)
	steps.Step(sc, `^client (\w+) is offered the custom agent$`, s.isOfferedCustom)
	steps.Step(sc, `^client (\w+) is told a current agent or null$`, s.isToldCurrent)
	steps.Step(sc, `^client (\w+) is told no current agent but the default one$`, s.isToldNoOther)
	steps.Step(sc, `^the order and the example values of the list of client (\w+) are observed$`, s.examplesObserved)
	steps.Step(sc, `^client (\w+) connects and switches to "([^"]*)" as early as it can$`, s.connectsAndSwitches)
	steps.Step(sc, `^client (\w+) is told the agents before any answer$`, s.isToldAgentsBeforeAnswers)
}

// act0 runs an act that no message carries, and moves the mark.
func (s *suite) act0(_ context.Context, name string, do func(*client) error) error {
	c := s.client(name)
	s.mark, s.actor = s.T.Len(), c
	return do(c)
}

func (s *suite) hasConnectedWith(ctx context.Context, name, query string) error {
	c := s.client(name)
	if err := s.connect(ctx, c, query); err != nil {
		return err
	}
	return s.connected(ctx, c)
}

func (s *suite) hasDisconnected(ctx context.Context, name string) error {
	c := s.client(name)
	if c.conn != nil {
		if err := c.conn.Close(0); err != nil {
			return fmt.Errorf("close the connection of client %s: %w", name, err)
		}
		c.conn = nil
		if s.Env.Profile.AgentSelect.Correlation.Single {
			// Nothing tells when the target has noticed; until then it may take what follows for this client's.
			s.pace(ctx, c, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
		}
	}
	return nil
}

// notOpened judges a connection that could not be opened, where a step needs one.
func (s *suite) notOpened(c *client, clauses ...string) error {
	if c.openErr == nil {
		return nil
	}
	return s.Need(steps.Check{Clauses: clauses, Expected: "a connection", Observed: c.openErr.Error(), At: s.T.Len()})
}

// isGivenStream judges the answer to GET /events (AS-029).
func (s *suite) isGivenStream(_ context.Context, name string) error {
	c := s.client(name)
	if err := s.notOpened(c, "AS-029"); err != nil {
		return err
	}
	for _, r := range s.Between(name, c.opened, 0) {
		if r.Kind != transcript.Open {
			continue
		}
		media, _, err := mime.ParseMediaType(r.Type)
		return s.Judge(steps.Check{Clauses: []string{"AS-029"}, OK: r.Status == http.StatusOK && err == nil && media == "text/event-stream",
			Expected: "HTTP 200 with Content-Type text/event-stream", Observed: fmt.Sprintf("HTTP %d with Content-Type %q", r.Status, r.Type), At: r.N})
	}
	return steps.NotTestedf("this driver shows no HTTP answer")
}

// isNamed matches the events of this protocol. What no document names, such as a greeting of the server's own, may stand anywhere.
var isNamed = isEvent(vocab.ConnectedEvent, vocab.AgentListEvent, vocab.AgentSwitchedEvent, vocab.ErrorEvent, vocab.MessageEvent,
	vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent, vocab.CompleteEvent, vocab.SessionCreatedEvent, vocab.SessionLoadedEvent)

// noteUnnamed tells what else the target said between two records.
func (s *suite) noteUnnamed(name string, after, before int, where string) {
	for _, r := range s.Between(name, after, before) {
		if (r.Kind == transcript.Stream || r.Kind == transcript.Frame) && !isNamed(&r) {
			s.Note("%s, an event that no document names: %s", where, steps.Seen(r))
		}
	}
}

// isToldConnectionFirst judges that the first event of this protocol is connected (AS-030).
func (s *suite) isToldConnectionFirst(ctx context.Context, name string) error {
	c := s.client(name)
	clauses := []string{"AS-030", "AS-008", "AS-033", "AS-105", "AS-083", "AC-110"}
	if err := s.notOpened(c, clauses...); err != nil {
		return err
	}
	first, miss := s.Await(ctx, steps.Wait{Conn: name, After: c.opened, Match: isNamed})
	if miss != nil {
		return s.Need(steps.Check{Clauses: clauses, Expected: "the event connected", Observed: miss.Reason, At: miss.At})
	}
	s.noteUnnamed(name, c.opened, first.N, "before connected")
	if err := s.Judge(steps.Check{Clauses: []string{"AS-030"}, OK: isEvent(vocab.ConnectedEvent)(&first),
		Expected: "connected as the first event", Observed: steps.Seen(first), At: first.N}); err != nil {
		return err
	}
	_, miss = s.awaitEvent(ctx, c, c.opened, vocab.ConnectedEvent)
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"AS-030", "AS-031", "AS-033", "AS-105"}, Expected: "the event connected", Observed: miss.Reason, At: miss.At})
	}
	return nil
}

// isToldAgentsNext judges that agent_list is the next event of this protocol after connected (AS-033, AS-105).
func (s *suite) isToldAgentsNext(ctx context.Context, name string) error {
	c := s.client(name)
	connected, miss := s.awaitEvent(ctx, c, c.opened, vocab.ConnectedEvent)
	if miss != nil {
		return steps.NotTestedf("client %s was not told that it is connected: %s", name, miss.Reason)
	}
	next, miss := s.Await(ctx, steps.Wait{Conn: name, After: connected.N, Match: isNamed})
	all := []string{"AS-008", "AS-016", "AS-033", "AS-105", "AS-083", "AC-110"}
	if miss != nil {
		return s.Need(steps.Check{Clauses: all, Expected: "agent_list after connected, without any message of the client", Observed: miss.Reason, At: miss.At})
	}
	s.noteUnnamed(name, connected.N, next.N, "between connected and agent_list")
	checks := []steps.Check{{Clauses: []string{"AS-105", "AS-033"}, OK: isEvent(vocab.AgentListEvent)(&next),
		Expected: "agent_list as the next event after connected", Observed: steps.Seen(next), At: next.N}}
	if err := s.Judge(checks...); err != nil {
		return err
	}
	return s.isToldAgents(ctx, name)
}

// isToldAgents judges that agent_list comes by itself, with its fields (AS-008, AS-083).
func (s *suite) isToldAgents(ctx context.Context, name string) error {
	c := s.client(name)
	arrive := []string{"AS-008", "AS-016", "AS-083", "AS-033", "AS-117", "AC-110"}
	if err := s.notOpened(c, arrive...); err != nil {
		return err
	}
	rec, miss := s.awaitEvent(ctx, c, c.opened, vocab.AgentListEvent)
	if miss != nil {
		return s.Need(steps.Check{Clauses: arrive, Expected: "agent_list without any message of the client", Observed: miss.Reason, At: miss.At})
	}
	s.Reached(steps.Greeted)
	if err := s.Judge(steps.Check{Clauses: arrive, OK: true}); err != nil {
		return err
	}
	return s.judgeFindings(judge.AgentList(rec))
}

// judgeFindings lets a step judge what a monitor says of one record.
func (s *suite) judgeFindings(fs []mon.Finding) error {
	var checks []steps.Check
	for _, f := range fs {
		checks = append(checks, steps.Check{Clauses: f.Clauses, OK: f.OK, Expected: f.Expected, Observed: f.Observed, At: f.At})
	}
	return s.Judge(checks...)
}

func (s *suite) isToldID(ctx context.Context, name string) error {
	c := s.client(name)
	if err := s.notOpened(c, "AS-031"); err != nil {
		return err
	}
	rec, miss := s.awaitEvent(ctx, c, c.opened, vocab.ConnectedEvent)
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"AS-031"}, Expected: "connected with a connectionId", Observed: miss.Reason, At: miss.At})
	}
	id, isString := c.id.(string)
	return s.Judge(
		steps.Check{Clauses: []string{"AS-031"}, OK: isString && id != "", Expected: "connectionId as a string that is not empty", Observed: steps.Seen(rec), At: rec.N},
		steps.Check{Clauses: []string{"AS-032"}, OK: strings.HasPrefix(id, "conn_"), Expected: "connectionId like conn_xxx", Observed: quoted(c.id), At: rec.N},
	)
}

func (s *suite) idsDiffer() error {
	seen := map[any]string{}
	for name, c := range s.clients {
		id, ok := c.id.(string)
		if !ok {
			continue
		}
		other, twice := seen[id]
		if err := s.Judge(steps.Check{Clauses: []string{"AS-031"}, OK: !twice, Expected: "an id for each connection",
			Observed: fmt.Sprintf("clients %s and %s both have %q", other, name, id), At: s.T.Len()}); err != nil {
			return err
		}
		seen[id] = name
	}
	return nil
}

// offeredList is the list that a client was told at connect, or the reason why there is none.
func (s *suite) offeredList(ctx context.Context, c *client, clauses ...string) (transcript.Record, error) {
	if err := s.notOpened(c, clauses...); err != nil {
		return transcript.Record{}, err
	}
	rec, miss := s.awaitEvent(ctx, c, c.opened, vocab.AgentListEvent)
	if miss != nil {
		return rec, s.Need(steps.Check{Clauses: clauses, Expected: "agent_list", Observed: miss.Reason, At: miss.At})
	}
	return rec, nil
}

func (s *suite) isOfferedBuiltins(ctx context.Context, name string) error {
	clauses := []string{"AS-001", "AS-009", "AS-129", "AS-034", "AS-117"}
	c := s.client(name)
	rec, err := s.offeredList(ctx, c, clauses...)
	if err != nil {
		return err
	}
	missing := missingFrom(c.offered, vocab.BuiltinIDs)
	return s.Judge(steps.Check{Clauses: clauses, OK: len(missing) == 0,
		Expected: "a list with " + strings.Join(vocab.BuiltinIDs, ", "), Observed: "no " + strings.Join(missing, ", ") + " in " + steps.Seen(rec), At: rec.N})
}

func missingFrom(list []vocab.AgentInfo, ids []string) []string {
	var out []string
	for _, id := range ids {
		if _, ok := find(list, id); !ok {
			out = append(out, id)
		}
	}
	return out
}

func (s *suite) isOfferedCustom(ctx context.Context, name string) error {
	clauses := []string{"AS-002", "AS-010", "AS-034", "AS-117"}
	want, err := s.custom()
	if err != nil {
		return err
	}
	c := s.client(name)
	rec, err := s.offeredList(ctx, c, clauses...)
	if err != nil {
		return err
	}
	got, found := find(c.offered, want.ID)
	return s.Judge(steps.Check{Clauses: clauses, OK: found, Expected: "a list with the custom agent " + want.ID, Observed: steps.Seen(rec), At: rec.N},
		steps.Check{Clauses: clauses, OK: !found || sameAsConfigured(want, got), Expected: fmt.Sprintf("%s named %q, %q, as configured", want.ID, want.Name, want.Description),
			Observed: fmt.Sprintf("named %q, %q", got.Name, got.Description), At: rec.N})
}

// sameAsConfigured compares what the profile says of a custom agent, as far as it says it.
func sameAsConfigured(want target.CustomAgent, got vocab.AgentInfo) bool {
	return (want.Name == "" || want.Name == got.Name) && (want.Description == "" || want.Description == got.Description)
}

// isToldCurrent judges currentAgentId at connect by the fair reading of AS-123, or by the strict one.
func (s *suite) isToldCurrent(ctx context.Context, name string) error {
	clauses := []string{"AS-040", "AS-118", "AS-123"}
	c := s.client(name)
	rec, err := s.offeredList(ctx, c, clauses...)
	if err != nil {
		return err
	}
	v, present := wjson.Lookup(rec.Event.Data, "/currentAgentId")
	id, isString := v.(string)
	_, listed := find(c.offered, id)
	checks := []steps.Check{
		{Clauses: clauses, OK: present && (v == nil || isString && listed), At: rec.N,
			Expected: "the key currentAgentId, with null or the id of a listed agent", Observed: steps.Seen(rec)},
	}
	if s.Env.Strict {
		checks = append(checks, steps.Check{Clauses: []string{"AS-123"}, OK: id == s.Env.Profile.Agents.Default, At: rec.N,
			Expected: "strict: the default agent's id, " + s.Env.Profile.Agents.Default, Observed: quoted(v)})
	}
	return s.Judge(checks...)
}

// isToldNoOther judges that a parameter of the URL did not choose an agent (AS-021).
func (s *suite) isToldNoOther(ctx context.Context, name string) error {
	clauses := []string{"AS-021", "AS-022"}
	c := s.client(name)
	rec, err := s.offeredList(ctx, c, clauses...)
	if err != nil {
		return err
	}
	v, _ := wjson.Lookup(rec.Event.Data, "/currentAgentId")
	return s.Judge(steps.Check{Clauses: clauses, OK: v == nil || v == any(s.Env.Profile.Agents.Default),
		Expected: "currentAgentId null or " + s.Env.Profile.Agents.Default + " in spite of the URL's " + c.query, Observed: quoted(v), At: rec.N})
}

// examplesObserved compares the list with the document's example; a difference is only told.
func (s *suite) examplesObserved(ctx context.Context, name string) error {
	c := s.client(name)
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
	var checks []steps.Check
	for id, want := range examples {
		got, _ := find(c.offered, want.ID)
		checks = append(checks, steps.Check{Clauses: []string{id}, OK: got == want,
			Expected: fmt.Sprintf("%+v", want), Observed: fmt.Sprintf("%+v", got), At: rec.N})
	}
	ordered := len(c.offered) >= 3
	for i, id := range vocab.BuiltinIDs {
		ordered = ordered && c.offered[i].ID == id
	}
	checks = append(checks, steps.Check{Clauses: []string{"AS-039"}, OK: ordered, Expected: "general, requirement_analyzer, debugger, then custom agents",
		Observed: "another order", At: rec.N})
	return s.Judge(checks...)
}

// connectsAndSwitches sends a switch before the list can have come, or as soon as the connection has an id.
func (s *suite) connectsAndSwitches(ctx context.Context, name, agent string) error {
	c := s.client(name)
	if err := s.connect(ctx, c, ""); err != nil {
		return err
	}
	if c.openErr != nil {
		return steps.NotTestedf("client %s could not connect: %v", name, c.openErr)
	}
	if !s.bind.ws {
		if _, miss := s.awaitEvent(ctx, c, c.opened, vocab.ConnectedEvent); miss != nil {
			return steps.NotTestedf("client %s was not told that it is connected: %s", name, miss.Reason)
		}
	}
	_, err := s.sendSwitch(ctx, c, fields{"agentId": agent}, act{})
	return err
}

// isToldAgentsBeforeAnswers judges AS-106: whatever came of the early message, the list came first.
func (s *suite) isToldAgentsBeforeAnswers(ctx context.Context, name string) error {
	c := s.client(name)
	if _, miss := s.awaitEvent(ctx, c, c.opened, vocab.AgentListEvent); miss != nil {
		return steps.NotTestedf("client %s was not told the agents: %s", name, miss.Reason)
	}
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	return s.judgeFindings(judge.ListBeforeAnswers(s.T.All(), name))
}
