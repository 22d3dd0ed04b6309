package bundle

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"parley/internal/words"
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

var agentService = launch.Service{
	Long: "an agent, not a server: it books a ticket at --url, logs its\nsteps to stderr and prints the result. " +
		"Exit 0 if it has\nbooked, 1 if not",
	Paths:     []string{proto.Path},
	Examples:  []string{"--url ws://127.0.0.1:8124/agent/ws"},
	NotServer: "an agent is not a server (leave it out; a token goes into --url, as its parameter token)",
	Flags: func(f *pflag.FlagSet) launch.Serving {
		at := f.String("url", "", "`URL` of the relay and host where the agent books")
		session := f.String("session", "", "`NAME` of the relay session that the agent joins (default default)")
		return launch.Serving{Run: func(ctx context.Context,
			p launch.Place) error {
			return bookOnce(ctx, *at, *session, p)
		}}
	},
}

// bookOnce runs the bundled agent once and prints the result.
func bookOnce(ctx context.Context, at, session string, p launch.Place) error {
	at, err := relayURL(at)
	if err != nil {
		return err
	}
	out, err := agent.Run(ctx, agent.Options{URL: at, Session: session, Log: p.Log})
	if ctx.Err() != nil {
		return context.Canceled
	}
	if err != nil {
		fmt.Fprintf(p.Err, "parley: %v\n", err)
	}
	fmt.Fprintln(p.Out, resultOf(out))
	if !out.Booked || err != nil {
		return launch.ErrInVain
	}
	return nil
}

// relayURL returns the URL of a relay's WebSocket; a URL without a path gets the default one.
func relayURL(text string) (string, error) {
	const mend = "write it like ws://127.0.0.1:8124/agent/ws"
	if text == "" {
		return "", launch.Usagef("--url is missing: name the relay of the host at which the agent books (%s)", mend)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" && u.Scheme != "http" && u.Scheme != "https" {
		return "", launch.Usagef("--url: %q is not the URL of a WebSocket (%s)", text, mend)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = proto.Path
	}
	return u.String(), nil
}

// resultOf formats the outcome of an agent's run as one line.
func resultOf(out agent.Outcome) string {
	text := "not booked"
	if out.Booked {
		text = "booked"
	}
	calls, connections := words.Counted(out.Calls, "call"), words.Counted(out.Connections, "connection")
	text += fmt.Sprintf(": %s, %d of them failed, over %s", calls, out.Failed, connections)
	if out.Session != "" {
		text += "; session " + out.Session
	}
	if !out.Ended {
		text += "; the session has not ended"
	}
	if out.LogFile != "" {
		text += ", log " + out.LogFile
	}
	return strings.Join(strings.Fields(text), " ") // as one line
}
