package agents

import (
	_ "embed"
	"fmt"
	"maps"

	"parley/reference-server/externalagent/agent"
	"parley/reference-server/mutants/catalogue"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return rows() }

// Options returns the options of the mutant of that id, to be used for one run. Policy, Inbound, Outbound and Dial are
// replaced. It fails for an id that has no row.
func Options(id string, o agent.Options) (agent.Options, error) {
	put, ok := faults()[id]
	if !ok {
		return agent.Options{}, fmt.Errorf("no mutant %q", id)
	}
	o.Policy, o.Inbound, o.Outbound, o.Dial = nil, nil, nil, nil
	put(&o)
	return o, nil
}

// registered are the implementations, by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		connectingFaults, joiningFaults, envelopeFaults, messageFaults, stateFaults, callFaults, survivalFaults,
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
