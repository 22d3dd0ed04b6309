package bundle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/agent/mutants"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/target"
)

// patience is how long the bundled agent waits for a state before asking for one.
const patience = 200 * time.Millisecond

// agents is the launch role of an agent.
var agents = launch.Role{
	Name: proto.Agent,
	Profile: `
protocol: external-agent
role: agent
name: bundled agent
capabilities: [reconnect]
external-agent: {session: "s-{nonce}"}
`,
	// A faulty agent may simply fall silent.
	Faulty:   fmt.Sprintf("external-agent: {agent: {pace: %v, join: %v}}\n", runner.MutantLimit, 2*runner.MutantLimit),
	Mutants:  mutants.Catalogue.All,
	Launcher: func(o launch.Options) target.Launcher { return caller{o.Fault} },
	Serve:    agentService,
}

// caller launches agents; each call runs one.
type caller struct{ fault string }

// Private implements target.Launcher: each launch is a separate target.
func (c caller) Private() bool { return true }

// Launch implements target.Launcher.
func (c caller) Launch(context.Context, target.LaunchOptions) (target.Running, error) {
	return &called{fault: c.fault}, nil
}

// called holds the agents of one launch.
type called struct {
	launch.InThisProcess
	fault string
	mu    sync.Mutex
	all   []*running
}

// running is one agent, running or finished.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
	exited chan struct{}
	err    error
}

// Call implements target.Caller.
func (a *called) Call(_ context.Context, o target.CallOptions) (target.Called, error) {
	options := agent.Options{URL: o.URL, Session: o.Session, StudyID: "pilot-01", ParticipantID: "P07", Patience: patience,
		GiveUp: launch.Unhurried, Limits: agent.Limits{Dial: launch.Unhurried, Write: launch.Unhurried}}
	if err := mutants.Catalogue.Put(a.fault, &options); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	one := &running{cancel: cancel, done: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		defer close(one.done)
		_, err := agent.Run(ctx, options)
		if ctx.Err() == nil {
			if one.err = err; err == nil {
				one.err = errors.New("exit status 0")
			}
			close(one.exited)
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
	return one, nil
}

// Exited implements target.Called.
func (a *running) Exited() <-chan struct{} { return a.exited }

// ExitErr implements target.Called.
func (a *running) ExitErr() error {
	select {
	case <-a.exited:
		return a.err
	default:
		return nil
	}
}

// Stderr implements target.Called.
func (a *running) Stderr() string { return "" }

// Stop implements target.Called.
func (a *running) Stop(ctx context.Context) error {
	a.cancel()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// BaseURL implements target.Running: an agent does not listen.
func (a *called) BaseURL() string { return "" }

// Stop implements target.Running.
func (a *called) Stop(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	for _, one := range a.all {
		err = errors.Join(err, one.Stop(ctx))
	}
	return err
}
