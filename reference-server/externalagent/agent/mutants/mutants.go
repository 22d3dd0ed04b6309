// Package mutants is the catalogue of faulty agents of external-agent: each is the bundled agent with one named fault
// that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, the faults in the other files, by subject. A fault changes a decision by
// agent.Policy, or envelopes, frames and connections on their way.
package mutants

import (
	_ "embed"

	"parley/reference-server/catalogue"
)

//go:embed catalogue.yaml
var rows []byte

// Catalogue has the mutants. The state of a fault belongs to the options it is set up in, which make one agent.
var Catalogue = catalogue.New[options](rows,
	connectingFaults, joiningFaults, envelopeFaults, messageFaults, stateFaults, callFaults, survivalFaults,
	cutFaults)
