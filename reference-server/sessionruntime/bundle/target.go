// Package bundle has the bundled targets of session-runtime (an orchestrator behind a WebSocket or on stdin and
// stdout), their mutants, and how to launch and serve them.
package bundle

import (
	"context"
	_ "embed"
	"io"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/launch"
	"parley/reference-server/sessionruntime"
	"parley/reference-server/sessionruntime/mutants"
	"parley/target"
)

//go:embed profile.yaml
var profile string

// Target has the bundled targets of the protocol.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "an orchestrator at the WebSocket /bus/ws, or on stdin and stdout: the client is the message bus",
	Types:    []string{"/subtype", "/metadata/subtype", "/event", "/parley"},
	Roles: []launch.Role{{
		Name:        target.Server,
		As:          "orchestrator",
		Profile:     profile,
		Mutants:     mutants.All,
		LoadMutants: mutants.Load,
		Renews:      true,
		Make: func(o launch.Options) (launch.Handler, error) {
			so, err := faultOptions(o.Fault)
			if err != nil {
				return nil, err
			}
			so.Limits.Connections = o.Connections
			return sessionruntime.NewServer(so)
		},
		Speak: func(ctx context.Context, o launch.Options, in io.Reader, out io.Writer) error {
			so, err := faultOptions(o.Fault)
			if err != nil {
				return err
			}
			return sessionruntime.ServeStdio(ctx, in, out, so)
		},
		Serve: service,
	}},
}

// faultOptions returns the options of the correct orchestrator, or of one with the fault.
func faultOptions(fault string) (sessionruntime.Options, error) {
	o := sessionruntime.Options{Limits: sessionruntime.Limits{Write: launch.Unhurried}}
	if fault == "" {
		return o, nil
	}
	return mutants.Options(fault, o)
}
