package hosts

import (
	_ "embed"
	"fmt"
	"maps"

	"parley/reference-server/externalagent"
	"parley/reference-server/mutants/catalogue"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return rows() }

// Options returns the options of the mutant of that id: o with the fault put into it. Policies and hooks that o has are
// replaced. It fails for an id that has no row.
func Options(id string, o externalagent.Options) (externalagent.Options, error) {
	put, ok := faults()[id]
	if !ok {
		return o, fmt.Errorf("no mutant %q", id)
	}
	o.Relay.Policy, o.Relay.Inbound, o.Relay.Outbound, o.Host = nil, nil, nil, nil
	put(&o)
	return o, nil
}

// registered are the implementations, by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		joinFaults, sessionFaults, formFaults, versionFaults, junkFaults, typeFaults, payloadFaults, startFaults, snapshotFaults,
		resultFaults, effectFaults, updateFaults, speechFaults, endFaults, resetFaults, errorFaults, gateFaults, toolFaults,
		paramFaults, failureFaults, answerFaults, handoverFaults, drawingFaults, backendFaults, logFaults, lineFaults, indexFaults, storeFaults,
	}
}

// faults are all implementations by id.
func faults() map[string]fault {
	all := map[string]fault{}
	for _, some := range registered() {
		maps.Copy(all, some)
	}
	return all
}
