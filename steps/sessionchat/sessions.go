package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/features/verdict"
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
func (s *suite) told(ctx context.Context, ss *session, clauses ...string) error {
	t, err := s.lastTurn(ss.name)
	if err != nil {
		return err
	}
	if ss.id != "" {
		return nil
	}
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", ss.name, miss.Reason)
	}
	if ss.id != "" {
		return s.pass(append(clauses, "SC-042"), t.end.N)
	}
	return s.unnamed(clauses, verdict.Finding{At: t.end.N, Observed: "none",
		Expected: "a session_id, a string, in the messages of " + ss.name + " by the end of its first turn"})
}

// unnamed ends a scenario with a session that has no id by the end of a turn, which breaks SC-042. Clauses about what
// the id shows are not tested beside that.
func (s *suite) unnamed(clauses []string, what verdict.Finding) error {
	own, rest := what, what
	own.Clauses, rest.Clauses = []string{"SC-042"}, clauses
	if err := s.Judge(own); err != nil {
		return err
	}
	return s.ExplainedBy(model.Sessions, own, rest)
}

// isNew judges that a chat has created a session: it has its own id, and the model got nothing from before.
func (s *suite) isNew(ctx context.Context, name string) error {
	ss := s.session(name)
	clauses := []string{"SC-001", "SC-002", "SC-003", "SC-009", "SC-017", "SC-046", "SC-047", "SC-055", "SC-057"}
	if err := s.told(ctx, ss, clauses...); err != nil {
		return err
	}
	for _, other := range s.sessions {
		if other != ss && other.id == ss.id {
			return s.breach(clauses, ss.turn().end.N, "a session_id of its own for "+ss.agentID,
				fmt.Sprintf("%q, which %s also has", ss.id, other.agentID))
		}
	}
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

// isSame judges that a session has kept its id. If it may have been resumed meanwhile, a separate clause applies, a
// SHOULD (SC-016a).
func (s *suite) isSame(ctx context.Context, name string) error {
	ss := s.session(name)
	if len(ss.turns) < 2 {
		return steps.NotTestedf("%s has no earlier turn", name)
	}
	t := ss.turn()
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", name, miss.Reason)
	}
	first, now := s.idIn(ss.turns[0]), s.idIn(t)
	clauses := []string{"SC-002", "SC-003", "SC-005", "SC-006", "SC-028", "SC-031", "SC-037", "SC-041", "SC-050",
		"SC-057"}
	if first == "" {
		return s.unnamed(append(clauses, "SC-016a"), verdict.Finding{At: ss.turns[0].end.N,
			Expected: "a session_id, a string, in the messages of " + ss.agentID + " by the end of a turn",
			Observed: "none in its first turn"})
	}
	if err := s.led(ss, t.client); err != nil && first != now {
		return err
	}
	life := model.Lives(s.T.All())
	same := life(ss.agentID, ss.turns[0].mark) == life(ss.agentID, t.end.N)
	check := verdict.Finding{Clauses: append(clauses, "SC-042"), OK: first == now, At: t.end.N,
		Expected: fmt.Sprintf("session_id %q, as before", first), Observed: fmt.Sprintf("session_id %q", now)}
	if !same {
		check.Clauses = []string{"SC-016a"}
	}
	fault := check
	switch {
	case check.OK:
	case now == "" && same: // an id that is known becomes unknown again
		fault.Clauses, fault.Observed = []string{"SC-056"}, "no session_id in a later turn"
		return s.ExplainedBy(model.Sessions, fault, check)
	case s.renamed(ss.turns[0]) || s.renamed(t): // it means nothing
		fault.Clauses, fault.Expected = []string{"SC-042"}, "one session_id in the messages of a turn"
		own := check
		own.Clauses = []string{"SC-042"}
		if err := s.Judge(own); err != nil {
			return err
		}
		check.Clauses = slices.DeleteFunc(slices.Clone(check.Clauses), func(id string) bool { return id == "SC-042" })
		return s.ExplainedBy(model.Sessions, fault, check)
	}
	return s.Judge(check)
}

// renamed reports whether the messages of a turn bear several session_ids.
func (s *suite) renamed(t *turn) bool {
	ids := map[string]bool{}
	for _, r := range s.Between(t.client, t.mark, t.end.N+1) {
		if id := text(&r, vocab.SessionID); id != "" && ofSession(t.of)(&r) {
			ids[id] = true
		}
	}
	return len(ids) > 1
}

// idIn returns the session_id in the messages of a turn; the last if there are several.
func (s *suite) idIn(t *turn) string {
	id, end := "", 0
	if t.over {
		end = t.end.N + 1
	}
	for _, r := range s.Between(t.client, t.mark, end) {
		if got := text(&r, vocab.SessionID); got != "" && ofSession(t.of)(&r) {
			id = got
		}
	}
	return id
}

func (s *suite) areDifferent(ctx context.Context, one, other string) error {
	a, b := s.session(one), s.session(other)
	for _, ss := range []*session{a, b} {
		if err := s.told(ctx, ss, "SC-027"); err != nil {
			return err
		}
	}
	clauses, at := []string{"SC-004", "SC-027", "SC-057", "SC-060"}, b.turn().end.N
	if a.id != b.id {
		return s.pass(clauses, at)
	}
	return s.breach(clauses, at, fmt.Sprintf("different session_ids for %s and %s", a.agentID, b.agentID),
		fmt.Sprintf("%q for both", a.id))
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
