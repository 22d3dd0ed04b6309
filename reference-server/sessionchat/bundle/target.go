// Package bundle is what is bundled for session-chat: a server, its mutants, and how it is launched and served. A
// process of its own has its sessions in a file, so that they outlive it.
package bundle

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"time"

	"parley/llm/openai"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/reference-server/sessionchat/mutants"
	"parley/target"
)

// How long the server keeps a session that nobody uses in memory: short, so that resuming is a matter of course, and
// for mutants longer than a loaded machine may pause, as what a rest excuses would not kill them.
const (
	idle       = 200 * time.Millisecond
	mutantIdle = time.Second
)

//go:embed profile.yaml
var profile string

// Target is what is bundled.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "the WebSocket /chat/ws",
	Roles: []launch.Role{{
		Name:     target.Server,
		Profile:  profile + resting(idle),
		Faulty:   resting(mutantIdle),
		Mutants:  mutants.All,
		Models:   true,
		Make:     made,
		Restarts: true,
		Serve:    service,
	}},
}

// resting is what a profile says of how long sessions stay in memory.
func resting(d time.Duration) string { return fmt.Sprintf("session-chat: {idle: %v}\n", d) }

// made makes the correct server, or one with a fault.
func made(o launch.Options) (launch.Handler, error) {
	// Nothing but the turn itself takes its time.
	so := sessionchat.Options{Idle: idle, Limits: sessionchat.Limits{Store: launch.Unhurried, Write: launch.Unhurried}}
	if o.Brain != nil {
		so.Backend = o.Brain
	}
	if o.ModelURL != "" {
		so.Backend = openai.New(o.ModelURL+"/v1", "")
	}
	if o.Dir != "" {
		so.DB, so.Unsynced = filepath.Join(o.Dir, "sessions.db"), true
	}
	if o.Fault == "" {
		return sessionchat.New(so)
	}
	so.Idle = mutantIdle
	return mutants.Handler(o.Fault, so)
}
