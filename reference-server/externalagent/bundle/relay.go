package bundle

import (
	"log/slog"

	"github.com/spf13/pflag"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/relay/mutants"
	"parley/reference-server/launch"
	"parley/target"
)

// relaying is the launch role of a relay.
var relaying = launch.Role{
	Name: proto.Relay,
	Profile: `
protocol: external-agent
role: relay
name: bundled relay
capabilities: [two-agents]
external-agent: {session: "s-{nonce}"}
`,
	Mutants:     mutants.Catalogue.All,
	LoadMutants: mutants.UnderLoad.All,
	Files:       true,
	Restarts:    true,
	Make: func(o launch.Options) (launch.Handler, error) {
		ro := relay.Options{Limits: roomFor(o.Connections)}
		if err := mutants.Put(o.Fault, &ro); err != nil {
			return nil, err
		}
		return relay.New(ro)
	},
	Extend: func(s *launch.Server) target.Running { return logging{s} }, // a check that a relay writes no log
	Serve: launch.Service{
		Long:  "a relay alone, for hosts and agents to join",
		About: "A relay alone: it passes messages between a host and the agents that join the same relay session.",
		Endpoints: []launch.Endpoint{
			{Method: launch.Socket, Path: proto.Path, About: "where hosts and agents join"}, launch.Health,
		},
		Paths:    []string{proto.Path},
		Announce: []launch.Endpoint{{Method: launch.Socket, Path: proto.Path}},
		Flags: func(*pflag.FlagSet) launch.Serving {
			return launch.Serving{Make: func(at launch.Place) (launch.Handler, error) {
				return relay.New(relay.Options{Origins: at.AllowOrigins, Policy: loggingPolicy(at.Log)})
			}}
		},
	},
}

// loggingPolicy is the policy of a correct relay that logs joins and refusals.
func loggingPolicy(log *slog.Logger) relay.Policy {
	return relay.Policy{
		Joined: func(_ relay.Relay, to relay.Party, j proto.Join, msg relay.Message) relay.Message {
			log.Info("joined", "conn", to.Conn, "role", j.Role, "session", j.SessionID)
			return msg
		},
		Error: func(to relay.Party, about relay.Request, why relay.Refusal, msg relay.Message) relay.Message {
			log.Info("refused", "conn", to.Conn, "type", about.Type, "code", why.Code, "message", why.Text)
			return msg
		},
	}
}
