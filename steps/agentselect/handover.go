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
	"parley/steps/agentselect/model"
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
	rec, miss := s.awaitOn(ctx, keeper.act.mark, func(r *transcript.Record) bool {
		return s.answersOn(keeper)(r) || r.Conn == other.name && s.isNew(vocab.AgentSwitchedEvent)(r) ||
			r.Conn == keeper.name && r.Kind == transcript.Closed
	})
	if miss == nil && rec.Conn == other.name {
		return cmp.Or(s.report(rec.N, nil), steps.NotTestedf("the switch of client %s was announced to client %s",
			keeper.name, other.name))
	}
	if err := s.switchedTo(ctx, keeper, "", analyzer); err != nil {
		return err
	}
	if s.ended(other) {
		s.T.Remark(other.name, model.Fenced)
		return s.report(s.T.Len(), nil)
	}
	if err := s.findsNoSession(ctx, other, keeper); err != nil {
		return err
	}
	if err := s.receivesNone(ctx, keeper); err != nil {
		return err
	}
	return s.stillFrom(ctx, keeper, analyzer, s.swapped(vocab.Debugger))
}

// endedFor returns the error of a step on a connection that the target has ended because another client loaded its
// session, which this client has loaded back meanwhile; nil otherwise.
func (s *suite) endedFor(c *client) error {
	if c.try == nil || c.try.of != c || !s.ended(c) {
		return nil
	}
	return steps.NotTestedf("the target ended the connection of client %s, whose session another client had loaded",
		c.name)
}

// findsNoSession reports whether a client has no session: its switch without sessionId is refused with
// session_not_found, and the session's owner receives nothing about it; or its connection ends, and has none either.
func (s *suite) findsNoSession(ctx context.Context, c, keeper *client) error {
	mark, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: s.swapped(vocab.General)}, act{stranger: true})
	if s.ended(c) {
		return nil
	}
	if err != nil {
		return err
	}
	refused := ""
	rec, miss := s.awaitOn(ctx, mark, func(r *transcript.Record) bool {
		if r.Conn == c.name {
			refused = s.refusedOverHTTP(ctx, c, mark)(r)
		}
		return s.answersOn(keeper)(r) || s.answersOn(c)(r) || r.Conn == c.name && r.Kind == transcript.Closed || refused != ""
	})
	switch {
	case s.ended(c): // before its HTTP answer came, or behind it
		return s.report(s.T.Len(), nil)
	case refused != "":
		miss = &verdict.Miss{Reason: refused, At: rec.N}
	}
	if miss != nil {
		return s.waited(c, model.AnswerTo(mark), rec, miss)
	}
	return cmp.Or(s.report(rec.N, nil), s.isAsTold(rec, rec.Conn == c.name && codeOf(rec) == vocab.SessionNotFound,
		"session_not_found"))
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

// awaitOn waits for a record on any connection. Once an error without a code has come, which may be the answer, it
// waits for a better one only.
func (s *suite) awaitOn(ctx context.Context, mark int, is match) (transcript.Record, *verdict.Miss) {
	within := s.Limit(s.Env.Event())
	limited, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	worse := false
	rec, err := s.T.Await(limited, mark, func(r *transcript.Record) bool {
		if is(r) {
			return true
		}
		c := s.clients[r.Conn]
		worse = c != nil && s.isNew(vocab.ErrorEvent)(r) && !hasCode(r) && !c.isFence(r)
		return worse
	})
	if err == nil && worse {
		within = min(within, s.BetterWithin(s.Env.Event()))
		limited, cancel := deadline.WithLimit(limited, within)
		defer cancel()
		rec, err = s.T.Await(limited, rec.N, is)
	}
	switch {
	case err == nil:
		return rec, nil
	case ctx.Err() != nil:
		s.CutOff()
		return rec, steps.NotOwed("the scenario was cut off: %v", context.Cause(ctx))
	}
	return rec, &verdict.Miss{Reason: fmt.Sprintf("no answer on any connection within %v", within), Late: true}
}

// answeredToEither waits for the answer to a switch by which a client has named the session of another one: which of
// the two is told is open.
func (s *suite) answeredToEither(ctx context.Context, owner, asker *client) (transcript.Record, *verdict.Miss) {
	mark := asker.act.mark
	return s.awaitOn(ctx, mark, func(r *transcript.Record) bool {
		return s.answersOn(owner)(r) || s.answersOn(asker)(r) ||
			r.Conn == asker.name && s.refusedOverHTTP(ctx, asker, mark)(r) != ""
	})
}

// stillFrom reports whether a session has kept its agent: the next switch says that it comes from there.
func (s *suite) stillFrom(ctx context.Context, c *client, from, to string) error {
	if err := s.switches(ctx, c, agentID{to}); err != nil {
		return err
	}
	return s.switchedTo(ctx, c, from, to)
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
	if miss == nil {
		other := c
		if rec.Conn == c.name {
			other = old
		}
		s.pace(ctx, other, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
		s.T.Remark(other.name, model.Fenced)
		rec.N = s.T.Len()
	}
	return s.waited(old, model.AnswerTo(mark), rec, miss)
}

// announcedOrRefused reports what becomes of a switch that names another client's session: it is announced on that
// session's connection, or the asker is refused and nothing changes. The announcement may also reach the asker; no
// clause orders the two.
func (s *suite) announcedOrRefused(ctx context.Context, owner, asker *client) error {
	if asker.act.kind != vocab.SwitchAgentType {
		return steps.NotTestedf("client %s has sent no switch", asker.name)
	}
	mark, id := asker.act.mark, owner.agent
	rec, miss := s.answeredToEither(ctx, owner, asker)
	if miss != nil {
		return s.waited(asker, model.AnswerTo(mark), rec, miss)
	}
	if isSwitch(&rec) {
		id = fmt.Sprint(asker.act.agent)
		s.letRepeat(ctx, owner, rec)
	} else {
		s.Note("a switch of another connection's session is refused: %s", steps.Seen(rec))
	}
	if err := s.receivesNone(ctx, owner); err != nil {
		return err
	}
	return s.stillFrom(ctx, owner, id, s.swapped(vocab.General))
}
