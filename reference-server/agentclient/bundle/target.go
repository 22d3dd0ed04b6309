// Package bundle has the bundled target of agent-client (a page), its mutants, and how to launch it and to serve it
// beside an agent-select server.
package bundle

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"

	proto "parley/protocol/agentclient"
	"parley/reference-server/agentclient"
	"parley/reference-server/agentclient/mutants"
	server "parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/target"
)

//go:embed profile.yaml
var profile string

// faulty overrides the profile for mutants: a faulty selector may have another id.
var faulty = fmt.Sprintf(`
limits: {quiet: 100ms}
agent-client: {hooks: {selector: "#%s, #%s"}}
`, proto.SelectorID, mutants.OtherSelectorID)

// Target has the bundled target of the protocol.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "a chat page, with an agent-select server for it or for another one",
	Roles:    []launch.Role{client(made)},
	Peers:    server.Target.Roles,
}

// client is the only role. make makes the page with the fault; "" means none.
func client(make func(fault string) (*agentclient.Page, error)) launch.Role {
	return launch.Role{
		Name:    proto.Client,
		As:      launch.NotPlayed,
		Profile: profile,
		Faulty:  faulty,
		Mutants: mutants.Rows,
		Make: func(o launch.Options) (launch.Handler, error) {
			page, err := make(o.Fault)
			return endless{page}, err
		},
		Serve: service,
	}
}

// made makes the correct page, or one with a fault.
func made(fault string) (*agentclient.Page, error) {
	o, err := mutants.Options(fault, agentclient.Options{})
	if err != nil {
		return nil, err
	}
	return agentclient.New(o), nil
}

// Launcher serves pages with patched files.
func Launcher(patch func(name string, body []byte) []byte) target.Launcher {
	page := func(string) (*agentclient.Page, error) {
		return agentclient.New(agentclient.Options{Patch: patch}), nil
	}
	return client(page).InProcess(launch.Options{})
}

// endless is a handler that needs no closing.
type endless struct{ http.Handler }

// Close implements launch.Handler.
func (endless) Close(context.Context) error { return nil }
