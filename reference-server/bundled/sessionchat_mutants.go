package bundled

import (
	"parley/model"
	"parley/reference-server/mutants/chat"
	"parley/reference-server/sessionchat"
	"parley/runner"
	"parley/target"
)

// sessionChatMutants makes the catalogue ready to run: each as a target of its own, over the one transport.
func sessionChatMutants() []runner.Mutant {
	var out []runner.Mutant
	for _, m := range chat.All() {
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: []string{target.WS},
			Launch: func(b *model.Brain) target.Launcher { return &ChatLauncher{Brain: b, Fault: m.ID} }})
	}
	return out
}

// faultyChat makes the mutant of that id.
func faultyChat(fault string, o sessionchat.Options) (Handler, error) { return chat.Handler(fault, o) }
