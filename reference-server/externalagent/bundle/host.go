package bundle

import (
	"context"
	"path/filepath"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	hosting "parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/host/mutants"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/launch"
	"parley/target"
)

// host is the launch role of a relay and host.
var host = launch.Role{
	Name: proto.Host,
	Profile: `
protocol: external-agent
role: host
name: bundled host
capabilities: [relay-sessions, two-agents]
external-agent:
  session: s-{nonce}
  logs: "{dir}/logs"
  provoke: {tool-failure: [{tool: next}]} # next with nothing chosen fails
`,
	Mutants:     mutants.Catalogue.All,
	LoadMutants: mutants.UnderLoad.All,
	Files:       true,
	Restarts:    true,
	Make: func(o launch.Options) (launch.Handler, error) {
		ho := externalagent.Options{Logs: logsIn(o.Dir), Relay: relay.Options{Limits: roomFor(o.Connections)},
			MaxHosts: o.Connections}
		if err := mutants.Put(o.Fault, &ho); err != nil {
			return nil, err
		}
		return externalagent.New(ho)
	},
	Extend: func(s *launch.Server) target.Running { return talking{logging{s}} },
	Serve:  hostService,
}

// Launcher launches a host whose messages out sees, and may change.
func Launcher(out hosting.Outbound) target.Launcher {
	role := host
	role.Make = func(o launch.Options) (launch.Handler, error) {
		return externalagent.New(externalagent.Options{Logs: logsIn(o.Dir),
			Relay: relay.Options{Limits: roomFor(o.Connections)}, MaxHosts: o.Connections,
			Host: func(_ string, ho hosting.Options) hosting.Options {
				ho.Outbound = out
				return ho
			}})
	}
	return role.InProcess(launch.Options{})
}

// logsIn returns the log folder of a host.
func logsIn(dir string) string { return filepath.Join(dir, "logs") }

// logging is a server with readable logs.
type logging struct{ *launch.Server }

// LogFolder implements target.LogKeeper.
func (l logging) LogFolder() (string, error) { return logsIn(l.Dir()), nil }

// talking is a host whose participant can be scripted to speak.
type talking struct{ logging }

// Say implements target.Speaker.
func (t talking) Say(_ context.Context, session, text string) error {
	return t.Handler().(*externalagent.Server).Say(session, text)
}
