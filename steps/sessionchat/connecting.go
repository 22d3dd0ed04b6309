package sessionchat

import (
	"context"
	"fmt"
	"strings"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/sessionchat/model"
	"parley/transport/driver"
)

func (s *suite) registerConnecting(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) connects$`, func(ctx context.Context, name string) error {
		return s.connect(ctx, s.client(name))
	})
	steps.Step(sc, `^client (\w+) is connected$`, s.isConnected)
	steps.Step(sc, `^client (\w+) (disconnects|loses its connection)$`, func(name, how string) error {
		if how == "disconnects" {
			return s.disconnect(name, driver.Graceful)
		}
		return s.disconnect(name, driver.Reset)
	})
	steps.Step(sc, `^the target is (restarted|killed and started again)$`, func(ctx context.Context, how string) error {
		return s.restart(ctx, how != "restarted")
	})
}

// connect opens a connection and records the result for later steps to judge.
func (s *suite) connect(ctx context.Context, c *client) error {
	if c.conn != nil {
		s.endsTurnsOver(c)
		_ = c.conn.Close(driver.Reset)
	}
	c.conn = nil
	c.opened = s.T.Len() // after the end of the old connection
	s.mark = c.opened
	var err error // no message is due before the first chat
	c.conn, c.openErr, err = s.Connect(ctx, driver.OpenOptions{Party: c.name, URL: s.bind.url(), Header: s.header()},
		steps.Greeted)
	return err
}

// connected ensures that a client has a connection.
func (s *suite) connected(ctx context.Context, c *client) error {
	if c.conn == nil {
		if err := s.connect(ctx, c); err != nil {
			return err
		}
	}
	if c.openErr != nil {
		return steps.NotTestedf("client %s could not connect: %v", c.name, c.openErr)
	}
	return nil
}

// isConnected judges that the socket is accepted (SC-045).
func (s *suite) isConnected(_ context.Context, name string) error {
	c := s.client(name)
	if c.conn == nil && c.openErr == nil {
		return steps.NotTestedf("client %s has not connected", name)
	}
	check := verdict.Finding{Clauses: []string{"SC-045"}, OK: c.conn != nil, At: s.T.Len(), Judge: verdict.ByConnection,
		Expected: "the WebSocket handshake at " + s.bind.wire.WS.Path + " accepted"}
	if c.openErr != nil {
		check.Observed, check.Miss = c.openErr.Error(), steps.NotOpened(c.openErr)
	}
	return s.Need(check)
}

func (s *suite) disconnect(name string, how driver.CloseMode) error {
	c := s.client(name)
	if c.conn == nil {
		return steps.NotTestedf("client %s has no connection", name)
	}
	s.endsTurnsOver(c)
	err := c.conn.Close(how)
	c.conn = nil
	s.mark = s.T.Len()
	return err
}

// restart stops the target and starts it again at the same place with the same data. For a stop the clients leave
// first; for a kill they stay connected, whatever is running.
func (s *suite) restart(ctx context.Context, kill bool) error {
	how := "killed"
	if !kill {
		how = "stopped"
		s.disconnectAll()
	}
	err := s.Restart(ctx, kill)
	s.disconnectAll()
	if err != nil {
		return err
	}
	s.resumes("the target was %s and started again", how)
	s.mark = s.T.Len()
	return nil
}

func (s *suite) disconnectAll() {
	for name, c := range s.clients {
		if c.conn != nil {
			_ = s.disconnect(name, driver.Reset) // it may already be gone
		}
	}
}

// resumes records that sessions may have left the target's memory, and may be resumed from now on.
func (s *suite) resumes(format string, args ...any) {
	s.T.Remark("", "%s: %s", model.Resumes, fmt.Sprintf(format, args...))
}

// Courses implements steps.Severer. The source promises that a session outlives its connection and the process (SC-059,
// SC-023, SC-016), and that a turn of one session does not affect the others; it does not say what happens to the
// running turn (SC-G06), so that is not judged.
func (Protocol) Courses(string) []steps.Course {
	return []steps.Course{{
		ID: "chat", Name: "two sessions with whole, streamed and interrupted turns", Party: "A",
		Tags: strings.Fields(`@SC-008 @SC-013 @SC-016 @SC-016a @SC-021 @SC-023 @SC-027 @SC-028 @SC-041 @SC-050 @SC-059
			@model`),
		Lines: []string{
			`When client A chats with "red"`, `Then client A is answered by "red"`,
			`When client A pings`, `Then client A gets a pong`,
			`When client A chats with "red" in a turn of 5 pieces`, `Then client A is answered by "red"`,
			`When client A starts a turn of "blue" that is held`,
			`Then client A receives a message of the turn of "blue" while it runs`,
			`When client A interrupts "blue"`, `Then the turn of "blue" is interrupted`,
			`When client A chats with "blue"`, `Then client A is answered by "blue"`,
		},
		Back: []string{
			steps.ComesBack, `Then every session that was known continues`,
			`When client A chats with "green"`, `Then client A is answered by "green"`,
			`And the model was sent no turn of another session for "green"`,
		},
	}}
}

func (s *suite) registerSevering(sc *godog.ScenarioContext) {
	steps.Step(sc, `^every session that was known continues$`, s.everyKnownSessionGoesOn)
}

// severed marks a connection that was cut on purpose as lost.
func (s *suite) severed(party string, by steps.Way) error {
	s.disconnectAll()
	if c := s.client(party); c.conn != nil {
		_ = s.disconnect(party, driver.Reset)
	}
	for _, ss := range s.sessions {
		for _, t := range ss.turns {
			if t.held && s.Env.Brain != nil {
				s.Env.Brain.Release(t.nonce)
			}
		}
	}
	if by == steps.ByKill {
		s.resumes("the target was killed and started again")
	}
	s.mark = s.T.Len()
	return nil
}

// everyKnownSessionGoesOn judges that each session continues in which a turn had ended before the cut. Other messages
// from before the process was killed may not have been stored.
func (s *suite) everyKnownSessionGoesOn(ctx context.Context) error {
	for name, ss := range s.sessions {
		if len(ss.turns) == 0 || s.became(ss.turns[0]).Result().N == 0 {
			delete(s.sessions, name)
		}
	}
	return s.everySessionGoesOn(ctx)
}
