package desk

import (
	"context"
	"fmt"
	"mime"
	"net/http"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func (s *suite) registerConnecting(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) connects$`, s.connects)
	steps.Step(sc, `^client (\w+) is connected$`, s.isConnected)
	steps.Step(sc, `^client (\w+) receives an event stream$`, s.isGivenStream)
	steps.Step(sc, `^client (\w+) is welcomed first$`, s.isWelcomed)
	steps.Step(sc, `^clients (\w+) and (\w+) have different ids$`, s.idsDiffer)
	steps.Step(sc, `^whether the welcome of client (\w+) has a note is recorded$`, s.noteObserved)
	steps.Step(sc, `^client (\w+) pings$`, func(ctx context.Context, name string) error {
		return s.send(ctx, s.client(name), "ping", "", nil)
	})
	steps.Step(sc, `^client (\w+) gets a pong$`, s.getsPong)
	steps.Step(sc, `^client (\w+) sends "(.*)"$`, s.sendsBody)
	steps.Step(sc, `^client (\w+) sends a message of the type "(.*)"$`, s.sendsType)
	steps.Step(sc, `^the message of client (\w+) is answered with status 202$`, s.isAccepted)
	steps.Step(sc, `^client (\w+) is refused with "([^"]*)"$`, s.isRefused)
}

func (s *suite) connects(ctx context.Context, name string) error {
	c := s.client(name)
	c.begun = s.T.Len()
	c.conn, c.err = s.Open(ctx, driver.OpenOptions{Party: name, URL: s.codec.stream(), Header: s.Env.Profile.Header()})
	if steps.Unreachable(c.err) {
		return &steps.UnreachableError{Err: c.err}
	}
	if c.err == nil {
		s.RecordReach(steps.Opened)
	}
	return nil
}

func (s *suite) isConnected(ctx context.Context, name string) error {
	if err := s.connects(ctx, name); err != nil {
		return err
	}
	return s.greeted(ctx, s.client(name))
}

// opened judges that a client could connect.
func (s *suite) opened(c *client, clauses ...string) error {
	if c.err == nil {
		return nil
	}
	return s.Need(verdict.Finding{Clauses: clauses, Expected: "a connection", Observed: c.err.Error(), At: s.T.Len(),
		Miss: steps.NotOpened(c.err)})
}

func (s *suite) isGivenStream(_ context.Context, name string) error {
	c := s.client(name)
	if err := s.opened(c, "TD-001"); err != nil {
		return err
	}
	for _, r := range s.Between(name, c.begun, 0) {
		if r.Kind == transcript.Open {
			media, _, err := mime.ParseMediaType(r.Type)
			return s.Judge(steps.CheckOf(r, r.Status == http.StatusOK && err == nil && media == "text/event-stream",
				"HTTP 200 with text/event-stream", "TD-001"))
		}
	}
	return steps.NotTestedf("this driver records no HTTP response")
}

// greeted waits for the welcome, even if it is not the first event. Without its id an HTTP client cannot go on.
func (s *suite) greeted(ctx context.Context, c *client) error {
	if err := s.opened(c, "TD-002"); err != nil {
		return err
	}
	r, err := s.expect(ctx, c, steps.Wait{After: c.begun, Greeting: true, Match: event(welcome)}, "welcome", "TD-002")
	if err != nil {
		return err
	}
	c.id, c.mark = of(r, "client"), r.N
	s.RecordReach(steps.Greeted)
	return s.Need(steps.CheckOf(r, c.id != "", "a client that is not empty", "TD-002"))
}

// isWelcomed judges the first event as well.
func (s *suite) isWelcomed(ctx context.Context, name string) error {
	c := s.client(name)
	if err := s.opened(c, "TD-002"); err != nil {
		return err
	}
	first, err := s.expect(ctx, c, steps.Wait{After: c.begun, Greeting: true, Match: func(r *transcript.Record) bool {
		return r.Event != nil && r.Dir == transcript.Received
	}}, "an event", "TD-002")
	if err != nil {
		return err
	}
	if err := s.Judge(steps.CheckOf(first, is(&first, welcome), "welcome as the first event", "TD-002")); err != nil {
		return err
	}
	return s.greeted(ctx, c)
}

func (s *suite) idsDiffer(_ context.Context, a, b string) error {
	one, other := s.client(a).id, s.client(b).id
	return s.Judge(verdict.Finding{Clauses: []string{"TD-003"}, OK: one != other, At: s.client(b).mark,
		Expected: "a client other than " + one, Observed: other})
}

func (s *suite) noteObserved(ctx context.Context, name string) error {
	c := s.client(name)
	if err := s.greeted(ctx, c); err != nil {
		return err
	}
	for _, r := range s.Between(name, c.begun, 0) {
		if is(&r, welcome) {
			s.Observe("TD-005", fmt.Sprintf("the note %q", of(r, "note")))
		}
	}
	return nil
}

func (s *suite) getsPong(ctx context.Context, name string) error {
	c := s.client(name)
	r, err := s.expect(ctx, c, s.nextEffect(c, pong), "pong", "TD-008")
	if err != nil {
		return err
	}
	return s.Judge(s.checkRef(c, r, "TD-008"))
}

func (s *suite) sendsType(ctx context.Context, name, kind string) error {
	return s.send(ctx, s.client(name), kind, "", nil)
}

func (s *suite) sendsBody(ctx context.Context, name, body string) error {
	c := s.client(name)
	c.ref = ""
	return s.sendBytes(ctx, c, s.codec.carry(c.id, "a message", []byte(body)))
}

// codes maps a refusal's code to the clauses that require it.
var codes = map[string]string{"bad-message": "TD-007", "unknown-ticket": "TD-013", "closed": "TD-016", "busy": "TD-022"}

// isRefused judges a refusal.
func (s *suite) isRefused(ctx context.Context, name, code string) error {
	c, clause := s.client(name), codes[code]
	r, err := s.expect(ctx, c, s.nextEffect(c, refused), "refused with "+code, clause)
	if err != nil {
		return err
	}
	if c.ref != "" {
		if err := s.Judge(s.checkRef(c, r, clause)); err != nil {
			return err
		}
	}
	return s.Judge(steps.CheckOf(r, of(r, "code") == code, "the code "+code, clause),
		steps.CheckOf(r, of(r, "message") != "", "a message for people", "TD-009"))
}
