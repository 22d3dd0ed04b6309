package target

import (
	"context"
	"io"

	"parley/driver"
)

// Running is a target that can be tested: a process that was started, one that runs elsewhere, or one within this
// process. It is safe for concurrent use.
type Running interface {
	// BaseURL is the http(s) base URL, without a slash at its end; "" where the target connects to the harness.
	BaseURL() string

	// Hook runs one of the profile's hooks about an agent. *NotDeclaredError: there is no such hook; *HookError: it
	// failed.
	Hook(ctx context.Context, name string, agent CustomAgent) error

	// ConfigBytes identifies the bytes of the target's configuration. *NotDeclaredError: nothing says where they are.
	ConfigBytes() ([]byte, error)

	// Restart ends the target, without grace if kill, and starts it again at the same BaseURL; it returns once the target
	// is ready. *NotDeclaredError: there is no way to restart it.
	Restart(ctx context.Context, kill bool) error

	// Stderr is the last of what the target wrote to stderr; "" where nobody knows.
	Stderr() string

	// Stop ends the target and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Exiter is what a Running that can end by itself offers beyond: Exited closes when the target has ended other than by
// Stop or Restart (nil: never), and ExitErr then says how.
type Exiter interface {
	Exited() <-chan struct{}
	ExitErr() error
}

// Speaker is what a Running offers beyond whose participant can be made to speak.
type Speaker interface {
	// Say makes the participant of a relay session say a text, as if it was typed; it returns once the text has been
	// handed over. *NotDeclaredError: there is no way to do that; *HookError: it failed.
	Say(ctx context.Context, relaySession, text string) error
}

// Caller is what the Running of a target that Dials offers beyond: the target connects to the harness, once it is
// called.
type Caller interface {
	// Call has an agent connect to the harness. Several may be called side by side. It does not wait for the agent to
	// come, nor does it fail where the agent ends at once; ctx bounds the start alone. *StartError: the agent cannot be
	// started; *HookError: model.hook failed. The agent lasts until it ends, or its own Stop or that of the Running.
	Call(ctx context.Context, o CallOptions) (Called, error)
}

// CallOptions is what an agent is told.
type CallOptions struct {
	URL     string    // of the harness's WebSocket: where it is to connect to
	Session string    // the relay session that it is to join; "" means "default"
	Stderr  io.Writer // gets what this agent writes to stdout and stderr while it runs; nil: nobody
}

// Called is an agent that was called. It is safe for concurrent use.
type Called interface {
	// Exited closes when the agent has ended other than by Stop; nil: never, or nobody knows. ExitErr then says how it
	// ended ("exit status 0" is how too), and is nil before.
	Exited() <-chan struct{}
	ExitErr() error

	// Stderr is the last of what the agent wrote to stderr; "" where nobody knows.
	Stderr() string

	// Stop ends the agent and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Piper is what the Running of a target offers beyond that speaks over its stdin and stdout.
type Piper interface {
	// Pipe starts a process that speaks, with a scratch folder of its own. Several may run side by side. It does not wait
	// for the process to be ready, nor does it fail where the process ends at once; ctx bounds the start alone.
	// *StartError: it cannot be started; *HookError: model.hook failed; *NotDeclaredError: the profile has no driver
	// stdio. The process lasts until it ends, or its own Stop or that of the Running.
	Pipe(ctx context.Context) (Piped, error)
}

// Piped is a process of a target that speaks. Its children are killed when it has ended, nothing is missing of what it
// wrote to stdout and the last 64 KiB of its stderr, and Stop ends its whole group.
type Piped = driver.Process

// Launcher starts targets.
type Launcher interface {
	// Launch starts a target, or checks that it can be reached. *UnreachableError or *StartError: the environment's fault.
	// Every Running must be stopped.
	Launch(ctx context.Context, o LaunchOptions) (Running, error)

	// Private reports whether several targets can be launched side by side, so that a scenario may have its own.
	Private() bool
}

// LaunchOptions is what only the run knows about a target.
type LaunchOptions struct {
	ModelURL string // base URL of the model stub; "" when there is none
	Own      bool   // the target is one scenario's own, which may restart it
	// gets what the target writes to stdout and stderr while it runs, apart from Piped.Stdout; nil: nobody
	Stderr io.Writer
}
