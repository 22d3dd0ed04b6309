package target

import (
	"context"
	"io"
	"time"

	"parley/transport/driver"
)

// Running is a target that can be tested: a started process, one that runs elsewhere, or one within this process. It
// is safe for concurrent use.
type Running interface {
	// BaseURL returns the http(s) base URL, without a trailing slash; "" if the target connects to the harness.
	BaseURL() string

	// Hook runs one of the profile's hooks for an agent. *NotDeclaredError: there is no such hook; *HookError: it
	// failed.
	Hook(ctx context.Context, name string, agent CustomAgent) error

	// ConfigBytes returns bytes that identify the target's configuration. *NotDeclaredError: the profile does not say
	// where they are.
	ConfigBytes() ([]byte, error)

	// Restart stops the target, without grace if kill is set, and starts it again at the same BaseURL. It returns once
	// the target is ready. *NotDeclaredError: there is no way to restart it.
	Restart(ctx context.Context, kill bool) error

	// Stderr returns the end of the target's stderr; "" if it is unavailable.
	Stderr() string

	// Stop ends the target and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Exiter is a Running that can end by itself. Exited closes when it has ended other than by Stop or Restart (nil:
// never), and ExitErr then says how.
type Exiter interface {
	Exited() <-chan struct{}
	ExitErr() error
}

// Witness is a Running that knows when its target wrote what.
type Witness interface {
	// StderrBetween returns what the target wrote to its stderr from one time to another, as far as it is kept.
	StderrBetween(from, to time.Time) string
}

// Process is a Running that may be a process of this machine.
type Process interface {
	PID() int // 0 if it was not started by us, or does not run
}

// Speaker is a Running whose participant can be made to speak.
type Speaker interface {
	// Say makes the participant of a relay session say a text, as if typed. It returns once the text has been handed
	// over. *NotDeclaredError: there is no way to do that; *HookError: it failed.
	Say(ctx context.Context, relaySession, text string) error
}

// Caller is the Running of a target that Dials: it makes agents connect to the harness.
type Caller interface {
	// Call makes an agent connect to the harness. Several may be called concurrently. It does not wait for the
	// connection, nor does it fail if the agent exits at once; ctx bounds the start only. *StartError: the agent cannot
	// be started; *HookError: model.hook failed. The agent runs until it exits, or until its own Stop or that of the
	// Running.
	Call(ctx context.Context, o CallOptions) (Called, error)
}

// CallOptions are passed to an agent.
type CallOptions struct {
	URL     string    // of the harness's WebSocket, which the agent must connect to
	Session string    // the relay session to join; "" means "default"
	Stderr  io.Writer // receives the agent's stdout and stderr while it runs; nil: discarded
}

// Called is a called agent. It is safe for concurrent use.
type Called interface {
	// Exited closes when the agent has ended other than by Stop; nil: never, or unknown. ExitErr then says how it ended
	// (including "exit status 0"), and is nil before.
	Exited() <-chan struct{}
	ExitErr() error

	// Stderr returns the end of the agent's stderr; "" if it is unavailable.
	Stderr() string

	// Stop ends the agent and waits until nothing is left of it; once ctx has ended, without grace. It may be called
	// again.
	Stop(ctx context.Context) error
}

// Piper is the Running of a target that is reached by its stdin and stdout.
type Piper interface {
	// Pipe starts a process in its own scratch folder, to be reached by its stdin and stdout. Several may run in
	// parallel. It does not wait for the process to be ready, nor does it fail if the process exits at once; ctx bounds
	// the start only. *StartError: it cannot be started; *HookError: model.hook failed; *NotDeclaredError: the profile
	// has no driver stdio. The process runs until it exits, or until its own Stop or that of the Running.
	Pipe(ctx context.Context) (Piped, error)
}

// Piped is a process that is reached by its stdin and stdout. After it has exited, its children are killed, while its
// stdout and the last 64 KiB of its stderr remain readable. Stop ends its whole group.
type Piped = driver.Process

// Launcher starts targets.
type Launcher interface {
	// Launch starts a target, or checks that it can be reached. *UnreachableError or *StartError: a problem of the
	// environment. Every Running must be stopped.
	Launch(ctx context.Context, o LaunchOptions) (Running, error)

	// Private reports whether several targets can run at once, so that a scenario may have its own.
	Private() bool
}

// LaunchOptions are the run's settings for a target.
type LaunchOptions struct {
	ModelURL string // base URL of the model stub; "" when there is none
	Own      bool   // the target belongs to one scenario, which may restart it
	// receives the target's stdout and stderr while it runs, apart from Piped.Stdout; nil: discarded
	Stderr io.Writer
}
