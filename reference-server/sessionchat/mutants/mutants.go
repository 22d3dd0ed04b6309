package mutants

import (
	_ "embed"
	"errors"

	"parley/internal/llm"
	"parley/reference-server/catalogue"
	"parley/reference-server/sessionchat"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var set = catalogue.New(catalogueYAML,
	keyFaults, echoFaults, contextFaults, idFaults, storageFaults, connectionFaults, switchingFaults, interruptFaults,
	busyFaults, requiredFaults, typeFaults, optionFaults, contentFaults, heartbeatFaults, memberFaults, orderFaults,
	fileFaults, limitFaults, queryFaults, cutFaults)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return set.All() }

// Handler returns the mutant with that id. It replaces Policy, Inbound and Outbound of the options. It fails as
// sessionchat.New does, and for an unknown id.
func Handler(id string, o sessionchat.Options) (*sessionchat.Server, error) {
	o.Policy, o.Inbound, o.Outbound = sessionchat.Policy{}, nil, nil
	if o.Store == nil {
		var err error
		if o.Store, err = sessionchat.OpenStore(o); err != nil {
			return nil, err
		}
	}
	if o.Backend == nil {
		o.Backend = llm.New()
	}
	put := set.Put
	if loadFaults[id] != nil {
		put = underLoad.Put
	}
	if err := put(id, &o); err != nil {
		return nil, errors.Join(err, o.Store.Close())
	}
	return sessionchat.New(o)
}
