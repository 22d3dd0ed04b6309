package bundled

import (
	"parley/model"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/mutants/agents"
	"parley/reference-server/mutants/catalogue"
	"parley/reference-server/mutants/hosts"
	"parley/reference-server/mutants/relays"
	"parley/runner"
	"parley/target"
)

// externalAgentMutants makes the catalogue of a role ready to run: each as a target of its own, over the one transport.
func externalAgentMutants(role string) []runner.Mutant {
	var rows []catalogue.Mutant
	switch role {
	case proto.Host, "":
		role, rows = proto.Host, hosts.All()
	case proto.Relay:
		rows = relays.All()
	case proto.Agent:
		rows = agents.All()
	}
	var out []runner.Mutant
	for _, m := range rows {
		out = append(out, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: []string{target.WS},
			Launch: func(*model.Brain) target.Launcher { return &BookingLauncher{Role: role, Fault: m.ID} }})
	}
	return out
}

// faultyRelay puts the fault of that id into the options; "" leaves them as they are. So do the others.
func faultyRelay(fault string, o relay.Options) (relay.Options, error) {
	if fault == "" {
		return o, nil
	}
	return relays.Options(fault, o)
}

func faultyHost(fault string, o externalagent.Options) (externalagent.Options, error) {
	if fault == "" {
		return o, nil
	}
	return hosts.Options(fault, o)
}

func faultyAgent(fault string, o agent.Options) (agent.Options, error) {
	if fault == "" {
		return o, nil
	}
	return agents.Options(fault, o)
}
