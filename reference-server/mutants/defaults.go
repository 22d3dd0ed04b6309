package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// defaultFaults have another agent for those who have not chosen.
var defaultFaults = map[string]fault{
	"url-agent-id":             starting(fromQuery("agentId", "currentAgentId", "initialAgentId", "mainAgent", "agent_id")),
	"url-agent":                starting(fromQuery("agent")),
	"url-agent-unannounced":    startingOnly(fromQuery("agentId")),
	"default-is-last-switched": deciding(lastSwitched),
	"default-alternates":       startingInTurn(proto.General, proto.Debugger),
	"second-client-inherits":   secondInherits,
}

func starting(f func(c connInfo) string) fault {
	return deciding(func(options) rules { return rules{initial: f} })
}

// startingOnly applies to sessions, and is not told at connect.
func startingOnly(f func(c connInfo) string) fault {
	return both(starting(f), rewriting(proto.AgentListEvent, func(d eventData) eventData {
		return d.With(currentKey, proto.General)
	}))
}

// fromQuery takes the agent from the URL of the stream.
func fromQuery(keys ...string) func(c connInfo) string {
	return func(c connInfo) string {
		for _, key := range keys {
			if id := c.Query.Get(key); isBuiltin(id) {
				return id
			}
		}
		return proto.General
	}
}

// startingInTurn gives connection after connection another agent, as a server with several workers may.
func startingInTurn(agents ...string) fault {
	return deciding(func(options) rules {
		of := map[string]string{}
		return rules{initial: func(c connInfo) string {
			if of[c.ID] == "" {
				of[c.ID] = agents[len(of)%len(agents)]
			}
			return of[c.ID]
		}}
	})
}

// lastSwitched starts everybody with the agent that was last switched to, by anybody.
func lastSwitched(options) rules {
	last := proto.General
	return rules{
		initial: func(connInfo) string { return last },
		commit: func(sw agentselect.Switch, set func(string)) {
			correct.Commit(sw, set)
			if sw.Refusal == nil {
				last = sw.AgentID
			}
		},
	}
}

// secondInherits starts a session with the agent of the newest one that is open.
func secondInherits(o *options) middleware {
	newest := proto.General
	o.Policy = rules{
		initial: func(connInfo) string { return newest },
		commit: func(sw agentselect.Switch, set func(string)) {
			correct.Commit(sw, set)
			if sw.Refusal == nil {
				newest = sw.AgentID
			}
		},
	}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.ConnectedEvent && len(m.Connections()) == 1 {
			newest = proto.General
		}
		if ev.Type == proto.AgentListEvent {
			ev.Data = ev.Data.With(currentKey, proto.General)
		}
		send(to.ID, ev)
	}
	return nil
}
