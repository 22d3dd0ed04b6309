package agentselect

import (
	"context"
	"fmt"
	"strings"

	"github.com/cucumber/godog"

	"parley/internal/stall"
	"parley/model"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerRaces(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) switches to `+agentRef+` and to `+agentRef+` at once$`, s.switchesTwice)
	steps.Step(sc, `^each switch of client (\w+) starts from the agent that the one before it led to$`, s.switchesChained)
	steps.Step(sc, `^the model of the aborted turn of client (\w+) answers after all$`, s.abortedAnswers)
	steps.Step(sc, `^client (\w+) has a turn running that will answer$`, s.hasTurnThatAnswers)
	steps.Step(sc, `^client (\w+) chats over its own turn$`, s.chatsOver)
	steps.Step(sc, `^client (\w+) is busy as long as its first turn goes on$`, s.busyWhileFirst)
}

// switchesTwice sends two switches, the second before the first can have been answered.
func (s *suite) switchesTwice(ctx context.Context, name, firstRef, secondRef string) error {
	c := s.client(name)
	first, err := s.agentID(firstRef)
	if err != nil {
		return err
	}
	second, err := s.agentID(secondRef)
	if err != nil {
		return err
	}
	mark, err := s.sendSwitch(ctx, c, fields{"agentId": first}, act{})
	if err != nil {
		return err
	}
	if _, err := s.sendSwitch(ctx, c, fields{"agentId": second}, act{}); err != nil {
		return err
	}
	c.act.mark = mark
	return nil
}

// switchesChained judges two switches in flight: in the order of their announcements, each says that it comes from the agent
// that the one before it led to (AS-043), and so does a third that follows them.
func (s *suite) switchesChained(ctx context.Context, name string) error {
	c := s.client(name)
	at, from := c.act.mark, c.agent
	for n := 1; n <= 2; n++ {
		rec, miss := s.Await(ctx, steps.Wait{Conn: name, After: at, Match: s.foreignAnswer(c)})
		if miss != nil {
			return s.Need(steps.Check{Clauses: []string{"AS-042"}, Expected: fmt.Sprintf("agent_switched for each of two switches; this is number %d", n),
				Observed: miss.Reason, At: miss.At})
		}
		if rec.Event.Type != vocab.AgentSwitchedEvent {
			return steps.NotTestedf("one of two switches in flight was refused: %s", steps.Seen(rec))
		}
		previous, _ := wjson.Lookup(rec.Event.Data, "/previousAgentId")
		if err := s.Need(steps.Check{Clauses: []string{"AS-043"}, OK: previous == any(from), At: rec.N,
			Expected: fmt.Sprintf("announcement %d of 2 with previousAgentId %q, the agent that the switch before it led to", n, from),
			Observed: steps.Seen(rec)}); err != nil {
			return err
		}
		current, _ := wjson.Lookup(rec.Event.Data, "/currentAgentId")
		from, _ = current.(string)
		at = rec.N
	}
	s.confirmed(c, from)
	to, err := s.agentID(`"debugger"`)
	if err != nil {
		return err
	}
	if _, err := s.sendSwitch(ctx, c, fields{"agentId": to}, act{}); err != nil {
		return err
	}
	return s.switchedTo(ctx, c, from, to)
}

// abortedAnswers lets the model go on with the turn that was aborted, and gives what the target makes of it the quiet window:
// nothing tells when a turn that is over has ended.
func (s *suite) abortedAnswers(ctx context.Context, name string) error {
	c := s.client(name)
	if len(c.turns) < 2 || c.turns[len(c.turns)-2].nonce == "" {
		return steps.NotTestedf("without the model stub nobody can end an aborted turn of client %s late", name)
	}
	mark := s.T.Len()
	s.Env.Brain.Release(c.turns[len(c.turns)-2].nonce)
	s.pace(ctx, c, mark, s.Env.Profile.Limits.Quiet.Duration)
	return nil
}

func (s *suite) hasTurnThatAnswers(ctx context.Context, name string) error {
	if err := s.chat(ctx, name, "[[hold %[1]s]] [[echo %[1]s]]"); err != nil {
		return err
	}
	return s.modelCalled(ctx, s.client(name))
}

// chatsOver sends a second message while a turn goes on, and waits until the target has dealt with it: refused it, answered it,
// or, which cannot be seen, put it off. The turn of the client stays the first one.
func (s *suite) chatsOver(ctx context.Context, name string) error {
	c := s.client(name)
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", name)
	}
	first := c.turn
	if err := s.chat(ctx, name, "[[echo %s]] And another thing"); err != nil {
		return err
	}
	second := c.turn
	c.turn, c.turns = first, c.turns[:len(c.turns)-1]
	over := isEvent(vocab.CompleteEvent, vocab.ErrorEvent)
	ctx, cancel := stall.WithLimit(ctx, s.Limit(s.Env.Event()))
	defer cancel()
	rec, err := s.T.Await(ctx, second.mark, func(r *transcript.Record) bool {
		return r.Conn == name && (over(r) || r.Reply == second.mark && (r.Kind == transcript.Failure || r.Kind == transcript.Response && s.notAccepted(*r) != ""))
	})
	if err != nil {
		s.Note("a second message while a turn goes on: put off, or left unanswered")
	} else {
		s.Note("a second message while a turn goes on: %s", steps.Seen(rec))
	}
	return nil
}

// busyWhileFirst judges that a turn keeps its session busy whatever became of a second message (AS-109, AS-110). A target may
// have ended the first turn for the second; so a switch that succeeds is wrong only if the first turn goes on behind it.
func (s *suite) busyWhileFirst(ctx context.Context, name string) error {
	c := s.client(name)
	to, err := s.agentID(`"general"`)
	if err != nil {
		return err
	}
	if _, err := s.sendSwitch(ctx, c, fields{"agentId": to}, act{}); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, rejection)
	clauses := []string{"AS-109", "AS-110"}
	switch {
	case miss != nil:
		return s.Need(steps.Check{Clauses: clauses, Expected: "agent_busy", Observed: miss.Reason, At: miss.At})
	case codeOf(rec) == vocab.AgentBusy:
		return s.Judge(steps.Check{Clauses: clauses, OK: true})
	case rec.Event.Type != vocab.AgentSwitchedEvent:
		return s.Need(steps.Check{Clauses: clauses, Expected: "agent_busy", Observed: steps.Seen(rec), At: rec.N})
	}
	s.confirmed(c, to)
	later, went := s.goesOn(ctx, c, rec.N)
	if !went {
		return steps.NotTestedf("the target has ended the first turn of client %s for its second message, so the switch found it idle", name)
	}
	return s.Judge(steps.Check{Clauses: clauses, At: rec.N, Observed: steps.Seen(rec) + ", and the turn went on: " + later,
		Expected: "agent_busy while the first turn of client " + name + " goes on"})
}

// goesOn lets a turn go on and tells whether it does: its model is asked again, or its answer comes.
func (s *suite) goesOn(ctx context.Context, c *client, mark int) (seen string, ok bool) {
	if c.turn.request != nil {
		if err := s.respond(ctx, c.name, vocab.ConfirmationRequestEvent, vocab.ConfirmationResponse, true); err != nil {
			return "", false
		}
		_, err := s.AwaitModel(ctx, func(ctx context.Context) error {
			_, err := s.Env.Brain.AwaitMatch(ctx, 1, withResult(c.turn))
			return err
		})
		return "its model was asked again, with the tool's result", err == nil
	}
	s.Env.Brain.Release(c.turn.nonce)
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Match: func(r *transcript.Record) bool {
		return isEvent(vocab.MessageEvent)(r) && strings.Contains(s.said(c.name, mark, r.N), c.turn.nonce)
	}})
	return steps.Seen(rec), miss == nil
}

// withResult matches the model's calls of a turn that carry a tool's result.
func withResult(t *turn) func(model.Request) bool {
	return func(r model.Request) bool {
		text, results := r.Asking()
		return results > 0 && strings.Contains(text, t.nonce)
	}
}
