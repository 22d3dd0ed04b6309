package desk

import (
	"context"
	"fmt"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

func (s *suite) registerAnswers(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) says something$`, func(ctx context.Context, name string) error {
		return s.says(ctx, name, false)
	})
	steps.Step(sc, `^client (\w+) says something that needs consent$`, func(ctx context.Context, name string) error {
		return s.says(ctx, name, true)
	})
	steps.Step(sc, `^client (\w+) is answered$`, s.isAnswered)
	steps.Step(sc, `^client (\w+) has received the end of that answer once$`, s.hasHeardOneEnd)
	steps.Step(sc, `^client (\w+) is asked for its consent$`, s.isAsked)
	steps.Step(sc, `^client (\w+) was asked for its consent$`, func(ctx context.Context, name string) error {
		if err := s.says(ctx, name, true); err != nil {
			return err
		}
		return s.isAsked(ctx, name)
	})
	steps.Step(sc, `^client (\w+) (agrees|declines)$`, func(ctx context.Context, name, how string) error {
		c := s.client(name)
		return s.send(ctx, c, "reply", c.ticket, map[string]any{"yes": how == "agrees"})
	})
	steps.Step(sc, `^client (\w+) stops its agent$`, func(ctx context.Context, name string) error {
		c := s.client(name)
		return s.send(ctx, c, "stop", c.ticket, nil)
	})
	steps.Step(sc, `^the answer of client (\w+) ends as "([^"]*)"$`, s.endsAs)
	steps.Step(sc, `^client (\w+) has received no part of an answer$`, s.hasHeardNoPiece)
}

func (s *suite) says(ctx context.Context, name string, consent bool) error {
	c := s.client(name)
	text := fmt.Sprintf("What of %s, %d?", s.Nonce, s.Serial())
	c.said = append(c.said, text)
	return s.send(ctx, c, "say", c.ticket, map[string]any{"text": text, "consent": consent})
}

// isAnswered waits for the end of an answer, and judges what came before it.
func (s *suite) isAnswered(ctx context.Context, name string) error {
	c := s.client(name)
	clauses := []string{"TD-018", "TD-013", "TD-022", "TD-023"} // for the others this is the positive counterpart
	end, err := s.ended(ctx, c, clauses)
	if err != nil {
		return err
	}
	s.RecordReach(steps.Answered)
	var order []string
	for _, r := range s.Between(name, c.mark, end.N+1) {
		if is(&r, started, piece, done, asks) && of(r, "ticket") == c.ticket {
			order = append(order, r.Event.Type)
		}
	}
	right := len(order) > 1 && order[0] == started
	for _, kind := range order[1:max(len(order)-1, 1)] {
		right = right && kind == piece
	}
	if err := s.Judge(verdict.Finding{Clauses: clauses[:1], OK: right, At: end.N,
		Expected: "agent.started, pieces, agent.done", Observed: fmt.Sprint(order)}); err != nil {
		return err
	}
	return s.Judge(s.checkRef(c, end, "TD-018"), s.checkOutcome(end, answered, clauses[:1]))
}

// ended waits for the end of the answer in a client's ticket.
func (s *suite) ended(ctx context.Context, c *client, clauses []string) (transcript.Record, error) {
	return s.expect(ctx, c, steps.Wait{After: c.mark, Within: s.Env.Profile.Limits.Turn.Duration,
		Match: func(r *transcript.Record) bool { return is(r, done) && of(*r, "ticket") == c.ticket },
		Hopeless: func(r *transcript.Record) string {
			if is(r, refused) && of(*r, "ref") == c.ref {
				return "refused: " + steps.Seen(*r)
			}
			return ""
		}}, "agent.done", clauses...)
}

func (s *suite) checkOutcome(end transcript.Record, want string, clauses []string) verdict.Finding {
	return steps.CheckOf(end, of(end, "outcome") == want, "the outcome "+want, clauses...)
}

func (s *suite) endsAs(ctx context.Context, name, want string) error {
	clauses := map[string][]string{answered: {"TD-020", "TD-022"}, "declined": {"TD-021"}, "stopped": {"TD-023"}}[want]
	end, err := s.ended(ctx, s.client(name), clauses)
	if err != nil {
		return err
	}
	return s.Judge(s.checkOutcome(end, want, clauses))
}

// hasHeardOneEnd judges that no second agent.done follows: a fence shows that nothing more is on its way.
func (s *suite) hasHeardOneEnd(ctx context.Context, name string) error {
	c, ends := s.client(name), 0
	return s.judgeAbsence(ctx, c, c.mark, func(r *transcript.Record) bool {
		if is(r, done) && of(*r, "ticket") == c.ticket {
			ends++
		}
		return ends > 1
	}, "one agent.done", "TD-018")
}

func (s *suite) isAsked(ctx context.Context, name string) error {
	c := s.client(name)
	r, err := s.expect(ctx, c, s.nextEffect(c, asks, done), "agent.asks", "TD-020")
	if err != nil {
		return err
	}
	return s.Need(steps.CheckOf(r, is(&r, asks), "agent.asks", "TD-020"))
}

func (s *suite) hasHeardNoPiece(ctx context.Context, name string) error {
	c := s.client(name)
	ofTicket := func(r *transcript.Record) bool { return is(r, piece) && of(*r, "ticket") == c.ticket }
	return s.judgeAbsence(ctx, c, c.begun, ofTicket, "no agent.piece without consent", "TD-020", "TD-021")
}
