package sessionchat

import (
	"context"
	"fmt"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

func (s *suite) registerAbsence(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) receives no message of any session$`, s.receivesNoSession)
	steps.Step(sc, `^client (\w+) receives no message of the session "(\w+)"$`, s.receivesNoneOf)
}

// endOfFence is the kind of the wait for a fence's turn; its failure breaks no clause.
const endOfFence = "the end of a fence's turn"

// unfenced begins the reason of a fence that failed.
const unfenced = "fence: a turn of a fresh agent_id did not end, so absence cannot be proved: "

// fence proves that every reply to a client's earlier messages has arrived: it waits for a whole turn of a fresh
// agent_id. A ping would not do, because it may overtake a chat.
func (s *suite) fence(ctx context.Context, c *client) error {
	miss, err := s.tryFence(ctx, c)
	if miss != nil {
		return steps.NotTestedf("%s%s", unfenced, miss.Reason)
	}
	return err
}

// tryFence is fence for a step that judges a missing end of the fence's turn.
func (s *suite) tryFence(ctx context.Context, c *client) (*verdict.Miss, error) {
	name := fmt.Sprintf("fence%d", s.Serial())
	t := &turn{kind: endOfFence}
	mark := s.mark
	if err := s.chat(ctx, c.name, name, t, "[[echo %s]] fence"); err != nil {
		return nil, err
	}
	s.mark = mark
	if miss := s.awaitEnd(ctx, t); miss != nil {
		return miss, nil
	}
	delete(s.sessions, name)
	return nil, nil
}

// endOfAnother chats with a fresh agent_id, and matches the end of that turn; nil if it could not chat.
func (s *suite) endOfAnother(ctx context.Context, client string) func(*transcript.Record) bool {
	name, fence, mark := fmt.Sprintf("fence%d", s.Serial()), &turn{kind: endOfFence}, s.mark
	err := s.chat(ctx, client, name, fence, "[[echo %s]] fence")
	s.mark = mark
	delete(s.sessions, name)
	if err != nil {
		return nil
	}
	return ofSession(fence.of, vocab.ResultMessage)
}

// receivesNoSession proves that a client has received no message of any session since the latest act (SC-001,
// SC-002).
func (s *suite) receivesNoSession(ctx context.Context, client string) error {
	return s.noSession(ctx, client, func(r *transcript.Record) bool { return true })
}

func (s *suite) receivesNoneOf(ctx context.Context, client, name string) error {
	ss := s.session(name)
	return s.noSession(ctx, client, func(r *transcript.Record) bool { return text(r, vocab.AgentID) == ss.agentID })
}

// noSession looks for messages that reveal a session, now up to the answer of a fence, and again at the end of the
// scenario. It ignores the fence's own session.
func (s *suite) noSession(ctx context.Context, client string, meant func(*transcript.Record) bool) error {
	from := s.mark
	c := s.client(client)
	if s.mark == 0 && c.conn == nil && c.openErr == nil {
		return steps.NotTestedf("client %s has not connected", client)
	}
	if err := s.connected(ctx, c); err != nil {
		return err
	}
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	clauses := []string{"SC-001", "SC-002", "SC-030", "SC-031", "SC-035", "SC-037", "SC-045", "SC-054", "SC-055"}
	look := func() error {
		for _, r := range s.Between(client, from, 0) {
			if r.N <= from || !ofAnySession(&r) || s.known(&r) || !meant(&r) {
				continue
			}
			return s.breach(clauses, r.N, "no session before the first chat", steps.Seen(r))
		}
		return s.pass(clauses, 0)
	}
	s.AtEnd(func() { _ = look() })
	return look()
}

// ofAnySession matches a message that only a session has: the model's words, and a message of a turn or without a type
// that carries a session_id. It ignores the session_id of errors, pongs, greetings and other messages (ruling 3).
func ofAnySession(r *transcript.Record) bool {
	if r.Event == nil || r.Dir != transcript.Received {
		return false
	}
	switch id := member(r, vocab.SessionID); r.Event.Type {
	case vocab.StreamMessage, vocab.AssistantMessage:
		return true
	case vocab.SystemMessage, vocab.ResultMessage, "":
		return id != nil && id != any("")
	}
	return false
}

// known reports whether a message is about an agent_id with which the same connection has chatted before.
func (s *suite) known(r *transcript.Record) bool {
	id, chatted := s.agentOf(r), false
	for _, sent := range s.T.All() {
		switch {
		case sent.N >= r.N, sent.Conn != r.Conn, sent.Dir != transcript.Sent:
		case sent.Kind == transcript.Open:
			chatted = false
		case sent.Event != nil && sent.Event.Type == vocab.ChatType && legal(&sent):
			chatted = chatted || id != "" && text(&sent, vocab.AgentID) == id
		}
	}
	return chatted
}

// agentOf returns the agent_id of a message or, if it lacks one (SC-038), of another one of its session on the
// connection; "" if none has it.
func (s *suite) agentOf(r *transcript.Record) string {
	id, session := text(r, vocab.AgentID), text(r, vocab.SessionID)
	if id != "" || session == "" {
		return id
	}
	for _, other := range s.T.All() {
		if other.Conn != r.Conn || other.Dir != transcript.Received || text(&other, vocab.SessionID) != session {
			continue
		}
		if id := text(&other, vocab.AgentID); id != "" {
			return id
		}
	}
	return ""
}

// legal reports whether a chat has the required content.
func legal(r *transcript.Record) bool {
	_, content := member(r, vocab.Content).(string)
	return content
}
