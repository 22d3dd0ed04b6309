package main

import (
	"log/slog"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/bundled"
)

// serveAgentSelect makes the bundled agent-select server.
func serveAgentSelect(o serveOptions, log *slog.Logger) (bundled.Handler, error) {
	h, err := agentselect.New(agentselect.Options{AgentsFile: o.agents, AllowOrigins: o.origins, Logger: log, Outbound: told(log)})
	if err != nil {
		return nil, usagef("--agents: %v", err)
	}
	return h, nil
}

// told logs what connections are told about themselves: that they stand, and switches. It runs under the server's lock.
func told(log *slog.Logger) agentselect.Outbound {
	return func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send func(string, agentselect.Event)) {
		switch ev.Type {
		case proto.ConnectedEvent:
			log.Info("connected", "conn", to.ID, "transport", to.Transport)
		case proto.AgentSwitchedEvent:
			log.Info("switched", "conn", to.ID, "from", ev.Data["previousAgentId"], "to", ev.Data["currentAgentId"])
		case proto.ErrorEvent:
			log.Info("refused", "conn", to.ID, "code", ev.Data["errorCode"], "message", ev.Data["message"])
		}
		send(to.ID, ev)
	}
}
