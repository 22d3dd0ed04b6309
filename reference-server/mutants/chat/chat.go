package chat

import (
	_ "embed"
	"fmt"
	"maps"

	"parley/model"
	"parley/reference-server/mutants/catalogue"
	"parley/reference-server/sessionchat"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return rows() }

// Handler returns the mutant of that id. Policy, Inbound and Outbound of the options are replaced. It fails as
// sessionchat.New does, and for an id that has no row.
func Handler(id string, o sessionchat.Options) (*sessionchat.Server, error) {
	put, ok := faults()[id]
	if !ok {
		return nil, fmt.Errorf("no mutant %q", id)
	}
	o.Policy, o.Inbound, o.Outbound = nil, nil, nil
	if o.Store == nil {
		var err error
		if o.Store, err = sessionchat.OpenStore(o); err != nil {
			return nil, err
		}
	}
	if o.Backend == nil {
		o.Backend = model.New()
	}
	put(&o)
	return sessionchat.New(o)
}

// registered are the implementations, by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		keyFaults, echoFaults, contextFaults, idFaults, storageFaults, connectionFaults, switchingFaults, interruptFaults,
		busyFaults, requiredFaults, typeFaults, optionFaults, contentFaults, heartbeatFaults, memberFaults, orderFaults,
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
