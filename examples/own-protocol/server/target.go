package server

import (
	_ "embed"

	"parley/reference-server/catalogue"
	"parley/reference-server/launch"
	"parley/target"
)

//go:embed mutants.yaml
var mutants []byte

// Target is the reference server as Parley's commands use it: judged without --target, mutated and served.
var Target = launch.Target{
	Protocol: "ticket-desk",
	Short:    "a ticket desk at /desk/events and /desk/ws",
	Roles: []launch.Role{{
		Name:    target.Server,
		Profile: "protocol: ticket-desk\nname: reference desk\ndrivers: [sse, ws]\ncapabilities: [history]\n",
		Mutants: catalogue.Reader(mutants),
		Make:    func(o launch.Options) (launch.Handler, error) { return New(o.Fault) },
		Serve: launch.Service{
			Long:  "A ticket desk, whose agent repeats what it is told.",
			Paths: []string{"/desk/events", "/desk/ws"},
		},
	}},
}
