package bundled

import (
	"fmt"

	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/relay"
)

func faultyRelay(fault string, o relay.Options) (relay.Options, error) {
	if fault != "" {
		return o, fmt.Errorf("there is no mutant %q", fault)
	}
	return o, nil
}

func faultyHost(fault string, o externalagent.Options) (externalagent.Options, error) {
	if fault != "" {
		return o, fmt.Errorf("there is no mutant %q", fault)
	}
	return o, nil
}

func faultyAgent(fault string, o agent.Options) (agent.Options, error) {
	if fault != "" {
		return o, fmt.Errorf("there is no mutant %q", fault)
	}
	return o, nil
}
