package sessionchat

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

// session is a conversation that a scenario knows by name: the agent_id that the harness uses, and what is known
// about it.
type session struct {
	name    string
	agentID string
	id      string // last received session_id; "" before the first
	asker   string // last client that acted on it
	turns   []*turn
}

// turn is one chat and its result.
type turn struct {
	of     *session
	client string
	nonce  string // in the text and in the model's answer
	text   any
	echo   bool // the model answers with the same text
	pieces int  // pieces of the answer, if the scenario asks for a number
	mark   int  // record of the chat
	over   bool
	end    transcript.Record // its result
	held   bool              // its model is waiting
	cut    bool              // interrupted, or its connection was lost
	cutAt  int               // record of its first interrupt
	spared bool              // another session was interrupted while it was held
	failed bool              // its model fails
	kind   string            // kind of the wait for its end (Wait.Kind); "": set by the step
	extra  bool              // sent while another turn of the session ran, so it may stay unanswered
	before int               // the model's requests for its nonce before it was sent: an earlier chat had the same text
}

// session returns the session with a name in the scenario; its agent_id is unique to the scenario.
func (s *suite) session(name string) *session {
	ss, ok := s.sessions[name]
	if !ok {
		ss = &session{name: name, agentID: name + "-" + s.Nonce}
		s.sessions[name] = ss
	}
	return ss
}

func (ss *session) turn() *turn {
	if len(ss.turns) == 0 {
		return nil
	}
	return ss.turns[len(ss.turns)-1]
}

func (s *suite) registerChatting(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) chats with "(\w+)"( with empty options| with unknown options)?$`, s.chats)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" and the model fails$`,
		func(ctx context.Context, client, name string) error {
			return s.chat(ctx, client, name, &turn{failed: true}, "[[fail %s 500]]")
		})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" and the model fails in a turn that is held$`,
		func(ctx context.Context, client, name string) error {
			return s.chat(ctx, client, name, &turn{failed: true}, "[[hold %[1]s]] [[fail %[1]s 500]]")
		})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" in a turn that is held$`, s.chatsHeld)
	steps.Step(sc, `^client (\w+) starts a turn of "(\w+)" that is held$`, s.startsHeld)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" in a turn of (\d+) pieces$`, s.chatsInPieces)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" in a turn of (\d+) pieces that is held$`, s.chatsInPiecesHeld)
	steps.Step(sc, `^client (\w+) has chatted with "(\w+)"$`, s.hasChatted)
	steps.Step(sc, `^client (\w+) says 你好 to "(\w+)"$`, s.saysHello)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with a text of (.+)$`, s.chatsInText)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" under an agent_id of ([^"]+)$`, s.chatsUnder)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" under the agent_id of "(\w+)" with (.+)$`, s.chatsNear)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with the model "([^"]+)"$`, s.chatsWithModel)
	steps.Step(sc, `^client (\w+) is answered by "(\w+)"$`, s.isAnswered)
	steps.Step(sc, `^client (\w+) receives the answer of "(\w+)"$`, s.receivesAnswer)
	steps.Step(sc, `^client (\w+) can chat with "(\w+)" again$`, s.canChatAgain)
	steps.Step(sc, `^whether client (\w+) is answered by "(\w+)" is recorded$`, s.answerOrNot)
	steps.Step(sc, `^the turn of "(\w+)" ends in any way$`, s.endsInAnyWay)
	steps.Step(sc, `^every error of the turn of "(\w+)" has its ids$`,
		s.errorsNamed)
	steps.Step(sc, `^the pieces of "(\w+)" come in order$`, s.inOrder)
	steps.Step(sc, `^client (\w+) receives the text of the model for "(\w+)" unchanged$`, s.receivesUnchanged)
	steps.Step(sc, `^client (\w+) receives a message of the turn of "(\w+)" while it runs$`, s.receivesWhileItRuns)
}

// hello is a text that requires nothing but an answer.
const hello = "[[echo %s]] Hello"

func (s *suite) chats(ctx context.Context, client, name, with string) error {
	extra := fields{}
	switch with {
	case " with empty options":
		extra[vocab.Options] = map[string]any{}
	case " with unknown options":
		extra[vocab.Options] = map[string]any{"x-parley": "option", "nested": map[string]any{"list": []any{1, nil, true}}}
	}
	return s.chat(ctx, client, name, &turn{}, hello, extra)
}

func (s *suite) startsHeld(ctx context.Context, client, name string) error {
	return s.chat(ctx, client, name, &turn{held: true}, "[[hold %s]]")
}

func (s *suite) chatsInPieces(ctx context.Context, client, name string, n int) error {
	return s.chat(ctx, client, name, &turn{pieces: n}, fmt.Sprintf("[[stream %%s %d]]", n))
}

func (s *suite) saysHello(ctx context.Context, client, name string) error {
	return s.say(ctx, s.client(client), &turn{of: s.session(name), text: "你好"}, nil)
}

func (s *suite) chatsWithModel(ctx context.Context, client, name, model string) error {
	return s.chat(ctx, client, name, &turn{}, hello, fields{vocab.Model: model})
}

// chat sends a chat with a directive for the model in its text; format has one %s for the turn's nonce.
func (s *suite) chat(ctx context.Context, client, name string, t *turn, format string, more ...fields) error {
	t.of = s.session(name)
	t.nonce = s.newNonce()
	t.text = fmt.Sprintf(format, t.nonce)
	all := fields{}
	for _, f := range more {
		maps.Copy(all, f)
	}
	return s.say(ctx, s.client(client), t, all)
}

// newNonce makes the nonce of a turn. The end of the scenario releases a model that waits for it.
func (s *suite) newNonce() string {
	nonce := fmt.Sprintf("%s-%d", s.Nonce, s.Serial())
	if brain := s.Env.Brain; brain != nil {
		s.AtEnd(func() { brain.Release(nonce) }) // permanently, because a target may ask for it later
	}
	return nonce
}

func (s *suite) say(ctx context.Context, c *client, t *turn, more fields) error {
	f := fields{vocab.AgentID: t.of.agentID, vocab.Content: t.text}
	maps.Copy(f, more)
	m, err := s.bind.message(vocab.ChatType, f)
	if err != nil {
		return err
	}
	if now := t.of.turn(); t.failed || now != nil && !now.over {
		s.endsTurns(t.of)
	}
	s.deeds(t.of.agentID)
	if err := s.connected(ctx, c); err != nil {
		return err
	}
	if s.led(t.of, c.name) != nil {
		s.resumes("client %s may have been led to another instance", c.name)
	}
	if t.mark, err = s.send(ctx, c, m); err != nil {
		return err
	}
	t.client, t.of.asker = c.name, c.name
	if now := t.of.turn(); now != nil && !now.over && !now.cut {
		t.extra = true
	}
	t.of.turns = append(t.of.turns, t)
	s.mark = t.mark
	return nil
}

// chatsHeld starts a turn that lasts until it is released or interrupted, using a model that waits or a message from
// the profile that takes long to answer.
func (s *suite) chatsHeld(ctx context.Context, client, name string) error {
	if text := s.Env.Profile.Provoke.RunningTurn; text != "" {
		t := &turn{of: s.session(name), text: text, held: true}
		if err := s.say(ctx, s.client(client), t, nil); err != nil {
			return err
		}
		w := steps.Wait{Conn: client, After: t.mark, Within: s.Env.Turn(), Match: ofSession(t.of)}
		if _, miss := s.Await(ctx, w); miss != nil {
			return steps.NotTestedf("running_turn could not be provoked: %s", miss.Reason)
		}
		return nil
	}
	if err := s.needModel(); err != nil {
		return err
	}
	if err := s.chat(ctx, client, name, &turn{held: true}, "[[hold %s]]"); err != nil {
		return err
	}
	return s.modelCalled(ctx, s.session(name).turn())
}

// chatsInPiecesHeld starts a turn that lasts until it is released or interrupted, and whose first words have arrived.
func (s *suite) chatsInPiecesHeld(ctx context.Context, client, name string, n int) error {
	if err := s.needModel(); err != nil {
		return err
	}
	t := &turn{held: true}
	if err := s.chat(ctx, client, name, t, fmt.Sprintf("[[stream %%[1]s %d]] [[hold %%[1]s]]", n)); err != nil {
		return err
	}
	if err := s.modelCalled(ctx, t); err != nil {
		return err
	}
	w := steps.Wait{Conn: client, After: t.mark, Within: s.Env.Event(), Match: s.answers(t)}
	if _, miss := s.Await(ctx, w); miss != nil {
		return steps.NotTestedf("no words of the turn of %s arrive while it runs: %s", name, miss.Reason)
	}
	return nil
}

// hasChatted runs a whole turn as a precondition; other steps judge that it is answered.
func (s *suite) hasChatted(ctx context.Context, client, name string) error {
	if err := s.chat(ctx, client, name, &turn{}, hello); err != nil {
		return err
	}
	t := s.session(name).turn()
	if _, miss := s.awaitAnswer(ctx, t, !t.extra); miss != nil {
		return steps.NotTestedf("client %s was not answered by %s: %s", client, name, miss.Reason)
	}
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", name, miss.Reason)
	}
	return nil
}

// ofSession matches the target's messages about a session, by agent_id.
func ofSession(ss *session, kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		if r.Dir != transcript.Received || r.Event == nil || text(r, vocab.AgentID) != ss.agentID {
			return false
		}
		return len(kinds) == 0 || slices.Contains(kinds, r.Event.Type)
	}
}

// matching adapts a matcher of records for lists of records.
func matching(match func(*transcript.Record) bool) func(transcript.Record) bool {
	return func(r transcript.Record) bool { return match(&r) }
}

// ofTurn lists the message types of a turn.
var ofTurn = []string{vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage}

// answers matches the message that answers a turn. An answer may come in pieces of any size, which may split the
// nonce.
func (s *suite) answers(t *turn) func(*transcript.Record) bool {
	var pieces strings.Builder
	match := ofSession(t.of, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage)
	return func(r *transcript.Record) bool {
		if !match(r) {
			return false
		}
		said := text(r, vocab.Text)
		switch {
		case s.Env.Brain == nil || t.nonce == "":
			return said != "" || r.Event.Type == vocab.ResultMessage
		case r.Event.Type == vocab.StreamMessage:
			pieces.WriteString(said)
			_, after, found := strings.Cut(pieces.String(), t.nonce) // its last digits may still be missing
			return found && after != "" && mentions(t.nonce+after, t.nonce)
		}
		return mentions(said, t.nonce)
	}
}

// learn records the session_id of a message.
func (s *suite) learn(ss *session, r transcript.Record) {
	for _, m := range s.Between(r.Conn, 0, r.N+1) {
		if ofSession(ss)(&m) && m.N > s.mark0(ss) {
			if id := text(&m, vocab.SessionID); id != "" {
				ss.id = id
			}
		}
	}
	s.RecordReach(steps.Given)
}

// mark0 returns the record where the session's last turn begins.
func (s *suite) mark0(ss *session) int {
	if t := ss.turn(); t != nil {
		return t.mark
	}
	return 0
}

// answeredClauses are the clauses that an answered chat satisfies; the tags of the scenario select those it is about.
var answeredClauses = strings.Fields(`
	SC-005 SC-013 SC-021 SC-024 SC-025 SC-026 SC-029 SC-032a SC-036 SC-037 SC-041 SC-052 SC-060`)

// unanswered are the clauses that a missing answer breaks, if the scenario is about them: those above, and those that
// require something with or after an answer.
var unanswered = append(strings.Fields(`
	SC-002 SC-003 SC-004 SC-006 SC-008 SC-009 SC-012 SC-016 SC-017 SC-019 SC-020 SC-023 SC-027 SC-028 SC-030
	SC-031 SC-035 SC-042 SC-046 SC-047 SC-048 SC-049 SC-050 SC-053 SC-054 SC-055
	SC-057 SC-058 SC-059`), answeredClauses...)

// receivesAnswer judges that a chat is answered under its agent_id, whatever the outcome of its turn.
func (s *suite) receivesAnswer(ctx context.Context, client, name string) error {
	t := s.session(name).turn()
	if t == nil || t.client != client {
		return steps.NotTestedf("client %s has not chatted with %s", client, name)
	}
	rec, miss := s.awaitAnswer(ctx, t, !t.extra)
	if miss != nil {
		return s.lacking(s.unmet(t), t.of.expectsAnswer(), s.instead(t, miss), miss)
	}
	return s.pass(answeredClauses, rec.N)
}

func (ss *session) expectsAnswer() string {
	return fmt.Sprintf("an answer to the chat, with agent_id %q", ss.agentID)
}

func (ss *session) expectsEnd() string {
	return fmt.Sprintf("the end of the turn (%s), with agent_id %q", vocab.ResultMessage, ss.agentID)
}

// isAnswered judges that a chat is answered under its agent_id, and that its turn ends.
func (s *suite) isAnswered(ctx context.Context, client, name string) error {
	if err := s.receivesAnswer(ctx, client, name); err != nil {
		return err
	}
	ss := s.session(name)
	t := ss.turn()
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return s.lacking(s.unmet(t), ss.expectsEnd(), s.instead(t, miss), miss)
	}
	if s.cutShort(t) {
		return s.fatal([]string{"SC-036"}, t.end.N, "the turn of "+t.of.agentID+" to end with what its model says at last: "+
			"only another session was interrupted", steps.Seen(t.end))
	}
	return nil
}

// unmet returns the clauses that the missing answer to a chat breaks. Those about the agent_id itself are not broken if
// an error has the right one, unless an earlier chat with it was answered.
func (s *suite) unmet(t *turn) []string {
	answered := slices.ContainsFunc(t.of.turns, func(other *turn) bool { return other != t && other.over })
	if answered || len(s.since(t, vocab.ErrorMessage)) == 0 {
		return unanswered
	}
	return slices.DeleteFunc(slices.Clone(unanswered), func(id string) bool { return id == "SC-005" || id == "SC-041" })
}

// instead describes the message that came instead of an answer, preferably the same text under another agent_id.
func (s *suite) instead(t *turn, miss *verdict.Miss) string {
	heard := s.Between(t.client, t.mark, 0)
	for _, r := range heard {
		said := r.Event != nil && mentions(text(&r, vocab.Text), t.nonce)
		if said && text(&r, vocab.AgentID) != t.of.agentID {
			return "the answer under another agent_id: " + steps.Seen(r)
		}
	}
	unasked := ""
	if s.Env.Brain != nil && t.nonce != "" && len(s.calls(t)) <= t.before {
		unasked = "; the model was not asked for the chat"
	}
	if n := len(heard); miss.At == 0 && n > 0 {
		return fmt.Sprintf("%s%s; the last of %d messages since the chat: %s", miss.Reason, unasked, n,
			steps.Seen(heard[n-1]))
	}
	return miss.Reason + unasked
}

// answerOrNot records whether the target answers a chat that it may refuse (SC-034).
func (s *suite) answerOrNot(ctx context.Context, client, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	what := "answered like any other"
	if _, miss := s.awaitAnswer(ctx, t, false); miss != nil {
		what = "not answered: " + miss.Reason
		s.dropEnded(client)
	} else if miss := s.awaitEnd(ctx, t); miss != nil {
		what = "not answered to its end: " + miss.Reason
	}
	s.Observe("SC-034", "a chat with unknown options is "+what)
	return nil
}

// receivesWhileItRuns judges that a turn is streamed: one of its messages arrives while its model waits (SC-012).
func (s *suite) receivesWhileItRuns(ctx context.Context, client, name string) error {
	t, err := s.heldTurn(name)
	if err != nil {
		return err
	}
	clauses := []string{"SC-012"}
	rec, miss := s.Await(ctx, steps.Wait{Conn: client, After: t.mark, Match: ofSession(t.of)})
	if miss != nil {
		return s.lacking(clauses, "a message of the turn while the model is still speaking", miss.Reason, miss)
	}
	if rec.Event.Type == vocab.ResultMessage {
		return s.breach(clauses, rec.N, "a message of the turn before its end", steps.Seen(rec))
	}
	return s.pass(clauses, rec.N)
}
