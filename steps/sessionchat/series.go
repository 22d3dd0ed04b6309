package sessionchat

import (
	"context"
	"fmt"

	"github.com/cucumber/godog"

	"parley/steps"
)

// registerSeries registers the steps with several chats, and with one that is sent again.
func (s *suite) registerSeries(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) has chatted (\d+) times with "(\w+)"$`, s.hasChattedOften)
	steps.Step(sc, `^client (\w+) has chatted with (\d+) other sessions$`, s.hasUsedOthers)
	steps.Step(sc, `^client (\w+) is answered in each of (\d+) new sessions$`, s.isAnsweredByEach)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with the same text again$`, s.chatsAgain)
	steps.Step(sc, `^the model was asked again for "(\w+)"$`, s.askedAgain)
}

// hasChattedOften runs several whole turns as a precondition.
func (s *suite) hasChattedOften(ctx context.Context, client string, n int, name string) error {
	for range n {
		if err := s.hasChatted(ctx, client, name); err != nil {
			return err
		}
	}
	return nil
}

// hasUsedOthers runs a whole turn of each of several sessions as a precondition. The target may let others leave its
// memory meanwhile: how many it keeps there is its own affair.
func (s *suite) hasUsedOthers(ctx context.Context, client string, n int) error {
	for range n {
		if err := s.hasChatted(ctx, client, fmt.Sprintf("other%d", s.Serial())); err != nil {
			return err
		}
	}
	s.resumes("%d other sessions were used", n)
	return nil
}

// isAnsweredByEach judges that several sessions, used one after the other, are all answered.
func (s *suite) isAnsweredByEach(ctx context.Context, client string, n int) error {
	for i := range n {
		name := fmt.Sprintf("one%d", s.Serial())
		if err := s.chat(ctx, client, name, &turn{}, hello); err != nil {
			return err
		}
		if err := s.isAnswered(ctx, client, name); err != nil {
			s.Note("client %s was answered by %d new sessions before, each in turn", client, i)
			return err
		}
	}
	return nil
}

// chatsAgain sends the text of a session's last chat once more.
func (s *suite) chatsAgain(ctx context.Context, client, name string) error {
	last, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	t := &turn{of: last.of, nonce: last.nonce, text: last.text, before: len(s.calls(last))}
	return s.say(ctx, s.client(client), t, nil)
}

// askedAgain judges that the model was asked for a chat with the text of an earlier one (SC-019).
func (s *suite) askedAgain(name string) error {
	t, err := s.askedTurn(name)
	if err != nil {
		return err
	}
	clauses := []string{"SC-019"}
	if len(s.calls(t)) > t.before {
		return s.pass(clauses, t.mark)
	}
	observed := "no request: the model was asked for the earlier one only"
	if t.over {
		observed += ", and the chat was answered by " + steps.Seen(t.end)
	}
	return s.breach(clauses, t.mark, "a model request for the chat, although its text is that of an earlier one: "+
		quoted([]string{fmt.Sprint(t.text)}), observed)
}
