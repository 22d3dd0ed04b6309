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

// Options returns o with the fault of the mutant put into it, replacing o's Seams. It fails for an unknown id.
func Options(id string, o sessionruntime.Options) (sessionruntime.Options, error) {
	make, ok := faults()[id]
	if lasting, cut := cutFaults[id]; cut {
		make, ok = lasting(), true
	}
	if shared, load := loadFaults[id]; load {
		make, ok = shared(), true
	}
	if !ok {
		return o, fmt.Errorf("no mutant %q", id)
	}
	o.Seams = make
	return o, nil
}

// registered returns the implementations by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		inputFaults, payloadFaults, idFaults, acceptedFaults, ackFaults, timeoutFaults, mentionFaults, absentFaults,
		switchFaults,
		announceFaults, cancelFaults, canceledFaults, removeFaults, removedFaults, fallbackFaults, inviteFaults, addedFaults,
		handoverFaults, promptFaults, contextFaults, outputFaults, checkFaults, speechFaults, errorFaults, sessionFaults,
		broadcastFaults, mixedFaults,
	}
}

// faults returns all implementations by id.
func faults() map[string]fault {
	all := map[string]fault{}
	for _, some := range registered() {
		maps.Copy(all, some)
	}
	return all
}
