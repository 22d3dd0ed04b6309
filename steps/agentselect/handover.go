package agentselect

import (
	"cmp"
	"context"
	"fmt"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/transport/transcript"
)

func (r registry) handover() {
	r.step(`^the session of client (\w+) answers on one connection only$`, r.answersOnce)
	r.step(`^the switch is announced to client (\w+), or client (\w+) is refused and nothing changes$`,
		r.announcedOrRefused)
}

// answersOnce judges that a session has a single connection after another client has tried to load it, and its owner
// perhaps to load it back (AS-094): each time, either the binding has moved and the old connection is unbound and
// receives nothing, or nothing has changed.
func (s *suite) answersOnce(ctx context.Context, old *client) error {
	var c *client
	for _, o := range s.clients {
		if o != old && o.try != nil && o.try.of == old {
			c = o
		}
	}
	if c == nil {
		return steps.NotTestedf("no client has tried to load the session of client %s", old.name)
	}
	if !s.answered(c) { // it may have moved nevertheless
		return steps.NotTestedf("loading the session of client %s got %s", old.name, c.try.refused)
	}
	moved := c.try.refused == ""
	switch {
	case moved && binding.Of(s.Env.Profile).Correlation.Single: // a switch names its session on any connection
		s.Note("loading a session of another connection succeeds; with correlation: single it cannot be told whether " +
			"that moves it")
	case moved:
		s.Note("loading a session of another connection moves it")
	default:
		s.Note("loading a session of another connection is refused: %s", c.try.refused)
	}
	keeper, other := old, c
	if back := old.try; back != nil && back.of == old {
		if !s.answered(old) {
			return steps.NotTestedf("loading the session of client %s back got %s", old.name, back.refused)
		}
		if moved && back.refused != "" {
			s.Note("loading the session back is refused: %s", back.refused)
		}
		moved = moved && back.refused != ""
	}
	switch {
	case binding.Of(s.Env.Profile).Correlation.Single:
		return s.heardOnce(ctx, c.try.session, old, c)
	case moved:
		keeper, other = c, old
	}
	other.session = ""
	return s.keptBy(ctx, keeper, other)
}

// keptBy judges that a session belongs only to keeper: the other client does not hear keeper's switches, and a switch
// by the other client that names no session finds none and changes nothing. That switch is sent before any fence: its
// answer acts as a fence for earlier messages, and the records show whether it acted on the session or was answered
// to the wrong client.
func (s *suite) keptBy(ctx context.Context, keeper, other *client) error {
	analyzer := s.swapped(vocab.RequirementAnalyzer)
	if err := s.switches(ctx, keeper, agentID{analyzer}); err != nil {
		return cmp.Or(s.endedFor(keeper), err)
	}
	began, both := keeper.act.mark, []string{"AS-094", "AS-095"}
	rec, miss := s.awaitOn(ctx, began, func(r *transcript.Record) bool {
		return s.answersOn(keeper)(r) || r.Conn == other.name && s.isNew(vocab.AgentSwitchedEvent)(r) ||
			r.Conn == keeper.name && r.Kind == transcript.Closed
	})
	if gone := s.endedFor(keeper); gone != nil {
		return gone
	}
	if miss == nil && rec.Conn == other.name {
		clauses := both
		if keeper.loaded {
			clauses = append(clauses, "AS-101")
		}
		return s.Need(receivedBy(other.name, rec, fmt.Sprintf(
			"agent_switched only on the connection of client %s, which owns the session", keeper.name), clauses...))
	}
	if err := s.switchedTo(ctx, keeper, "", analyzer); err != nil {
		return err
	}
	if s.ended(other) {
		return s.passed(both...)
	}
	answer, err := s.findsNoSession(ctx, other, keeper)
	if err != nil {
		return err
	}
	switches := unwanted{what: vocab.AgentSwitchedEvent, match: isSwitch, clauses: []string{"AS-094"}}
	if err := s.judgeAbsence(other, began, answer-1, switches); err != nil {
		return err
	}
	answers := unwanted{what: "answer to the switch of client " + other.name, match: s.foreignAnswer(keeper),
		clauses: both}
	if err := s.receivesNone(ctx, keeper, answers); err != nil {
		return err
	}
	return s.stillFrom(ctx, keeper, analyzer, s.swapped(vocab.Debugger), both)
}

// endedFor returns the error of a step on a connection that the target has ended because another client loaded its
// session, which this client has loaded back meanwhile; nil otherwise.
func (s *suite) endedFor(c *client) error {
	if !s.ended(c) || c.try == nil || c.try.of != c {
		return nil
	}
	return steps.NotTestedf("the target ended the connection of client %s, whose session another client had loaded",
		c.name)
}

// receivedBy returns a failed check for an event that the wrong client received.
func receivedBy(name string, rec transcript.Record, expected string, clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, Expected: expected, At: rec.N,
		Observed: fmt.Sprintf("client %s received %s", name, steps.Seen(rec))}
}

// findsNoSession judges that a client has no session: its switch without sessionId is refused with session_not_found,
// and the session's owner receives nothing about it; or its connection ends, and has none either. It returns the number
// of the answer, or of the end.
func (s *suite) findsNoSession(ctx context.Context, c, keeper *client) (int, error) {
	mark, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: s.swapped(vocab.General)}, act{stranger: true})
	if err != nil {
		if s.ended(c) {
			return s.endedAt(c), nil
		}
		return 0, err
	}
	rec, miss := s.awaitOn(ctx, mark, func(r *transcript.Record) bool {
		return s.answersOn(keeper)(r) || s.answersOn(c)(r) || r.Conn == c.name && r.Kind == transcript.Closed
	})
	expected := fmt.Sprintf("client %s, whose connection has no session, refused with session_not_found", c.name)
	switch {
	case miss != nil:
		return 0, s.Need(miss.Check(expected, "AS-094"))
	case rec.Kind == transcript.Closed:
		return rec.N, nil
	case rec.Conn == keeper.name:
		return rec.N, s.Need(receivedBy(keeper.name+", which sent no request,", rec, expected, "AS-094", "AS-095"))
	}
	return rec.N, s.Need(steps.CheckOf(rec, codeOf(rec) == vocab.SessionNotFound, expected, "AS-094"))
}

// foreignAnswer matches an answer to a switch that is not the answer to a fence of this client.
func (s *suite) foreignAnswer(c *client) match {
	return func(r *transcript.Record) bool {
		return s.isNew(vocab.AgentSwitchedEvent)(r) || s.foreignError(c)(r)
	}
}

// answersOn matches such answers on the client's connection.
func (s *suite) answersOn(c *client) match {
	return func(r *transcript.Record) bool { return r.Conn == c.name && s.foreignAnswer(c)(r) }
}

// awaitOn waits for a record on any connection.
func (s *suite) awaitOn(ctx context.Context, mark int, is match) (transcript.Record, *verdict.Miss) {
	within := s.Limit(s.Env.Event())
	limited, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	rec, err := s.T.Await(limited, mark, is)
	switch {
	case err == nil:
		return rec, nil
	case ctx.Err() != nil:
		s.CutOff()
		return rec, steps.NotOwed("the scenario was cut off: %v", context.Cause(ctx))
	}
	return rec, &verdict.Miss{Reason: fmt.Sprintf("no answer on any connection within %v", within), Late: true}
}

// stillFrom judges that a session has kept its agent: the next switch says that it comes from there.
func (s *suite) stillFrom(ctx context.Context, c *client, from, to string, clauses []string) error {
	if _, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: to}, act{}); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	expected := fmt.Sprintf("client %s switched from %q", c.name, from)
	switch {
	case miss != nil && s.endedFor(c) != nil:
		return s.endedFor(c)
	case miss != nil:
		return s.Need(miss.Check(expected, clauses...))
	case !isSwitch(&rec):
		return s.Judge(steps.CheckOf(rec, false, expected, clauses...))
	}
	if err := s.movedByRefusal(ctx, c, rec, from, to); err != nil {
		return err
	}
	check := steps.CheckOf(rec, field(rec, vocab.PreviousAgentID) == any(from), expected, clauses...)
	if !check.OK && s.previousAlone(rec) {
		check.Expected = "previousAgentId " + quoted(from)
		return s.narrow(check, "AS-043", "AS-006")
	}
	return s.Judge(check)
}

// heardOnce judges the same for a target that cannot distinguish connections: a switch that names the session is
// announced on exactly one of the two connections. No fence works there, so a quiet window is used instead.
func (s *suite) heardOnce(ctx context.Context, session string, old, c *client) error {
	f := fields{vocab.AgentID: s.swapped(vocab.RequirementAnalyzer), vocab.SessionID: session}
	mark, err := s.sendSwitch(ctx, old, f, act{named: true})
	if err != nil {
		return err
	}
	rec, miss := s.awaitOn(ctx, mark, s.isNew(vocab.AgentSwitchedEvent))
	if miss != nil {
		expected := fmt.Sprintf("agent_switched on the connection of client %s or of client %s", old.name, c.name)
		return s.Need(miss.Check(expected, "AS-094"))
	}
	other := c
	if rec.Conn == c.name {
		other = old
	}
	if c.try.refused != "" && other == old {
		expected := "agent_switched on the connection of client " + old.name + ", because the load was refused"
		return s.Need(steps.CheckOf(rec, false, expected, "AS-094"))
	}
	s.pace(ctx, other, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
	switches := unwanted{what: vocab.AgentSwitchedEvent, match: isSwitch, clauses: []string{"AS-094"}}
	return s.judgeAbsence(other, mark, s.T.Len(), switches)
}

// endsAlone judges that an answer of a client's user ended that client's turn, and not another's, whose request is
// still pending.
func (s *suite) endsAlone(ctx context.Context, c, other *client) error {
	if c.turn == nil || other.turn == nil {
		return steps.NotTestedf("clients %s and %s have not both chatted", c.name, other.name)
	}
	rec, miss := s.awaitOn(ctx, s.mark, func(r *transcript.Record) bool {
		return isComplete(r) && (r.Conn == c.name || r.Conn == other.name)
	})
	if miss != nil {
		return steps.NotTestedf("the turn of client %s did not end: %s", c.name, miss.Reason)
	}
	return s.Need(steps.CheckOf(rec, rec.Conn == c.name, fmt.Sprintf(
		"the turn of client %s, whose user has answered, to end, and that of client %s not to", c.name, other.name),
		"AS-110", "AS-112"))
}

// announcedOrRefused judges a switch that names another client's session: it is announced on that session's
// connection, or the asker is refused and nothing changes. The announcement may also reach the asker.
func (s *suite) announcedOrRefused(ctx context.Context, owner, asker *client) error {
	if asker.act.kind != vocab.SwitchAgentType {
		return steps.NotTestedf("client %s has sent no switch", asker.name)
	}
	mark, id, before := asker.act.mark, fmt.Sprint(asker.act.agent), owner.agent
	rec, miss := s.awaitOn(ctx, mark, func(r *transcript.Record) bool {
		return s.answersOn(owner)(r) || s.answersOn(asker)(r) || r.Conn == asker.name && s.refusedOverHTTP(mark)(r) != ""
	})
	expected := fmt.Sprintf("agent_switched to %q on the connection of client %s, which owns the session, "+
		"or client %s refused", id, owner.name, asker.name)
	switch {
	case miss != nil:
		return s.Need(miss.Check(expected, "AS-095"))
	case rec.Conn == owner.name && isError(&rec):
		return s.Need(receivedBy(owner.name+", which sent no request,", rec, expected, "AS-095"))
	case isSwitch(&rec):
		return s.announcedTo(ctx, owner, rec, mark, id, expected)
	}
	s.Note("a switch of another connection's session is refused: %s", steps.Seen(rec))
	switches := unwanted{what: vocab.AgentSwitchedEvent, match: isSwitch, clauses: []string{"AS-095"}}
	if err := s.receivesNone(ctx, owner, switches); err != nil {
		return err
	}
	return s.stillFrom(ctx, owner, before, s.swapped(vocab.General), []string{"AS-095"})
}

// announcedTo judges that a switch was announced on its session's connection. No clause orders this relative to the
// messages to the asker.
func (s *suite) announcedTo(
	ctx context.Context, o *client, first transcript.Record, mark int, id, expected string,
) error {
	if first.Conn != o.name {
		if err := s.fence(ctx, o); err != nil {
			return err
		}
	}
	for _, r := range s.Between(o.name, mark, 0) {
		if isSwitch(&r) && field(r, vocab.CurrentAgentID) == any(id) {
			s.confirmed(o, id)
			s.letRepeat(ctx, o, r)
			return s.stillFrom(ctx, o, id, s.swapped(vocab.General), []string{"AS-095"})
		}
	}
	return s.Need(verdict.Finding{Clauses: []string{"AS-095"}, Expected: expected, At: first.N,
		Observed: fmt.Sprintf("no agent_switched there, and client %s received %s", first.Conn, steps.Seen(first))})
}
