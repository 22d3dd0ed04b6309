package agentselect

import (
	"context"
	"fmt"

	"github.com/cucumber/godog"

	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerHandover(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the session of client (\w+) answers on one connection only$`, s.answersOnce)
	steps.Step(sc, `^client (\w+) switches the session of client (\w+) to `+agentRef+`$`, s.switchesOthers)
	steps.Step(sc, `^the switch is announced to client (\w+), or client (\w+) is refused and nothing changes$`, s.announcedOrRefused)
}

// answersOnce judges that a session has one connection after another client has tried to load it (AS-094): either the
// binding has moved, and the old connection is unbound and hears nothing; or nothing has changed.
func (s *suite) answersOnce(ctx context.Context, name string) error {
	old := s.client(name)
	var c *client
	for _, o := range s.clients {
		if o.try != nil && o.try.of == old {
			c = o
		}
	}
	if c == nil {
		return steps.NotTestedf("no client has tried to load the session of client %s", name)
	}
	if c.try.refused != "" {
		s.Note("loading a session of another connection is refused: %s", c.try.refused)
	} else {
		s.Note("loading a session of another connection moves it")
	}
	switch {
	case s.Env.Profile.AgentSelect.Correlation.Single:
		return s.heardOnce(ctx, c.try.session, old, c)
	case c.try.refused != "":
		return s.keptBy(ctx, old, c)
	}
	old.session = ""
	return s.keptBy(ctx, c, old)
}

// keptBy judges that a session belongs to the one client alone: what it switches is not heard by the other, and a switch of
// the other, which names no session, finds none and changes nothing. That switch is sent before any fence: its answer is the
// fence of what came before it, and where it acts on the session, or is answered to the wrong client, the records show it.
func (s *suite) keptBy(ctx context.Context, keeper, other *client) error {
	if err := s.switches(ctx, keeper.name, `"requirement_analyzer"`); err != nil {
		return err
	}
	began := keeper.act.mark
	if rec, miss := s.awaitOn(ctx, began, func(r *transcript.Record) bool {
		return r.Conn == keeper.name && s.foreignAnswer(keeper)(r) || r.Conn == other.name && isEvent(vocab.AgentSwitchedEvent)(r)
	}); miss == nil && rec.Conn == other.name {
		clauses := []string{"AS-094", "AS-095"}
		if keeper.loaded {
			clauses = append(clauses, "AS-101")
		}
		return s.Need(steps.Check{Clauses: clauses, At: rec.N, Observed: fmt.Sprintf("client %s was told %s", other.name, steps.Seen(rec)),
			Expected: fmt.Sprintf("agent_switched on the connection of client %s alone, to which the session belongs", keeper.name)})
	}
	if err := s.isSwitched(ctx, keeper.name, "", `"requirement_analyzer"`); err != nil {
		return err
	}
	if s.ended(other) {
		return s.Judge(steps.Check{Clauses: []string{"AS-094", "AS-095"}, OK: true})
	}
	answer, err := s.findsNoSession(ctx, other, keeper)
	if err != nil {
		return err
	}
	if err := s.judgeAbsence(other, began, answer-1, vocab.AgentSwitchedEvent, []string{"AS-094"}, isEvent(vocab.AgentSwitchedEvent)); err != nil {
		return err
	}
	both := []string{"AS-094", "AS-095"}
	if err := s.hearsNone(ctx, keeper.name, "answer to the switch of client "+other.name, both, s.foreignAnswer(keeper)); err != nil {
		return err
	}
	return s.stillFrom(ctx, keeper, `"requirement_analyzer"`, `"debugger"`, both)
}

// findsNoSession judges that a client has no session: its switch without sessionId is refused with session_not_found, and
// nothing of that reaches the client to whom the session belongs. It returns the number of the answer.
func (s *suite) findsNoSession(ctx context.Context, c, keeper *client) (int, error) {
	id, err := s.agentID(`"general"`)
	if err != nil {
		return 0, err
	}
	mark, err := s.sendSwitch(ctx, c, fields{"agentId": id}, act{stranger: true})
	if err != nil {
		return 0, err
	}
	rec, miss := s.awaitOn(ctx, mark, func(r *transcript.Record) bool {
		return r.Conn == keeper.name && s.foreignAnswer(keeper)(r) || r.Conn == c.name && s.foreignAnswer(c)(r)
	})
	check := steps.Check{Clauses: []string{"AS-094"}, At: rec.N,
		Expected: fmt.Sprintf("client %s, whose connection has no session, refused with session_not_found", c.name)}
	switch {
	case miss != nil:
		check.Observed, check.At = miss.Reason, miss.At
	case rec.Conn == keeper.name:
		check.Clauses = []string{"AS-094", "AS-095"}
		check.Observed = fmt.Sprintf("client %s, who asked for nothing, was told %s", keeper.name, steps.Seen(rec))
	default:
		check.Observed, check.OK = steps.Seen(rec), codeOf(rec) == vocab.SessionNotFound
	}
	return rec.N, s.Need(check)
}

// foreignAnswer matches what answers a switch and is no answer to a fence of this client.
func (s *suite) foreignAnswer(c *client) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		return isEvent(vocab.AgentSwitchedEvent)(r) || s.foreignError(c.name)(r)
	}
}

// awaitOn waits for a record on whichever connection.
func (s *suite) awaitOn(ctx context.Context, mark int, match func(*transcript.Record) bool) (transcript.Record, *steps.Miss) {
	within := s.Limit(s.Env.Event())
	limited, cancel := stall.WithLimit(ctx, within)
	defer cancel()
	rec, err := s.T.Await(limited, mark, match)
	switch {
	case err == nil:
		return rec, nil
	case ctx.Err() != nil:
		s.CutOff()
	}
	return rec, &steps.Miss{Reason: fmt.Sprintf("no answer on any connection within %v", within)}
}

// stillFrom judges that a session has kept its agent: a switch says that it comes from there.
func (s *suite) stillFrom(ctx context.Context, c *client, fromRef, toRef string, clauses []string) error {
	from, err := s.agentID(fromRef)
	if err != nil {
		return err
	}
	to, err := s.agentID(toRef)
	if err != nil {
		return err
	}
	f := fields{"agentId": to}
	if _, err := s.sendSwitch(ctx, c, f, act{}); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	check := steps.Check{Clauses: clauses, Expected: fmt.Sprintf("client %s switched from %q", c.name, from)}
	if miss != nil {
		check.Observed, check.At = miss.Reason, miss.At
		return s.Need(check)
	}
	previous, _ := wjson.Lookup(rec.Event.Data, "/previousAgentId")
	check.Observed, check.At, check.OK = steps.Seen(rec), rec.N, rec.Event.Type == vocab.AgentSwitchedEvent && previous == any(from)
	if rec.Event.Type == vocab.AgentSwitchedEvent {
		if err := s.movedByRefusal(ctx, c, rec, from, to); err != nil {
			return err
		}
	}
	return s.Judge(check)
}

// heardOnce judges the same of a target that cannot tell connections apart: a switch that names the session is announced on
// one of the two connections, and on one only. No fence finds its way there, so a quiet window stands in.
func (s *suite) heardOnce(ctx context.Context, session string, old, c *client) error {
	id, err := s.agentID(`"requirement_analyzer"`)
	if err != nil {
		return err
	}
	mark, err := s.sendSwitch(ctx, old, fields{"agentId": id, "sessionId": session}, act{named: true})
	if err != nil {
		return err
	}
	rec, miss := s.awaitOn(ctx, mark, isEvent(vocab.AgentSwitchedEvent))
	check := steps.Check{Clauses: []string{"AS-094"}, Expected: fmt.Sprintf("agent_switched on the connection of client %s or of client %s", old.name, c.name)}
	if miss != nil {
		check.Observed, check.At = miss.Reason, miss.At
		return s.Need(check)
	}
	keeper, other := old, c
	if rec.Conn == c.name {
		keeper, other = c, old
	}
	if c.try.refused != "" && keeper != old {
		check.Expected, check.Observed, check.At = "agent_switched on the connection of client "+old.name+", as the load was refused", steps.Seen(rec), rec.N
		return s.Need(check)
	}
	s.pace(ctx, other, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
	return s.judgeAbsence(other, mark, s.T.Len(), vocab.AgentSwitchedEvent, []string{"AS-094"}, isEvent(vocab.AgentSwitchedEvent))
}

// switchesOthers sends a switch that names another client's session.
func (s *suite) switchesOthers(ctx context.Context, name, of, ref string) error {
	o := s.client(of)
	if o.session == "" {
		return steps.NotTestedf("client %s has no session", of)
	}
	id, err := s.agentID(ref)
	if err != nil {
		return err
	}
	_, err = s.sendSwitch(ctx, s.client(name), fields{"agentId": id, "sessionId": o.session}, act{named: true})
	return err
}

// announcedOrRefused judges a switch that names another client's session: it is announced on that session's connection,
// whoever asked, or it is refused to whoever asked and nothing changes. Whether the asker hears of it as well is open.
func (s *suite) announcedOrRefused(ctx context.Context, owner, asker string) error {
	o, c := s.client(owner), s.client(asker)
	mark, id, before := c.act.mark, fmt.Sprint(c.act.agent), o.agent
	rec, miss := s.awaitOn(ctx, mark, func(r *transcript.Record) bool {
		return r.Conn == o.name && s.foreignAnswer(o)(r) || r.Conn == c.name && (s.foreignAnswer(c)(r) || s.refusedOverHTTP(mark)(r) != "")
	})
	clauses := []string{"AS-095"}
	expected := fmt.Sprintf("agent_switched to %q on the connection of client %s, whose session it is, or client %s refused", id, owner, asker)
	switch {
	case miss != nil:
		return s.Need(steps.Check{Clauses: clauses, Expected: expected, Observed: miss.Reason, At: miss.At})
	case rec.Conn == o.name && rec.Event.Type == vocab.ErrorEvent:
		return s.Need(steps.Check{Clauses: clauses, Expected: expected, At: rec.N,
			Observed: fmt.Sprintf("client %s, who asked for nothing, was told %s", owner, steps.Seen(rec))})
	case isEvent(vocab.AgentSwitchedEvent)(&rec):
		return s.announcedTo(ctx, o, rec, mark, id, expected)
	}
	s.Note("a switch of another connection's session is refused: %s", steps.Seen(rec))
	if err := s.hearsNone(ctx, owner, vocab.AgentSwitchedEvent, clauses, isEvent(vocab.AgentSwitchedEvent)); err != nil {
		return err
	}
	return s.stillFrom(ctx, o, `"`+s.swapped(before)+`"`, `"general"`, clauses)
}

// announcedTo judges that a switch was told on the connection of its session; no clause puts that in order with what the
// client hears who asked.
func (s *suite) announcedTo(ctx context.Context, o *client, first transcript.Record, mark int, id, expected string) error {
	if first.Conn != o.name {
		if err := s.fence(ctx, o); err != nil {
			return err
		}
	}
	for _, r := range s.Between(o.name, mark, 0) {
		current, _ := wjson.Lookup(eventData(r), "/currentAgentId")
		if isEvent(vocab.AgentSwitchedEvent)(&r) && current == any(id) {
			s.confirmed(o, id)
			return s.stillFrom(ctx, o, `"`+s.swapped(id)+`"`, `"general"`, []string{"AS-095"})
		}
	}
	return s.Need(steps.Check{Clauses: []string{"AS-095"}, Expected: expected, At: first.N,
		Observed: fmt.Sprintf("nothing of the kind there, and on the connection of client %s: %s", first.Conn, steps.Seen(first))})
}

func eventData(r transcript.Record) any {
	if r.Event == nil {
		return nil
	}
	return r.Event.Data
}
