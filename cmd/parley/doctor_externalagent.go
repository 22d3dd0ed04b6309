package main

import "parley/target"

// hostCheckup is what the doctor looks at in a relay and host. Each item has a scenario.
var hostCheckup = checkup{
	items: []item{
		{key: "external-agent.booking", tag: "@doctor-booking",
			look:     "external-agent.booking: whether each call is announced at its stage, and its params are in the uiSpec",
			declared: func(p *target.Profile) bool { return len(p.ExternalAgent.Booking) > 0 },
			needed:   ofTag("@booking")},
		{key: "hooks.user-says", tag: "@doctor-user-says",
			look:     "the hook, and whether it speaks in the relay session PARLEY_RELAY_SESSION",
			declared: func(p *target.Profile) bool { return p.Hooks.UserSays != "" },
			needed:   takes(`the participant speaks to agent \w+$`)},
		{key: "external-agent.logs", tag: "@doctor-logs",
			look:     "external-agent.logs: whether the logFile of session.ended is a file from there on",
			declared: func(p *target.Profile) bool { return p.ExternalAgent.Logs != "" },
			needed:   ofTag("@log")},
		{key: "external-agent.provoke.no-active-spec", tag: "@doctor-no-active-spec",
			look: "external-agent.provoke.no-active-spec: whether these calls lead to where nothing is shown any more",
			declared: func(p *target.Profile) bool {
				return len(p.ExternalAgent.CallsOf(p.ExternalAgent.Provoke.NoActiveSpec)) > 0
			},
			needed: takes(`makes the calls behind which no uiSpec is active`)},
		{key: "external-agent.provoke.tool-failure", tag: "@doctor-tool-failure",
			look: "external-agent.provoke.tool-failure: whether the last call is announced, and fails all the same",
			declared: func(p *target.Profile) bool {
				return len(p.ExternalAgent.CallsOf(p.ExternalAgent.Provoke.ToolFailure)) > 0
			},
			needed: takes(`makes the calls by which a tool fails while it runs`)},
		{key: target.RelaySessions, tag: "@doctor-relay-sessions", optional: true,
			look:     "the capability: whether every relay session gets a host of its own",
			declared: has(target.RelaySessions), needed: takes(`a host is in every relay session`)},
		twoAgents, restarted,
	},
	look: map[int]string{
		1: "url, headers, and under external-agent ws.path and ws.subprotocols",
		2: "external-agent.session: whether it is a relay session that an agent may join",
		3: "external-agent.session and external-agent.start: whether a host is there, or role: relay is meant",
	},
}

// relayCheckup is what the doctor looks at in a relay. Each item has a scenario.
var relayCheckup = checkup{
	items: []item{
		{key: "external-agent.logs", tag: "@doctor-folder", optional: true,
			look:     "external-agent.logs: whether it is the folder below which the relay writes; of a relay only where files lie is looked at",
			declared: func(p *target.Profile) bool { return p.ExternalAgent.Logs != "" },
			needed:   takes(`left the folder of the logs`)},
		twoAgents, restarted,
	},
	look: map[int]string{
		1: "url, headers, and under external-agent ws.path and ws.subprotocols",
		2: "external-agent.host-role: whether a host joins by this name; external-agent.session; and whether it has a host already, so that role: host is meant",
		3: "external-agent.session: whether both parties are in the same one, and whether it has a host already, so that role: host is meant",
	},
}

// agentCheckup is what the doctor looks at in an agent. Each item has a scenario.
var agentCheckup = checkup{
	items: []item{
		{key: "external-agent.flow", tag: "@doctor-flow",
			look:     "external-agent.flow: whether the agent knows its way through such a host; external-agent.agent.pace",
			declared: always, needed: takes(`the agent comes to the end of the booking`)},
		{key: target.Reconnect, tag: "@doctor-reconnect", optional: true,
			look:     "the capability; external-agent.agent.join",
			declared: has(target.Reconnect), needed: takes(`the agent comes back`)},
	},
	look: map[int]string{
		1: "command: whether it starts the agent, and tells it {url}; or external-agent.agent.listen; external-agent.agent.join",
		2: "whether the agent sends relay.join first; external-agent.agent.join",
		3: "whether the agent goes on behind relay.joined, and joins the relay session {session}; external-agent.agent.pace",
	},
}

// The items of hosts and relays alike.
var (
	twoAgents = item{key: target.TwoAgents, tag: "@doctor-two-agents", optional: true,
		look:     "the capability: whether the first agent stays when another one joins",
		declared: has(target.TwoAgents), needed: takes(`several agents may be in a relay session`)}
	restarted = item{key: "restart", tag: "@doctor-restart", look: "command or hooks.restart",
		declared: func(p *target.Profile) bool { return p.Command != nil || p.Hooks.Restart != "" },
		needed:   takes(`the target is (restarted|killed)`)}
)
