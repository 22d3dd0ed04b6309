package target

import (
	"context"

	"parley/internal/deadline"
)

// Resetter is a Running whose data can be reset.
type Resetter interface {
	// Reset runs Hooks.Reset, within Limits.Hook. It must not run while a scenario uses the target. *NotDeclaredError:
	// there is no such hook; *HookError: it failed; *UnreachableError: a target that was not started by us does not
	// listen within Limits.Hook after it.
	Reset(ctx context.Context) error
}

var (
	_ Resetter = (*Instance)(nil)
	_ Resetter = (*agents)(nil)
	_ Resetter = (*pipes)(nil)
)

// Reset implements Resetter. The hook may restart a target that was not started by us.
func (in *Instance) Reset(ctx context.Context) error {
	if err := reset(ctx, &in.lifetime, &in.setup); err != nil || in.profile.Command != nil {
		return err
	}
	in.life.RLock()
	defer in.life.RUnlock()
	ctx, cancel := in.bound(ctx)
	defer cancel()
	up, cancel := deadline.WithLimit(ctx, in.profile.Limits.Hook.Duration)
	defer cancel()
	return await(up, func(ctx context.Context) error { return listens(ctx, in.fill.url, probeWait) })
}

// Reset implements Resetter. It resets what agents have outside of their processes.
func (a *agents) Reset(ctx context.Context) error { return reset(ctx, &a.lifetime, &a.setup) }

// Reset implements Resetter. It resets what the processes have outside of themselves.
func (r *pipes) Reset(ctx context.Context) error { return reset(ctx, &r.lifetime, &r.setup) }

func reset(ctx context.Context, l *lifetime, s *setup) error {
	command := s.profile.Hooks.Reset
	if command == "" {
		return &NotDeclaredError{"hooks." + HookReset}
	}
	l.life.RLock()
	defer l.life.RUnlock()
	ctx, cancel := l.bound(ctx)
	defer cancel()
	_, err := s.shell(ctx, HookReset, command, nil)
	return err
}
