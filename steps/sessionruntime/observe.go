package sessionruntime

import (
	"parley/monitor"
	judge "parley/steps/sessionruntime/invariants"
)

// Apart implements steps.Apart: each connection is a bus with sessions of its own, whose ids may be those of others.
func (Protocol) Apart(string) bool { return true }

// Passive implements steps.Passive by the monitors of runs, as long as there are none of its own.
func (Protocol) Passive() []monitor.Monitor {
	all := judge.All()
	for i := range all {
		all[i].Passive = true
	}
	return all
}
