// Package bundle has the bundled targets of external-agent (a relay and host, a relay, and an agent), their mutants,
// and how to launch and serve them.
package bundle

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	party "parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/host/mutants"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/launch"
	"parley/target"
)

// Target has all bundled targets of the protocol.
var Target = launch.Target{
	Protocol: proto.Protocol,
	Short:    "the WebSocket /agent/ws of a relay, with a host that books cinema tickets or alone; or an agent",
	Roles:    []launch.Role{host, relaying, agents},
}

// roomFor returns the limits of a bundled relay for that many agents, each with a host in a relay session of its own;
// 0: the default ones.
func roomFor(agents int) relay.Limits {
	return relay.Limits{Write: launch.Unhurried, Connections: 2 * agents, Sessions: 2 * agents}
}

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
func Launcher(out party.Outbound) target.Launcher {
	role := host
	role.Make = func(o launch.Options) (launch.Handler, error) {
		return externalagent.New(externalagent.Options{Logs: logsIn(o.Dir),
			Relay: relay.Options{Limits: roomFor(o.Connections)}, MaxHosts: o.Connections,
			Host: func(_ string, ho party.Options) party.Options {
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

var hostService = launch.Service{
	Long: "a relay with a host that books cinema tickets. The first URL\nis a page that shows a booking, " +
		"and on which you speak as\nthe participant",
	Examples: []string{"--logs logs"},
	Paths:    []string{proto.Path},
	Announce: []launch.Endpoint{{Method: launch.Socket, Path: proto.Path}},
	Page:     true,
	Flags: func(f *pflag.FlagSet) launch.Serving {
		logs := f.String("logs", "", "`DIR` for the study logs, created if missing (default a temporary one)")
		catalogue := f.String("catalogue", "", "YAML `FILE` with the programme of the cinema (default built in)")
		return launch.Serving{Make: func(at launch.Place) (launch.Handler, error) {
			return makeServed(externalagent.Options{
				Logs: *logs, Catalogue: *catalogue, AllowOrigins: at.AllowOrigins, Logger: at.Log,
				Relay: relay.Options{Policy: loggingPolicy(at.Log)}, Host: logHost(at.Log),
			})
		}}
	},
}

// telling is a host that prints its log folder.
type telling struct {
	*externalagent.Server
	dir       string
	temporary bool
}

// StartupLines implements launch.StartupReporter.
func (l *telling) StartupLines() []string { return []string{"logs in " + l.dir} }

// Close implements launch.Handler.
func (l *telling) Close(ctx context.Context) error {
	err := l.Server.Close(ctx)
	l.removeEmptyFolder()
	return err
}

// removeEmptyFolder removes a temporary folder without logs; logs are the user's data.
func (l *telling) removeEmptyFolder() {
	if !l.temporary {
		return
	}
	below, _ := filepath.Glob(filepath.Join(l.dir, "*"))
	for _, empty := range append(below, l.dir) {
		_ = os.Remove(empty) // fails if the folder contains a file
	}
}

// makeServed makes the relay and host for `parley serve`, by default with a temporary log folder.
func makeServed(o externalagent.Options) (launch.Handler, error) {
	l := &telling{dir: o.Logs}
	if l.dir == "" {
		dir, err := os.MkdirTemp("", "parley-logs-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the logs: %w", err)
		}
		l.dir, l.temporary, o.Logs = dir, true, dir
	}
	var err error
	if o.Catalogue != "" {
		if _, err = os.Stat(o.Catalogue); err != nil {
			err = launch.Usagef("--catalogue: %v", err)
		}
	}
	if err == nil {
		if l.Server, err = externalagent.New(o); err != nil {
			err = launch.Usagef("--catalogue, --logs: %v", err)
		}
	}
	if err != nil {
		l.removeEmptyFolder()
		return nil, err
	}
	return l, nil
}

// logHost logs when each host starts and ends a study session, and each refusal. It runs under the host's lock.
func logHost(log *slog.Logger) func(string, party.Options) party.Options {
	return func(session string, o party.Options) party.Options {
		o.Outbound = func(_ party.View, msg party.Message, send func(party.Message)) {
			body := msg.Payload()
			switch msg.Type() {
			case proto.SessionStarted:
				log.Info("session started", "session", session, "study", body["sessionId"])
			case proto.SessionEnded:
				log.Info("session ended", "session", session, "study", body["sessionId"], "log", body["logFile"])
			case proto.ErrorMessage:
				log.Info("refused", "session", session, "code", body["code"], "message", body["message"])
			}
			send(msg)
		}
		return o
	}
}
