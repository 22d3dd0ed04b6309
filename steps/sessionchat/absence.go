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
	steps.Step(sc, `^client (\w+) receives no message of (?:any session|the session "(\w+)")$`, s.noSession)
}

// endOfFence is the kind of the wait for a fence's turn; its failure breaks no clause.
const endOfFence = "the end of a fence's turn"

// unfenced begins the reason of a fence that failed.
const unfenced = "fence: a turn of a fresh agent_id did not end, so absence cannot be proved: "

// fence proves that every reply to a client's earlier messages has arrived: it waits for a whole turn of a fresh
// agent_id. A ping would not do, because it may overtake a chat.
func (s *suite) fence(ctx context.Context, c *client) error {
	_, miss, err := s.tryFence(ctx, c)
	if miss != nil {
		return steps.NotTestedf("%s%s", unfenced, miss.Reason)
	}
	return err
}

// tryFence is fence for a step that judges a missing end of the fence's turn.
func (s *suite) tryFence(ctx context.Context, c *client) (*turn, *verdict.Miss, error) {
	name := fmt.Sprintf("fence%d", s.Serial())
	t := &turn{kind: endOfFence}
	mark := s.mark
	if err := s.chat(ctx, c.name, name, t, "[[echo %s]] fence"); err != nil {
		return t, nil, err
	}
	s.mark = mark
	miss := s.awaitEnd(ctx, t)
	if miss == nil {
		delete(s.sessions, name)
	}
	return t, miss, nil
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

// noSession proves that a client has received no message of a session, or of any, since the latest act (SC-001,
// SC-002): now up to the answer of a fence, and again at the end of the scenario.
func (s *suite) noSession(ctx context.Context, client, name string) error {
	from, c, agent := s.mark, s.client(client), ""
	if name != "" {
		agent = s.session(name).agentID
	}
	if s.mark == 0 && c.conn == nil && c.openErr == nil {
		return steps.NotTestedf("client %s has not connected", client)
	}
	if err := s.connected(ctx, c); err != nil {
		return err
	}
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	look := func() error { return s.Judge(s.model().Uncalled(client, agent, from)) }
	s.AtEnd(func() { _ = look() })
	return look()
}
