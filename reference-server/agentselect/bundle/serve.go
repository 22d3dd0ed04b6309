package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/launch"
)

// Paths are the paths of the server's connections.
var Paths = []string{"/events", "/agents/ws"}

// Announced are the endpoints whose URLs are printed.
var Announced = []launch.Endpoint{
	{Method: launch.Socket, Path: "/agents/ws"}, {Method: launch.Stream, Path: "/events"},
}

var service = launch.Service{
	Long: `The bundled agent-select server: SSE at /events and its companion paths, and the WebSocket /agents/ws.`,
	Examples: []string{
		"",
		"--agents ~/.snow/main-agents.toml --allow-origin null",
		`--listen :8443 --token "$TOKEN" --tls-cert cert.pem --tls-key key.pem`,
	},
	About: "A server of agents that a client chooses among, over an event stream or a WebSocket.",
	Endpoints: []launch.Endpoint{
		{Method: launch.Stream, Path: "/events", About: "the events of a connection"},
		{Method: launch.Socket, Path: "/agents/ws", About: "the same, and messages, over one socket"},
		{Method: "POST", Path: "/message", About: "a message to the server, such as a chat or a switch"},
		{Method: "POST", Path: "/session/create", About: "a new session, bound to the connection"},
		{Method: "POST", Path: "/session/load", About: "an existing session, bound to the connection"},
		{Method: "GET", Path: "/session/list", About: "all sessions"},
		{Method: "DELETE", Path: "/session/{id}", About: "ends a session"},
		launch.Health,
	},
	Paths:    Paths,
	Announce: Announced,
	Model:    true,
	Flags:    func(f *pflag.FlagSet) launch.Serving { return launch.Serving{Make: Flags(f)} },
}

// Flags adds the server's flags, and returns a function that makes the server from them.
func Flags(f *pflag.FlagSet) func(launch.Place) (launch.Handler, error) {
	agents := f.String("agents", "", "TOML `FILE` of custom agents; changes take effect while serving")
	return func(at launch.Place) (launch.Handler, error) {
		o := agentselect.Options{AgentsFile: *agents, AllowOrigins: at.AllowOrigins, Logger: at.Log,
			Outbound: logEvent(at.Log),
			Inbound:  logDirective(at.Log)}
		warnMissing(*agents, at.Err)
		h, err := agentselect.New(o)
		if err != nil {
			return nil, launch.Usagef("--agents: %v", err)
		}
		return h, nil
	}
}

// warnMissing warns of a file of agents that does not exist: it may be written later, but is more often misspelt.
func warnMissing(file string, to io.Writer) {
	if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(to, "--agents: %s does not exist yet; until it does, there are only the built-in agents\n", file)
	}
}

// logDirective logs what a client has probably meant as a directive to the model.
func logDirective(log *slog.Logger) agentselect.Inbound {
	return func(_ agentselect.Manager, from agentselect.ConnInfo, msg agentselect.Message) bool {
		content, _ := msg["content"].(string)
		launch.LogMalformed(log, from.ID, content)
		return true
	}
}

// logEvent logs when connections are ready, and switches. It runs under the server's lock.
func logEvent(log *slog.Logger) agentselect.Outbound {
	type sender = func(connID string, ev agentselect.Event)
	return func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send sender) {
		switch ev.Type {
		case proto.ConnectedEvent:
			log.Info("connected", "conn", to.ID, "transport", to.Transport)
		case proto.AgentSwitchedEvent:
			log.Info("switched", "conn", to.ID, "from", ev.Data["previousAgentId"], "to", ev.Data["currentAgentId"])
		case proto.ErrorEvent:
			about := []any{"conn", to.ID}
			if code := ev.Data["errorCode"]; code != nil { // only the errors of a switch have one
				about = append(about, "code", code)
			}
			log.Info("refused", append(about, "message", ev.Data["message"])...)
		}
		send(to.ID, ev)
	}
}
