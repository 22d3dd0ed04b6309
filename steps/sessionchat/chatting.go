package sessionchat

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cucumber/godog"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/sessionchat/model"
	"parley/transport/transcript"
)

// session is a conversation that a scenario knows by name: the agent_id that the harness uses, and what is known
// about it.
type session struct {
	name    string
	agentID string
	asker   string // last client that acted on it
	turns   []*turn
}

// turn is one chat. The model says what has become of it; see became.
type turn struct {
	of     *session
	client string
	nonce  string // in the text and in the model's answer
	text   any
	echo   bool   // the model answers with the same text
	mark   int    // record of the chat; 0: it was not sent
	held   bool   // its model is waiting
	failed bool   // its model fails
	kind   string // kind of the wait for its end (Wait.Kind); "": set by the step
	before int    // the model's requests for its nonce before it was sent: an earlier chat had the same text
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
	steps.Step(sc, `^client (\w+) chats with "(\w+)"(?: (with empty options|with unknown options|and the model fails|`+
		`and the model fails in a turn that is held))?$`, s.chats)
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

func (s *suite) chats(ctx context.Context, client, name, how string) error {
	extra := fields{}
	switch how {
	case "and the model fails":
		return s.chat(ctx, client, name, &turn{failed: true}, "[[fail %s 500]]")
	case "and the model fails in a turn that is held":
		return s.chat(ctx, client, name, &turn{failed: true}, "[[hold %[1]s]] [[fail %[1]s 500]]")
	case "with empty options":
		extra[vocab.Options] = map[string]any{}
	case "with unknown options":
		extra[vocab.Options] = map[string]any{"x-parley": "option", "nested": map[string]any{"list": []any{1, nil, true}}}
	}
	return s.chat(ctx, client, name, &turn{}, hello, extra)
}

func (s *suite) startsHeld(ctx context.Context, client, name string) error {
	return s.chat(ctx, client, name, &turn{held: true}, "[[hold %s]]")
}

func (s *suite) chatsInPieces(ctx context.Context, client, name string, n int) error {
	return s.chat(ctx, client, name, &turn{}, fmt.Sprintf("[[stream %%s %d]]", n))
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
	if now := t.of.turn(); t.failed || now != nil && s.became(now).Running() {
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
	w := steps.Wait{Conn: client, After: t.mark, Within: s.Env.Event(), Match: s.settles(t, model.Answer)}
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
	if miss := s.awaitAnswer(ctx, t, true); miss != nil {
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

// ofTurn lists the message types of a turn.
var ofTurn = []string{vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage}

// receivesAnswer judges that a chat is answered under its agent_id, whatever the outcome of its turn.
func (s *suite) receivesAnswer(ctx context.Context, client, name string) error {
	t := s.session(name).turn()
	if t == nil || t.client != client {
		return steps.NotTestedf("client %s has not chatted with %s", client, name)
	}
	return s.settled(ctx, t, model.Answer)
}

// isAnswered judges that a chat is answered under its agent_id, and that its turn ends.
func (s *suite) isAnswered(ctx context.Context, client, name string) error {
	if err := s.receivesAnswer(ctx, client, name); err != nil {
		return err
	}
	return s.settled(ctx, s.session(name).turn(), model.End)
}

// answerOrNot records whether the target answers a chat that it may refuse (SC-034).
func (s *suite) answerOrNot(ctx context.Context, client, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	what := "answered like any other"
	if miss := s.awaitAnswer(ctx, t, false); miss != nil {
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
	_, miss := s.Await(ctx, steps.Wait{Conn: client, After: t.mark, Match: s.settles(t, model.Streaming)})
	if miss != nil {
		s.inVain(t, miss, "")
	}
	return s.report(t, model.Streaming, miss)
}
