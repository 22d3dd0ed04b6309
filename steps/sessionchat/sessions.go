package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
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
	if err != nil || ss.id != "" {
		return err
	}
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", ss.name, miss.Reason)
	}
	if ss.id != "" {
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
		return s.pass(clauses, 0)
	}
	calls := s.calls(ss.turns[0])
	if len(calls) == 0 {
		return steps.NotTestedf("the model was not asked for the first chat of %s", name)
	}
	for _, call := range calls {
		if foreign := strangers(call, ss.turns[:1]); len(foreign) > 0 {
			s.straysIntoModel(ss, foreign)
			return s.breach(clauses, ss.turns[0].mark, "a model request that contains only the first turn of "+ss.agentID,
				fmt.Sprintf("one with the turn %s; the user's texts in it: %s", foreign[0], quoted(userTexts(call))))
		}
	}
	return s.pass(clauses, ss.turns[0].mark)
}

// strangers returns the nonces of directives in a request that belong to none of these turns, but to another session
// of this or any other scenario.
func strangers(r llm.Request, own []*turn) []string {
	mine := map[string]bool{}
	for _, t := range own {
		mine[t.nonce] = true
	}
	var out []string
	for _, m := range append([]llm.Message{{Text: r.System}}, r.Messages...) {
		for _, d := range llm.Directives(m.Text) {
			if !mine[d.Nonce] {
				out = append(out, d.Nonce)
			}
		}
	}
	return out
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
	ss, clauses := s.session(name), []string{"SC-056"}
	for _, r := range s.Between(ss.turns[0].client, ss.turns[0].mark, 0) {
		if !ofSession(ss, ofTurn...)(&r) || text(&r, vocab.SessionID) != "" {
			continue
		}
		if !s.Env.Strict {
			s.Note("a message without session_id before it was known: %s", steps.Seen(r))
			return nil
		}
		return s.breach(clauses, r.N, "a session_id in every message of the session, from the first one", steps.Seen(r))
	}
	return s.pass(clauses, 0)
}

// earlier returns the nonces of the session's turns before the last that were fully answered.
func (ss *session) earlier() []string {
	var out []string
	for _, t := range ss.turns[:max(len(ss.turns)-1, 0)] {
		if t.over && !t.cut && !t.failed && !t.extra && t.nonce != "" {
			out = append(out, t.nonce)
		}
	}
	return out
}

// holds reports whether a nonce occurs in the conversation of a request.
func holds(r llm.Request, nonce string) bool {
	mentioned := func(m llm.Message) bool { return mentions(m.Text, nonce) }
	return mentions(r.System, nonce) || slices.ContainsFunc(r.Messages, mentioned)
}

// mentions reports whether a text mentions a nonce.
func mentions(said, nonce string) bool {
	_, times := find(said, nonce)
	return times > 0
}

// find returns the position where a text first mentions a nonce, and how often it does, not counting prefixes of
// longer ones.
func find(said, nonce string) (first, times int) {
	first = -1
	for at := 0; nonce != ""; {
		i := strings.Index(said[at:], nonce)
		if i < 0 {
			break
		}
		end := at + i + len(nonce)
		if end == len(said) || said[end] < '0' || said[end] > '9' {
			if times++; times == 1 {
				first = at + i
			}
		}
		at = end
	}
	return first, times
}

// noForeignTurns judges that sessions do not share their context (SC-027).
func (s *suite) noForeignTurns(name string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	t, err := s.askedTurn(name)
	if err != nil {
		return err
	}
	ss := t.of
	clauses := []string{"SC-004", "SC-009", "SC-017", "SC-027", "SC-057", "SC-060"}
	for _, mine := range ss.turns {
		for _, call := range s.calls(mine) {
			if foreign := strangers(call, ss.turns); len(foreign) > 0 {
				s.straysIntoModel(ss, foreign)
				return s.breach(clauses, mine.mark, "no turn of another session in a model request of "+ss.agentID,
					fmt.Sprintf("the turn %s; the user's texts in it: %s", foreign[0], quoted(userTexts(call))))
			}
		}
	}
	return s.pass(clauses, t.mark)
}
