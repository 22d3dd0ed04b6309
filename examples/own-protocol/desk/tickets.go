package desk

import (
	"context"
	"fmt"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
	wire "parley/transport/wire/json"
)

func (s *suite) registerTickets(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) opens a ticket$`, s.opens)
	steps.Step(sc, `^client (\w+) is told its ticket$`, s.isToldTicket)
	steps.Step(sc, `^client (\w+) has a ticket$`, s.hasTicket)
	steps.Step(sc, `^no two tickets have the same id$`, s.ticketsDiffer)
	steps.Step(sc, `^client (\w+) sends "(\w+)" about a ticket that does not exist$`, s.sendsAboutNone)
	steps.Step(sc, `^client (\w+) says something in the ticket of client (\w+)$`, s.saysElsewhere)
	steps.Step(sc, `^client (\w+) closes its ticket$`, func(ctx context.Context, name string) error {
		c := s.client(name)
		return s.send(ctx, c, "close", c.ticket, nil)
	})
	steps.Step(sc, `^client (\w+) is told that its ticket is closed$`, s.isToldClosed)
	steps.Step(sc, `^client (\w+) has received no message about the ticket of client (\w+)$`, s.hasHeardNothing)
	steps.Step(sc, `^no further message about the ticket of client (\w+) arrives$`, s.nothingMore)
	steps.Step(sc, `^client (\w+) asks for the history$`, s.asksHistory)
	steps.Step(sc, `^client (\w+) receives what it has said$`, s.isToldHistory)
}

func (s *suite) sendsAboutNone(ctx context.Context, name, kind string) error {
	return s.send(ctx, s.client(name), kind, "none-"+s.Nonce, map[string]any{"text": "hello"})
}

func (s *suite) saysElsewhere(ctx context.Context, name, owner string) error {
	return s.send(ctx, s.client(name), "say", s.client(owner).ticket, map[string]any{"text": "hello"})
}

const subject = "My printer is on fire"

func (s *suite) opens(ctx context.Context, name string) error {
	return s.send(ctx, s.client(name), "open", "", map[string]any{"subject": subject})
}

func (s *suite) isToldTicket(ctx context.Context, name string) error {
	c, clauses := s.client(name), []string{"TD-011", "TD-007"}
	r, err := s.expect(ctx, c, s.nextEffect(c, opened), "ticket.opened", clauses...)
	if err != nil {
		return err
	}
	c.ticket, c.said = of(r, "ticket"), nil
	s.tickets = append(s.tickets, c.ticket)
	s.RecordReach(steps.Given)
	if err := s.Need(steps.CheckOf(r, c.ticket != "", "the id of a ticket", clauses...)); err != nil {
		return err
	}
	return s.Judge(s.checkRef(c, r, "TD-011"),
		steps.CheckOf(r, of(r, "subject") == subject, "the subject "+subject, "TD-011"))
}

func (s *suite) hasTicket(ctx context.Context, name string) error {
	if err := s.isConnected(ctx, name); err != nil {
		return err
	}
	if err := s.opens(ctx, name); err != nil {
		return err
	}
	return s.isToldTicket(ctx, name)
}

func (s *suite) ticketsDiffer(context.Context) error {
	different := map[string]bool{}
	for _, id := range s.tickets {
		different[id] = true
	}
	return s.Judge(verdict.Finding{Clauses: []string{"TD-012"}, OK: len(different) == len(s.tickets), At: s.T.Len(),
		Expected: "an id of its own for each ticket", Observed: fmt.Sprint(s.tickets)})
}

func (s *suite) isToldClosed(ctx context.Context, name string) error {
	c := s.client(name)
	r, err := s.expect(ctx, c, s.nextEffect(c, closed), "ticket.closed", "TD-015")
	if err != nil {
		return err
	}
	return s.Judge(s.checkRef(c, r, "TD-015"), steps.CheckOf(r, of(r, "ticket") == c.ticket, "ticket "+c.ticket, "TD-015"))
}

// hasHeardNothing needs two fences. After the first, everything that the owner's messages caused was sent; after the
// second, everything sent to this client before has arrived.
func (s *suite) hasHeardNothing(ctx context.Context, name, owner string) error {
	c, o := s.client(name), s.client(owner)
	if _, err := s.awaitEffects(ctx, o); err != nil {
		return err
	}
	return s.judgeAbsence(ctx, c, c.begun, func(r *transcript.Record) bool { return of(*r, "ticket") == o.ticket },
		"no event about ticket "+o.ticket, "TD-014")
}

// nothingMore waits for possible late events; the monitor nothing-behind-closed judges them.
func (s *suite) nothingMore(ctx context.Context, name string) error {
	_, err := s.awaitEffects(ctx, s.client(name))
	return err
}

func (s *suite) asksHistory(ctx context.Context, name string) error {
	if !s.Env.Profile.Has(History) {
		return &steps.NotApplicableError{Reason: "the profile does not declare the capability history"}
	}
	c := s.client(name)
	return s.send(ctx, c, "history", c.ticket, nil)
}

func (s *suite) isToldHistory(ctx context.Context, name string) error {
	c := s.client(name)
	r, err := s.expect(ctx, c, s.nextEffect(c, history), "ticket.history", "TD-024")
	if err != nil {
		return err
	}
	var said []any
	for _, text := range c.said {
		said = append(said, text)
	}
	data, _ := r.Event.Data.(map[string]any)
	want := wire.Compact(said)
	return s.Judge(steps.CheckOf(r, wire.Compact(data["said"]) == want, "said "+want, "TD-024"))
}
