package examination

import (
	"context"
	"sync/atomic"

	"parley/target"
)

// sharedLauncher is a launcher that lends a running target to a run. The run may launch further targets of its own.
type sharedLauncher struct {
	target.Launcher
	running  target.Running
	modelURL string
	given    atomic.Bool
}

// Launch implements target.Launcher.
func (l *sharedLauncher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	if !l.given.Swap(true) {
		return sharedTarget{l.running}, nil
	}
	o.ModelURL = l.modelURL
	return l.Launcher.Launch(ctx, o)
}

// sharedTarget is a target that a run does not stop, because its owner does. It also offers the optional target
// interfaces.
type sharedTarget struct{ target.Running }

// Stop implements target.Running.
func (sharedTarget) Stop(context.Context) error { return nil }

// Say implements target.Speaker.
func (k sharedTarget) Say(ctx context.Context, relaySession, text string) error {
	if s, ok := k.Running.(target.Speaker); ok {
		return s.Say(ctx, relaySession, text)
	}
	return &target.NotDeclaredError{Key: "hooks.user-says"}
}

// PageURL implements target.Paged.
func (k sharedTarget) PageURL(relaySession string) (string, error) {
	if p, ok := k.Running.(target.Paged); ok {
		return p.PageURL(relaySession)
	}
	return "", &target.NotDeclaredError{Key: "page"}
}

// Reset implements target.Resetter.
func (k sharedTarget) Reset(ctx context.Context) error {
	if t, ok := k.Running.(target.Resetter); ok {
		return t.Reset(ctx)
	}
	return &target.NotDeclaredError{Key: "hooks.reset"}
}

// LogFolder implements target.LogKeeper.
func (k sharedTarget) LogFolder() (string, error) {
	if l, ok := k.Running.(target.LogKeeper); ok {
		return l.LogFolder()
	}
	return "", &target.NotDeclaredError{Key: "folder of logs"}
}

// Pipe implements target.Piper.
func (k sharedTarget) Pipe(ctx context.Context) (target.Piped, error) {
	if p, ok := k.Running.(target.Piper); ok {
		return p.Pipe(ctx)
	}
	return nil, &target.NotDeclaredError{Key: "driver " + target.Stdio}
}

// Call implements target.Caller.
func (k sharedTarget) Call(ctx context.Context, o target.CallOptions) (target.Called, error) {
	if c, ok := k.Running.(target.Caller); ok {
		return c.Call(ctx, o)
	}
	return nil, &target.NotDeclaredError{Key: "agent that could be called"}
}
