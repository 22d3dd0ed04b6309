package sessionchat

import (
	"context"
	"errors"
	"fmt"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/sessionchat/invariants"
	"parley/target"
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
	conn, err := s.Open(ctx, driver.OpenOptions{Party: c.name, URL: s.bind.url(), Header: s.header()})
	s.mark, c.openErr = c.opened, err
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
	s.Reached(steps.Greeted) // no message is due before the first chat
	c.conn = conn
	return nil
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
	check := verdict.Finding{Clauses: []string{"SC-045"}, OK: c.conn != nil, At: s.T.Len(),
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
	for _, ss := range s.sessions {
		if t := ss.turn(); t != nil && t.client == name && !t.over {
			t.cut = true
		}
	}
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
	err := s.Target.Restart(ctx, kill)
	s.disconnectAll()
	var missing *target.NotDeclaredError
	switch {
	case errors.As(err, &missing):
		return steps.NotTestedf("%v", err)
	case err != nil:
		return s.Need(verdict.Finding{Expected: "the target " + how + " and started again", Observed: err.Error()})
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
	s.T.Remark("", "%s: %s", invariants.Resumes, fmt.Sprintf(format, args...))
}
