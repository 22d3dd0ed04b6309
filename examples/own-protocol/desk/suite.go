package desk

import (
	"context"
	"fmt"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// suite is the ticket-desk part of one scenario.
type suite struct {
	*steps.World
	codec   codec
	clients map[string]*client
	tickets []string // ids of all opened tickets
}

// client is one client of a scenario.
type client struct {
	name   string
	conn   driver.Conn
	err    error  // why it could not connect
	begun  int    // number of the record that connected it
	id     string // assigned by the server
	ticket string
	mark   int      // record of its latest message
	ref    string   // of that message
	said   []string // texts that it has sent in its ticket
}

func (s *suite) client(name string) *client {
	if s.clients[name] == nil {
		s.clients[name] = &client{name: name}
	}
	return s.clients[name]
}

// send sends a message of a client, and remembers its record for later waits.
func (s *suite) send(ctx context.Context, c *client, kind, ticket string, rest map[string]any) error {
	c.ref = s.nextRef()
	m, err := s.codec.message(c.id, kind, c.ref, ticket, rest)
	if err != nil {
		return err
	}
	return s.sendBytes(ctx, c, m)
}

// nextRef returns a ref that is unique in the run.
func (s *suite) nextRef() string { return fmt.Sprintf("%s-%d", s.Nonce, s.Serial()) }

// sendBytes sends bytes. Over HTTP it waits for the response, so that the server receives the next message after this
// one.
func (s *suite) sendBytes(ctx context.Context, c *client, m driver.Message) error {
	if c.conn == nil {
		return steps.NotTestedf("client %s has no connection", c.name)
	}
	mark, err := c.conn.Send(ctx, m)
	if err != nil {
		return fmt.Errorf("client %s: send %s: %w", c.name, m.Label, err)
	}
	c.mark = mark
	if s.codec.ws {
		return nil
	}
	_, err = s.awaitResponse(ctx, c)
	return err
}

// awaitResponse waits for the HTTP response to a client's latest message.
func (s *suite) awaitResponse(ctx context.Context, c *client) (transcript.Record, error) {
	r, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.mark, Within: s.Env.Profile.Limits.HTTP.Duration,
		Match: func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == c.mark },
		Hopeless: func(r *transcript.Record) string {
			if r.Kind == transcript.Failure && r.Reply == c.mark {
				return r.Label
			}
			return ""
		}})
	if miss != nil {
		return r, s.Need(miss.Check("an HTTP answer with status 202", "TD-006"))
	}
	return r, nil
}

func (s *suite) isAccepted(ctx context.Context, name string) error {
	r, err := s.awaitResponse(ctx, s.client(name))
	if err != nil {
		return err
	}
	return s.Judge(steps.CheckOf(r, r.Status == 202, "status 202", "TD-006"))
}

// expect waits for an event that these clauses require on a client's connection.
func (s *suite) expect(ctx context.Context, c *client, w steps.Wait, want string, clauses ...string) (
	transcript.Record, error) {
	w.Conn = c.name
	r, miss := s.Await(ctx, w)
	if miss != nil {
		return r, s.Need(miss.Check(want, clauses...))
	}
	return r, nil
}

// checkRef checks that an event has the ref of its client's latest message.
func (s *suite) checkRef(c *client, r transcript.Record, clause string) verdict.Finding {
	return steps.CheckOf(r, of(r, "ref") == c.ref, "the ref "+c.ref, clause)
}

// fence sends a ping. According to the document, the immediate effects of earlier messages come before its pong.
func (s *suite) fence(c *client) func(context.Context) func(*transcript.Record) bool {
	return func(ctx context.Context) func(*transcript.Record) bool {
		ref := s.nextRef()
		m, err := s.codec.message(c.id, "ping", ref, "", nil)
		if err != nil {
			return nil
		}
		if _, err := c.conn.Send(ctx, m); err != nil {
			return nil
		}
		return func(r *transcript.Record) bool { return is(r, pong) && of(*r, "ref") == ref }
	}
}

// nextEffect is the wait for an immediate effect of a client's latest message. An event with the ref of another message
// is no match: the server may have sent it to the wrong client, which another clause forbids.
func (s *suite) nextEffect(c *client, types ...string) steps.Wait {
	return steps.Wait{After: c.mark, Fence: s.fence(c), Match: func(r *transcript.Record) bool {
		ref := of(*r, "ref")
		return is(r, types...) && (ref == c.ref || ref == "")
	}}
}

// awaitEffects proves that all immediate effects of a client's messages have arrived. Without that proof an absence
// says nothing.
func (s *suite) awaitEffects(ctx context.Context, c *client) (last int, err error) {
	after := s.T.Len()
	answer := s.fence(c)(ctx)
	if answer == nil {
		return 0, steps.NotTestedf("client %s cannot send a ping", c.name)
	}
	r, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: after, Proof: true, Match: answer})
	if miss != nil {
		return 0, steps.NotTestedf("no pong for client %s, so absence is not proved: %s", c.name, miss.Reason)
	}
	return r.N, nil
}

// judgeAbsence judges that no record of a client between one record and a fence matches.
func (s *suite) judgeAbsence(ctx context.Context, c *client, after int, match func(*transcript.Record) bool,
	want string, clauses ...string) error {
	last, err := s.awaitEffects(ctx, c)
	if err != nil {
		return err
	}
	for _, r := range s.Between(c.name, after, last) {
		if match(&r) {
			return s.Judge(steps.CheckOf(r, false, want, clauses...))
		}
	}
	return s.Judge(verdict.Finding{Clauses: clauses, OK: true, At: last})
}
