package sessionchat

import (
	"context"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/sessionchat/model"
)

func (s *suite) registerSessions(sc *godog.ScenarioContext) {
	steps.Step(sc, `^"(\w+)" is a new session$`, s.isNew)
	steps.Step(sc, `^"(\w+)" is the same session as before$`, s.isSame)
	steps.Step(sc, `^"(\w+)" and "(\w+)" are different sessions$`, s.areDifferent)
	steps.Step(sc, `^every message of "(\w+)" has its session_id$`, s.alwaysHad)
	steps.Step(sc, `^the model was sent the earlier turns of "(\w+)"$`, s.earlierTurnsSent)
	steps.Step(sc, `^the model was sent no turn of another session for "(\w+)"$`, s.noForeignTurns)
	steps.Step(sc, `^the model was sent the text of "(\w+)" unchanged$`, s.textSent)
	steps.Step(sc, `^the model of "(\w+)" (was|was not) "([^"]+)"$`, s.modelNamed)
	steps.Step(sc, `^the model that was asked for "(\w+)" is recorded$`, s.modelNoted)
	steps.Step(sc, `^the target uses the model named in options$`, s.usesModelOption)
	steps.Step(sc, `^"(\w+)" is idle for longer than the target keeps idle sessions$`, s.rests)
}

// needModel returns why a step that needs a model is not tested.
func (s *suite) needModel() error {
	if s.Env.Brain == nil {
		return steps.NotTestedf(noModel)
	}
	return nil
}

// told ensures that a session's last turn has ended and its id is known.
func (s *suite) told(ctx context.Context, ss *session) error {
	t, err := s.lastTurn(ss.name)
	if err != nil || s.model().Known(ss.agentID) != "" {
		return err
	}
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", ss.name, miss.Reason)
	}
	if s.model().Known(ss.agentID) != "" {
		return nil
	}
	if err := s.Judge(s.found(model.IDs, ss)...); err != nil {
		return err
	}
	return steps.NotTestedf("no message of %s has a session_id (SC-039, SC-042)", ss.name)
}

// isNew reports whether a chat has created a session: it has its own id, and the model got nothing from before.
func (s *suite) isNew(ctx context.Context, name string) error {
	ss := s.session(name)
	if err := s.told(ctx, ss); err != nil {
		return err
	}
	if ids := s.found(model.IDs, ss); hasFailed(ids) {
		return s.Judge(ids...)
	}
	clauses := []string{"SC-001", "SC-002", "SC-003", "SC-009", "SC-017", "SC-046", "SC-047", "SC-055", "SC-057"}
	if s.Env.Brain == nil {
		s.Note("the messages to the model are unknown: there is no model stub")
		return s.Judge(verdict.Finding{Clauses: clauses, OK: true, Judge: verdict.ByModel})
	}
	if len(s.calls(ss.turns[0])) == 0 {
		return steps.NotTestedf("the model was not asked for the first chat of %s", name)
	}
	return s.noStrangers(ss, ss.turns[:1], "a model request that contains only the first turn of "+ss.agentID, clauses)
}

// isSame reports whether a session has kept its id. If it may have been resumed meanwhile, a separate clause applies, a
// SHOULD (SC-016a).
func (s *suite) isSame(ctx context.Context, name string) error {
	ss := s.session(name)
	if len(ss.turns) < 2 {
		return steps.NotTestedf("%s has no earlier turn", name)
	}
	if miss := s.awaitEnd(ctx, ss.turn()); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", name, miss.Reason)
	}
	ids := s.found(model.IDs, ss)
	if err := s.led(ss, ss.turn().client); err != nil && hasFailed(ids) {
		return err
	}
	return s.Judge(ids...)
}

// areDifferent reports whether two sessions have different ids.
func (s *suite) areDifferent(ctx context.Context, one, other string) error {
	a, b := s.session(one), s.session(other)
	for _, ss := range []*session{a, b} {
		if err := s.told(ctx, ss); err != nil {
			return err
		}
	}
	return s.Judge(s.found(model.IDs, a, b)...)
}

// alwaysHad judges the strict reading of SC-056: every message of a session has its id, including the first ones.
func (s *suite) alwaysHad(name string) error {
	if _, err := s.lastTurn(name); err != nil {
		return err
	}
	always := s.model().AlwaysKnown(s.session(name).agentID)
	if !always.OK && !s.Env.Strict {
		s.Note("a message without session_id before it was known: %s", always.Observed)
		return nil
	}
	return s.Judge(always)
}
