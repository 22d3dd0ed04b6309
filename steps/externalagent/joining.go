package externalagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cucumber/godog"

	"parley/driver"
	"parley/internal/stall"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// party is one connection of the harness: an agent, or, where the target is a relay, a host.
type party struct {
	name     string
	role     string // that of its relay.join
	session  string // the relay session
	conn     driver.Conn
	openErr  error
	opened   int // number of the record that asked for the connection
	looked   int // the last record that endedAt has seen
	ended    int // what it has found
	joined   bool
	last     *request // its latest request
	asked    []*request
	study    string // the study session that it was told of
	counting int    // the number of its next request; 0: its ids are unique in the run
	returned bool   // it has lost its connection since
	before   state  // what it was told before its latest call
	laid     laid   // the logs that lay there when its latest session was started
	schemas  int    // how many different toolSchemas it has met
}

func (s *suite) registerJoining(sc *godog.ScenarioContext) {
	steps.Step(sc, `^agent (\w+) connects$`, func(ctx context.Context, name string) error { return s.connect(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) is connected$`, func(_ context.Context, name string) error { return s.isConnected(s.party(name)) })
	steps.Step(sc, `^agent (\w+) joins$`, func(ctx context.Context, name string) error { return s.joins(ctx, s.party(name), nil) })
	steps.Step(sc, `^agent (\w+) joins the relay session "([\w-]+)"$`, func(ctx context.Context, name, session string) error {
		p := s.party(name)
		p.session = s.relaySession(session)
		return s.joins(ctx, p, nil)
	})
	steps.Step(sc, `^agent (\w+) is told that it has joined$`, func(ctx context.Context, name string) error { return s.isJoined(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) has joined$`, func(ctx context.Context, name string) error { return s.hasJoined(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) disconnects$`, func(name string) error { return s.disconnect(s.party(name), driver.Graceful) })
	steps.Step(sc, `^agent (\w+) loses its connection$`, func(name string) error { return s.disconnect(s.party(name), driver.Reset) })
	steps.Step(sc, `^the target is restarted$`, func(ctx context.Context) error { return s.restart(ctx, false) })
	steps.Step(sc, `^the target is killed and started again$`, func(ctx context.Context) error { return s.restart(ctx, true) })
}

// party finds a party by its name, or makes one.
func (s *suite) party(name string) *party {
	p, ok := s.parties[name]
	if !ok {
		p = &party{name: name, role: vocab.AgentRole, session: s.relaySession("")}
		s.parties[name] = p
	}
	return p
}

// connect opens a connection and remembers how that went; steps that follow judge it.
func (s *suite) connect(ctx context.Context, p *party) error {
	if p.conn != nil {
		_ = p.conn.Close(driver.Reset)
	}
	p.conn, p.joined, p.last = nil, false, nil
	p.opened = s.T.Len() // after the old connection's end
	p.looked, p.ended = p.opened, 0
	conn, err := s.Open(ctx, driver.OpenOptions{Party: p.name, URL: s.url(), Header: s.header()})
	s.mark, p.openErr = p.opened, err
	if err != nil {
		var refused *driver.OpenError
		if errors.As(err, &refused) && refused.Status != 0 {
			s.Reached(steps.Opened)
		}
		if steps.Unreachable(err) {
			return &steps.UnreachableError{Err: err}
		}
		return nil
	}
	s.Reached(steps.Greeted) // nothing is told before the join
	p.conn = conn
	return nil
}

// connected makes sure that a party has a connection that stands.
func (s *suite) connected(ctx context.Context, p *party) error {
	if p.conn == nil {
		if err := s.connect(ctx, p); err != nil {
			return err
		}
	}
	if p.openErr != nil {
		return s.Need(steps.Check{Clauses: []string{"EA-016", "EA-106"}, At: s.T.Len(), Expected: "a connection of its own for " + p.name, Observed: p.openErr.Error()})
	}
	return nil
}

// isConnected judges that the socket is accepted (EA-017).
func (s *suite) isConnected(p *party) error {
	check := steps.Check{Clauses: []string{"EA-017"}, OK: p.conn != nil, At: s.T.Len(),
		Expected: "the WebSocket handshake at " + s.wire.WS.Path + " accepted"}
	if p.openErr != nil {
		check.Observed = p.openErr.Error()
	}
	return s.Need(check)
}

// joins sends relay.join; edit may spoil its payload.
func (s *suite) joins(ctx context.Context, p *party, edit func(object)) error {
	if err := s.hostIsThere(ctx, p); err != nil {
		return err
	}
	body := object{"role": p.role, "sessionId": p.session}
	if edit != nil {
		edit(body)
	}
	_, err := s.ask(ctx, p, vocab.RelayJoin, body)
	return err
}

// isJoined judges the answer to relay.join (EA-028 to EA-030).
func (s *suite) isJoined(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.RelayJoin {
		return steps.NotTestedf("%s has not asked to join", p.name)
	}
	rec, err := s.needAnswer(ctx, q, vocab.RelayJoined, "EA-028", "EA-029", "EA-030", "EA-016", "EA-025", "EA-103", "EA-106")
	if err != nil {
		return err
	}
	p.joined = true
	s.Reached(steps.Given)
	body := payload(&rec)
	_ = s.Judge(steps.Check{Clauses: []string{"EA-028", "EA-103", "EA-106"}, OK: true, At: rec.N})
	for _, echo := range []struct{ clause, name, want string }{{"EA-029", "role", p.role}, {"EA-030", "sessionId", p.session}} {
		_ = s.Judge(steps.Check{Clauses: []string{echo.clause}, OK: body[echo.name] == echo.want, At: rec.N, Group: "relay.joined " + echo.name,
			Expected: fmt.Sprintf("payload.%s is %q, as in relay.join", echo.name, echo.want),
			Observed: fmt.Sprintf("payload.%s is %s", echo.name, wjson.Compact(body[echo.name]))})
	}
	return nil
}

// hasJoined makes sure that a party is in its relay session.
func (s *suite) hasJoined(ctx context.Context, p *party) error {
	if p.conn != nil && s.endedAt(p) > 0 {
		if p.study != "" {
			return s.Need(steps.Check{Clauses: []string{"EA-016"}, At: s.endedAt(p), Expected: "a connection that stays for the next message",
				Observed: steps.Seen(s.T.After(s.endedAt(p) - 1)[0])})
		}
		p.conn, p.joined, p.returned = nil, false, true // no clause forbids to end it with the session
	}
	if p.joined {
		return nil
	}
	if err := s.getsIn(ctx, p); err != nil {
		return err
	}
	return s.isJoined(ctx, p)
}

// getsIn asks to join. Who was there before, as scenarios that share one relay session were, may be taken for still there for
// a moment, and be refused: it is tried again within the event limit. The latest answer is left to be judged.
func (s *suite) getsIn(ctx context.Context, p *party) error {
	end := stall.In(s.Env.Event())
	for {
		if err := s.connected(ctx, p); err != nil {
			return err
		}
		if err := s.joins(ctx, p, nil); err != nil {
			return err
		}
		q := p.last
		rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: q.mark, Match: func(r *transcript.Record) bool { return answers(q.id)(r) || closed(r) }})
		if miss != nil || kindOf(&rec) == vocab.RelayJoined || !p.returned && !s.shared() || end.Over() {
			return nil
		}
		if closed(&rec) {
			p.conn = nil
		}
		s.pause(ctx)
	}
}

// pause lets a moment pass before something is tried again.
func (s *suite) pause(ctx context.Context) { s.pauseFor(ctx, 20*time.Millisecond) }

func (s *suite) pauseFor(ctx context.Context, d time.Duration) {
	ctx, cancel := stall.WithLimit(ctx, d)
	defer cancel()
	_, _ = s.T.Await(ctx, s.T.Len(), func(*transcript.Record) bool { return false })
}

func (s *suite) disconnect(p *party, how driver.CloseMode) error {
	if p.conn == nil {
		return steps.NotTestedf("%s has no connection", p.name)
	}
	err := p.conn.Close(how)
	p.conn, p.joined, p.last, p.returned = nil, false, nil, true
	s.mark = s.T.Len()
	return err
}

// restart ends the target and starts it again, at the same place. Everybody's connection is gone then.
func (s *suite) restart(ctx context.Context, kill bool) error {
	err := s.Target.Restart(ctx, kill)
	for _, p := range s.parties {
		if p.conn != nil {
			_ = s.disconnect(p, driver.Reset) // it may be gone already
		}
		p.study = ""
	}
	for session, pl := range s.plays {
		pl.stop()
		delete(s.plays, session)
	}
	var missing *target.NotDeclaredError
	switch {
	case errors.As(err, &missing):
		return steps.NotTestedf("%v", err)
	case err != nil:
		return s.Need(steps.Check{Expected: "the target ended and started again", Observed: err.Error()})
	}
	s.mark = s.T.Len()
	return nil
}

// closed matches the end of a connection by the target.
func closed(r *transcript.Record) bool {
	return r.Dir == transcript.Received && (r.Kind == transcript.Closed || r.Kind == transcript.Failure)
}
