// Package mutants is the catalogue of faulty hosts of external-agent: each is the bundled relay and host with one named
// fault that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, the faults in the other files, by subject. A fault changes a decision by
// host.Policy or relay.Policy, rewrites messages on their way in or out, or wraps the store of the logs. A leak is
// sent before the reply to a request, so that it is on record when the reply arrives.
package mutants

import (
	_ "embed"

	"parley/reference-server/catalogue"
)

//go:embed catalogue.yaml
var rows []byte

// Catalogue has the mutants. The state of a fault belongs to the options it is set up in, which make one server.
var Catalogue = catalogue.New[options](rows,
	joinFaults, sessionFaults, formFaults, versionFaults, junkFaults, typeFaults, payloadFaults, startFaults,
	snapshotFaults,
	resultFaults, effectFaults, updateFaults, speechFaults, endFaults, resetFaults, errorFaults, gateFaults, toolFaults,
	paramFaults, failureFaults, answerFaults, handoverFaults, returnFaults, drawingFaults, backendFaults, logFaults,
	lineFaults, indexFaults,
	storeFaults, cutFaults)
