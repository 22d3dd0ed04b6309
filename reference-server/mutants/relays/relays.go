package relays

import (
	_ "embed"
	"fmt"
	"maps"

	"parley/reference-server/externalagent/relay"
	"parley/reference-server/mutants/catalogue"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return rows() }

// Options returns the options of the mutant of that id, to be used for one relay. Policy, Inbound and Outbound are replaced. It
// fails for an id that has no row.
func Options(id string, o relay.Options) (relay.Options, error) {
	put, ok := faults()[id]
	if !ok {
		return relay.Options{}, fmt.Errorf("no mutant %q", id)
	}
	o.Policy, o.Inbound, o.Outbound = nil, nil, nil
	put(&o)
	return o, nil
}

// registered are the implementations, by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		joinedFaults, joiningFaults, hostFaults, sessionFaults, routingFaults, lossFaults, orderFaults, replyFaults,
		contentFaults, envelopeFaults, refusalFaults, connectionFaults,
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
