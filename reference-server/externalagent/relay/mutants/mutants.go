// Package mutants is the catalogue of faulty relays of external-agent: each is the bundled relay with one named fault
// that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, the faults in the other files, by subject. A fault changes a decision by
// relay.Policy, or frames on their way in or out.
package mutants

import (
	_ "embed"

	"parley/reference-server/catalogue"
)

//go:embed catalogue.yaml
var rows []byte

// Catalogue has the mutants. The state of a fault belongs to the options it is set up in, which make one relay.
var Catalogue = catalogue.New[options](rows,
	joinedFaults, joiningFaults, hostFaults, sessionFaults, routingFaults, lossFaults, orderFaults, replyFaults,
	contentFaults,
	envelopeFaults, refusalFaults, connectionFaults, cutFaults, memoryFaults)
