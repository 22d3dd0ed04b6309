package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// defaultFaults use a wrong default agent.
var defaultFaults = map[string]fault{
	"url-agent-id": starting(
		fromQuery("agentId", "currentAgentId", "initialAgentId", "mainAgent", "agent_id")),
	"url-agent":                starting(fromQuery("agent")),
	"url-agent-unannounced":    both(starting(fromQuery("agentId")), with(lists, currentKey, fixed(proto.General))),
	"default-is-last-switched": func(o *options) { startsWithLast(o) },
	"default-alternates":       startingInTurn(proto.General, proto.Debugger, proto.RequirementAnalyzer),
	"second-client-inherits":   secondInherits,
}

func starting(f func(c connInfo) string) fault { return deciding(rules{InitialAgent: f}) }

// fromQuery takes the agent from the stream's URL.
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

// startingInTurn rotates the initial agent from connection to connection, as a server with several workers might.
func startingInTurn(agents ...string) fault {
	return func(o *options) {
		of := map[string]string{}
		o.Policy.InitialAgent = func(c connInfo) string {
			if of[c.ID] == "" {
				of[c.ID] = agents[len(of)%len(agents)]
			}
			return of[c.ID]
		}
	}
}

// startsWithLast starts all sessions with the target of the last switch by any client. It returns the location of
// that id.
func startsWithLast(o *options) *string {
	last := proto.General
	o.Policy.InitialAgent = func(connInfo) string { return last }
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last = sw.AgentID })
	return &last
}

// committed calls f for every successful switch.
func committed(f func(sw agentselect.Switch)) func(agentselect.Switch, func(string)) {
	return func(sw agentselect.Switch, set func(string)) {
		correct.Commit(sw, set)
		if sw.Refusal == nil {
			f(sw)
		}
	}
}

// secondInherits starts a session with the agent of the newest open one.
func secondInherits(o *options) {
	newest := startsWithLast(o)
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if greets(ev) && len(m.Connections()) == 1 {
			*newest = proto.General
		}
		if lists(ev) {
			ev.Data = ev.Data.With(currentKey, proto.General)
		}
		send(to.ID, ev)
	}
}
