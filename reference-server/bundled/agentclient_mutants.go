package bundled

import (
	"time"

	"parley/model"
	"parley/reference-server/mutants/pages"
	"parley/runner"
	"parley/target"
)

// agentClientMutants makes the catalogue ready to run: each as a target of its own.
func agentClientMutants() []runner.Mutant {
	var out []runner.Mutant
	for _, m := range pages.All() {
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: []string{target.Browser},
			Launch: func(*model.Brain) target.Launcher { return &PageLauncher{Patch: m.Patch} }})
	}
	return out
}

// faultyPage changes the profile of the bundled page to that of its mutants: a fault may well be that the selector has another id.
func faultyPage(p *target.Profile) {
	p.Limits.Quiet.Duration = 100 * time.Millisecond
	p.AgentClient.Hooks.Selector += ", #" + pages.OtherSelectorID
}
