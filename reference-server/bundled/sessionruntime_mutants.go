package bundled

import (
	"parley/model"
	"parley/reference-server/mutants/runtimes"
	"parley/reference-server/sessionruntime"
	"parley/runner"
	"parley/target"
)

// sessionRuntimeMutants makes the catalogue ready to run: each as a target of its own, over one of the two transports, as none
// of the faults lies in a binding.
func sessionRuntimeMutants() []runner.Mutant {
	var out []runner.Mutant
	for _, m := range runtimes.All() {
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: []string{target.WS},
			Launch: func(*model.Brain) target.Launcher { return &RuntimeLauncher{Fault: m.ID} }})
	}
	return out
}

// faultyRuntime puts the fault of that id into the options; "" leaves them as they are.
func faultyRuntime(fault string, o sessionruntime.Options) (sessionruntime.Options, error) {
	if fault == "" {
		return o, nil
	}
	return runtimes.Options(fault, o)
}
