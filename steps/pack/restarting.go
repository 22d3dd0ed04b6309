package pack

import (
	"context"

	"github.com/cucumber/godog"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// restarting is the remark before the target is stopped or killed, and started again: rules know it as restarted.
const restarting = "the target is restarted"

func (s *suite) registerRestarting(sc *godog.ScenarioContext) {
	s.step(sc, `^the target is (restarted|killed and started again)$`, s.restarts)
}

// restarts stops the target and starts it again. For a stop the clients leave first; for a kill they stay connected.
// Afterwards none of them has a connection.
func (s *suite) restarts(ctx context.Context, how string) error {
	s.T.Remark("", restarting)
	kill := how != "restarted"
	if !kill {
		s.leaveAll()
	}
	err := s.Restart(ctx, kill)
	s.leaveAll()
	return err
}

func (s *suite) leaveAll() {
	for _, c := range s.clients {
		if c.conn != nil {
			_ = c.conn.Close(driver.Reset) // it may be gone already
			c.conn = nil
		}
	}
}

// isRestart reports whether a record says that the target is restarted.
func isRestart(r transcript.Record) bool { return r.Kind == transcript.Remark && r.Label == restarting }
