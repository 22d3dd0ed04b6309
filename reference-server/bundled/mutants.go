package bundled

import (
	"parley/model"
	"parley/reference-server/agentselect"
	"parley/reference-server/mutants"
	"parley/runner"
	"parley/target"
)

// agentSelectMutants makes the catalogue ready to run: each as a target of its own, over the transport that certifies, or
// the one on which the fault shows.
func agentSelectMutants() []runner.Mutant {
	var out []runner.Mutant
	for _, m := range mutants.All() {
		drivers := []string{target.SSE}
		if len(m.Transports) == 1 {
			drivers = m.Transports
		}
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: drivers,
			Launch: func(b *model.Brain) target.Launcher {
				return &Launcher{Brain: b, Make: func(o agentselect.Options) (Handler, error) { return mutants.Handler(m.ID, o) }}
			}})
	}
	return out
}

// Delayed launches the server that is correct in everything but answers each message with the answer to the one before.
func Delayed(b *model.Brain) target.Launcher {
	return &Launcher{Brain: b, Make: func(o agentselect.Options) (Handler, error) { return mutants.Delayed(o) }}
}
