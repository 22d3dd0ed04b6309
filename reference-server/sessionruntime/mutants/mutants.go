package mutants

import (
	_ "embed"
	"fmt"
	"maps"

	"parley/reference-server/catalogue"
	"parley/reference-server/sessionruntime"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return rows() }

// Options returns the options of the mutant of that id: o with the fault put into it. Seams that o has are replaced. It
// fails for an id that has no fault.
func Options(id string, o sessionruntime.Options) (sessionruntime.Options, error) {
	make, ok := faults()[id]
	if !ok {
		return o, fmt.Errorf("no mutant %q", id)
	}
	o.Seams = make
	return o, nil
}

// registered are the implementations, by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		inputFaults, payloadFaults, idFaults, acceptedFaults, ackFaults, timeoutFaults, mentionFaults, absentFaults,
		switchFaults,
		announceFaults, cancelFaults, canceledFaults, removeFaults, removedFaults, fallbackFaults, inviteFaults, addedFaults,
		handoverFaults, promptFaults, contextFaults, outputFaults, checkFaults, speechFaults, errorFaults, sessionFaults,
		broadcastFaults, mixedFaults,
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
