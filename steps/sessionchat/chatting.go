package sessionchat

import (
	"context"
	"fmt"
	"strings"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transcript"
)

// session is a conversation that a scenario knows by a name: the agent_id under which the harness chats, and what it was
// told about it.
type session struct {
	name    string
	agentID string
	id      string // session_id as told last; "" before
	asker   string // the client that acted on it last
	turns   []*turn
}

// turn is one chat and what came of it.
type turn struct {
	of     *session
	client string
	nonce  string // stands in the text, and in what the model answers
	text   any
	echo   bool // the model answers with the text itself
	pieces int  // of the answer, where the scenario asks for so many
	mark   int  // record of the chat
	over   bool
	end    transcript.Record // its result
	held   bool              // its model waits
	cut    bool              // interrupted, or its connection was lost
	cutAt  int               // record of its first interrupt
	failed bool              // its model fails
	kind   string            // of the wait for its end (Wait.Kind); "": the step says it
	extra  bool              // sent while another turn of the session ran: whether it is answered is open
}

// session finds a session by the name that the scenario gives it; its agent_id is unique to the scenario.
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
	steps.Step(sc, `^client (\w+) chats with "(\w+)"$`, func(ctx context.Context, client, name string) error {
		return s.chat(ctx, client, name, &turn{}, "[[echo %s]] Hello from client "+client)
	})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" in a turn that is held$`, s.chatsHeld)
	steps.Step(sc, `^client (\w+) starts a turn of "(\w+)" that is held$`, func(ctx context.Context, client, name string) error {
		return s.chat(ctx, client, name, &turn{held: true}, "[[hold %s]]")
	})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" in a turn of (\d+) pieces$`, func(ctx context.Context, client, name string, n int) error {
		return s.chat(ctx, client, name, &turn{pieces: n}, fmt.Sprintf("[[stream %%s %d]]", n))
	})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" and the model fails$`, func(ctx context.Context, client, name string) error {
		return s.chat(ctx, client, name, &turn{failed: true}, "[[fail %s 500]]")
	})
	steps.Step(sc, `^client (\w+) has chatted with "(\w+)"$`, s.hasChatted)
	steps.Step(sc, `^client (\w+) says 你好 to "(\w+)"$`, func(ctx context.Context, client, name string) error {
		return s.say(ctx, s.client(client), &turn{of: s.session(name), text: "你好"}, nil)
	})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" in a text of (.+)$`, s.chatsInText)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" under the agent_id of ([^"]+)$`, s.chatsUnder)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" under the agent_id of "(\w+)" with (.+)$`, s.chatsNear)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with no options$`, func(ctx context.Context, client, name string) error {
		return s.chat(ctx, client, name, &turn{}, "[[echo %s]] Hello", fields{"options": map[string]any{}})
	})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with options that nobody knows$`, func(ctx context.Context, client, name string) error {
		return s.chat(ctx, client, name, &turn{}, "[[echo %s]] Hello", fields{"options": map[string]any{
			"x-parley": "option", "nested": map[string]any{"list": []any{1, nil, true}}}})
	})
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with the model "([^"]+)"$`, func(ctx context.Context, client, name, model string) error {
		return s.chat(ctx, client, name, &turn{}, "[[echo %s]] Hello", fields{"model": model})
	})
	steps.Step(sc, `^client (\w+) is answered by "(\w+)"$`, s.isAnswered)
	steps.Step(sc, `^client (\w+) is told the answer of "(\w+)"$`, s.isTold)
	steps.Step(sc, `^client (\w+) can chat with "(\w+)" again$`, s.canChatAgain)
	steps.Step(sc, `^it is noted whether client (\w+) is answered by "(\w+)"$`, s.answerOrNot)
	steps.Step(sc, `^the turn of "(\w+)" comes to some end$`, s.comesToSomeEnd)
	steps.Step(sc, `^the pieces of "(\w+)" come in order$`, s.inOrder)
	steps.Step(sc, `^client (\w+) is told the words of the model for "(\w+)" as they were spoken$`, s.toldAsSpoken)
	steps.Step(sc, `^client (\w+) hears of the turn of "(\w+)" while it runs$`, s.hearsWhileItRuns)
}

// chat sends a chat whose text carries a directive for the model; format has one %s for the turn's nonce.
func (s *suite) chat(ctx context.Context, client, name string, t *turn, format string, more ...fields) error {
	t.of = s.session(name)
	t.nonce = s.newNonce()
	t.text = fmt.Sprintf(format, t.nonce)
	all := fields{}
	for _, f := range more {
		for k, v := range f {
			all[k] = v
		}
	}
	return s.say(ctx, s.client(client), t, all)
}

// newNonce makes the nonce of a turn. A model that waits for it is let go when the scenario ends.
func (s *suite) newNonce() string {
	nonce := fmt.Sprintf("%s-%d", s.Nonce, s.Serial())
	if brain := s.Env.Brain; brain != nil {
		s.AtEnd(func() { brain.Release(nonce) }) // for good: a target may ask for it later still
	}
	return nonce
}

func (s *suite) say(ctx context.Context, c *client, t *turn, more fields) error {
	f := fields{"agent_id": t.of.agentID, "content": t.text}
	for k, v := range more {
		f[k] = v
	}
	m, err := s.bind.message(vocab.ChatType, f)
	if err != nil {
		return err
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

// chatsHeld brings a session into a turn that lasts until it is let go on or interrupted: by a model that waits, or by a
// message of the profile's that takes long to answer.
func (s *suite) chatsHeld(ctx context.Context, client, name string) error {
	if text := s.Env.Profile.Provoke.RunningTurn; text != "" {
		t := &turn{of: s.session(name), text: text, held: true}
		if err := s.say(ctx, s.client(client), t, nil); err != nil {
			return err
		}
		if _, miss := s.Await(ctx, steps.Wait{Conn: client, After: t.mark, Within: s.Env.Turn(), Match: ofSession(t.of)}); miss != nil {
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

// hasChatted is a whole turn as a precondition: that it is answered at all is judged elsewhere.
func (s *suite) hasChatted(ctx context.Context, client, name string) error {
	if err := s.chat(ctx, client, name, &turn{}, "[[echo %s]] Hello from client "+client); err != nil {
		return err
	}
	t := s.session(name).turn()
	if _, miss := s.awaitAnswer(ctx, t); miss != nil {
		return steps.NotTestedf("client %s was not answered by %s: %s", client, name, miss.Reason)
	}
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return steps.NotTestedf("a turn of %s did not end: %s", name, miss.Reason)
	}
	return nil
}

// ofSession matches what the target says of a session, by its agent_id.
func ofSession(ss *session, kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		if r.Dir != transcript.Received || r.Event == nil || text(r, inAgent) != ss.agentID {
			return false
		}
		for _, k := range kinds {
			if r.Event.Type == k {
				return true
			}
		}
		return len(kinds) == 0
	}
}

// ofTurn are the message types that a turn consists of.
var ofTurn = []string{vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage}

// answers matches the message with which a turn is answered. An answer may come in pieces of any size, in which the nonce
// is cut.
func (s *suite) answers(t *turn) func(*transcript.Record) bool {
	var pieces strings.Builder
	match := ofSession(t.of, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage)
	return func(r *transcript.Record) bool {
		if !match(r) {
			return false
		}
		said := text(r, inText)
		switch {
		case s.Env.Brain == nil || t.nonce == "":
			return said != "" || r.Event.Type == vocab.ResultMessage
		case r.Event.Type == vocab.StreamMessage:
			pieces.WriteString(said)
			_, after, found := strings.Cut(pieces.String(), t.nonce) // its last digits may be on their way
			return found && after != "" && mentions(t.nonce+after, t.nonce)
		}
		return mentions(said, t.nonce)
	}
}

// learn keeps the session_id that a message tells.
func (s *suite) learn(ss *session, r transcript.Record) {
	for _, m := range s.Between(r.Conn, 0, r.N+1) {
		if ofSession(ss)(&m) && m.N > s.mark0(ss) {
			if id := text(&m, inSession); id != "" {
				ss.id = id
			}
		}
	}
	s.Reached(steps.Given)
}

// mark0 is where the session's last turn begins.
func (s *suite) mark0(ss *session) int {
	if t := ss.turn(); t != nil {
		return t.mark
	}
	return 0
}

// answeredClauses are the clauses that an answered chat keeps by itself; the tags of the scenario say which it is about.
var answeredClauses = []string{"SC-005", "SC-013", "SC-021", "SC-024", "SC-025", "SC-026", "SC-029", "SC-032a", "SC-036", "SC-037",
	"SC-041", "SC-052", "SC-060"}

// unanswered are the clauses that a missing answer breaks, where the scenario is about them: those, and the ones that only
// what comes with an answer, or behind it, can keep.
var unanswered = append([]string{"SC-002", "SC-003", "SC-004", "SC-006", "SC-008", "SC-009", "SC-012", "SC-016", "SC-017", "SC-019",
	"SC-020", "SC-023", "SC-027", "SC-028", "SC-030", "SC-031", "SC-035", "SC-042", "SC-046", "SC-047", "SC-048", "SC-049", "SC-050",
	"SC-053", "SC-054", "SC-055", "SC-057", "SC-058", "SC-059"}, answeredClauses...)

// isTold judges that a chat is answered under its agent_id, whatever becomes of its turn.
func (s *suite) isTold(ctx context.Context, client, name string) error {
	t := s.session(name).turn()
	if t == nil || t.client != client {
		return steps.NotTestedf("client %s has not chatted with %s", client, name)
	}
	rec, miss := s.awaitAnswer(ctx, t)
	if miss != nil {
		return s.Need(steps.Check{Clauses: unanswered, Expected: fmt.Sprintf("an answer to the chat, with agent_id %q", t.of.agentID), Observed: s.instead(t, miss), At: miss.At})
	}
	return s.Judge(steps.Check{Clauses: answeredClauses, OK: true, At: rec.N})
}

// isAnswered judges that a chat is answered under its agent_id, and that its turn ends.
func (s *suite) isAnswered(ctx context.Context, client, name string) error {
	if err := s.isTold(ctx, client, name); err != nil {
		return err
	}
	ss := s.session(name)
	t := ss.turn()
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return s.Need(steps.Check{Clauses: unanswered, Expected: fmt.Sprintf("the end of the turn (%s), with agent_id %q", vocab.ResultMessage, ss.agentID), Observed: s.instead(t, miss), At: miss.At})
	}
	return nil
}

// instead says what came in place of an answer: first of all the same words under another agent_id.
func (s *suite) instead(t *turn, miss *steps.Miss) string {
	for _, r := range s.Between(t.client, t.mark, 0) {
		if r.Event != nil && t.nonce != "" && text(&r, inAgent) != t.of.agentID && strings.Contains(text(&r, inText), t.nonce) {
			return "the answer under another agent_id: " + steps.Seen(r)
		}
	}
	heard := s.Between(t.client, t.mark, 0)
	if miss.At == 0 && len(heard) > 0 {
		return fmt.Sprintf("%s; the last of %d messages since the chat: %s", miss.Reason, len(heard), steps.Seen(heard[len(heard)-1]))
	}
	return miss.Reason
}

// answerOrNot records whether a chat that no clause obliges the target to take is answered (SC-034).
func (s *suite) answerOrNot(ctx context.Context, client, name string) error {
	t := s.session(name).turn()
	if t == nil {
		return steps.NotTestedf("client %s has not chatted with %s", client, name)
	}
	what := "answered like any other"
	if _, miss := s.awaitAnswer(ctx, t); miss != nil {
		what = "not answered: " + miss.Reason
		s.dropEnded(client)
	} else if miss := s.awaitEnd(ctx, t); miss != nil {
		what = "not answered to its end: " + miss.Reason
	}
	s.Observe("SC-034", "a chat with unknown options is "+what)
	return nil
}

// hearsWhileItRuns judges that a turn is told message by message: something of it comes while its model waits (SC-012).
func (s *suite) hearsWhileItRuns(ctx context.Context, client, name string) error {
	t := s.session(name).turn()
	if t == nil || !t.held {
		return steps.NotTestedf("no turn of %s is held", name)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: client, After: t.mark, Match: ofSession(t.of)})
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"SC-012"}, Expected: "a message of the turn while the model is still speaking", Observed: miss.Reason, At: miss.At})
	}
	return s.Judge(steps.Check{Clauses: []string{"SC-012"}, OK: rec.Event.Type != vocab.ResultMessage, Expected: "a message of the turn before its end", Observed: steps.Seen(rec), At: rec.N})
}
