package steps

import (
	"context"
	"errors"

	"parley/features/verdict"
	"parley/target"
	"parley/transport/driver"
)

// Connect opens the connection of a client, by which the target has got so far. Why it was refused is left to be judged
// by later steps; err says that the target cannot be reached, which ends the scenario.
func (w *World) Connect(ctx context.Context, o driver.OpenOptions, so Reach) (c driver.Conn, refused, err error) {
	c, refused = w.Open(ctx, o)
	if refused == nil {
		w.RecordReach(so)
		return c, nil, nil
	}
	var answered *driver.OpenError
	if errors.As(refused, &answered) && answered.Status != 0 {
		w.RecordReach(Opened)
	}
	if Unreachable(refused) {
		err = &UnreachableError{Err: refused}
	}
	return nil, refused, err
}

// Restart stops the target, or kills it, and starts it again at the same place.
func (w *World) Restart(ctx context.Context, kill bool) error {
	how := map[bool]string{true: "killed", false: "stopped"}[kill]
	err := w.Target.Restart(ctx, kill)
	var missing *target.NotDeclaredError
	switch {
	case errors.As(err, &missing):
		return NotTestedf("%v", err)
	case err != nil:
		return w.Need(verdict.Finding{Expected: "the target " + how + " and started again", Observed: err.Error()})
	}
	return nil
}
