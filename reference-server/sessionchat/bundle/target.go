// Package bundle has the bundled targets of session-chat (a server), their mutants, and how to launch and serve them.
// A separate server process keeps its sessions in a file, so that they survive it.
package bundle

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"time"

	"parley/internal/llm/openai"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/reference-server/sessionchat/mutants"
	"parley/target"
)

// How long the server keeps an idle session in memory: short for the correct server, so that sessions are resumed
// often; for mutants longer than a loaded machine may pause, because a fault that idle eviction could excuse does not
// kill a mutant.
const (
	idle       = 200 * time.Millisecond
	mutantIdle = 5 * time.Second
)

//go:embed profile.yaml
var profile string

// Target has the bundled targets of the protocol.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "the WebSocket /chat/ws",
	Types:    []string{"/message_type", "/type"},
	Roles: []launch.Role{{
		Name:        target.Server,
		Profile:     profile + idleLimits(idle),
		Faulty:      idleLimits(mutantIdle),
		Mutants:     mutants.All,
		LoadMutants: mutants.Load,
		Models:      true,
		Make:        makeServer,
		Restarts:    true,
		Serve:       service,
	}},
}

// idleLimits returns the part of a profile that says how long sessions stay in memory.
func idleLimits(d time.Duration) string { return fmt.Sprintf("session-chat: {idle: %v}\n", d) }

// makeServer makes the correct server, or one with a fault.
func makeServer(o launch.Options) (launch.Handler, error) {
	// Only the turn itself may take time.
	so := sessionchat.Options{Idle: idle, Limits: sessionchat.Limits{Store: launch.Unhurried, Write: launch.Unhurried,
		Connections: o.Connections, Sessions: 2 * o.Connections}}
	if o.Connections > 0 { // under load, what the correct server forgets so early costs more than it shows
		so.Idle = 0
	}
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
