// Package checkup defines what parley doctor examines in targets of external-agent.
package checkup

import (
	"context"

	"parley/features"
	"parley/protocol/externalagent"
	"parley/steps/doctor"
	"parley/steps/externalagent/binding"
	"parley/target"
)

// Guide returns the doctor's guide to external-agent.
func Guide() doctor.Guide {
	return doctor.Guide{
		Checkups: map[string]doctor.Checkup{
			externalagent.Host: host, externalagent.Relay: relay, externalagent.Agent: agent,
		},
		Features: features.Doctor,
		About:    "At a host, doctor books a ticket. An agent is started and meets the bundled host.",
		Examples: []string{"parley doctor --target ws://localhost:3000/agent/ws --protocol " + externalagent.Protocol +
			" --role " + externalagent.Relay},
	}
}

// host is the checkup of a relay and host. Each item has a scenario.
var host = doctor.Checkup{
	Items: []doctor.Item{
		{Key: "external-agent.booking", Tag: "@doctor-booking",
			Advice:   "external-agent.booking: whether each call is announced at its stage, and its params are in the uiSpec",
			Declared: func(p *target.Profile) bool { return len(binding.Of(p).Booking) > 0 },
			Needed:   doctor.OfTag("@booking")},
		{Key: "hooks.user-says", Tag: "@doctor-user-says",
			Advice:   "the hook, and whether it speaks in the relay session PARLEY_RELAY_SESSION",
			Declared: func(p *target.Profile) bool { return p.Hooks.UserSays != "" }, Replaced: hasPage,
			Needed: speaking(false), Causes: []string{"EA-061", "EA-062"}},
		{Key: "external-agent.page", Tag: "@doctor-page", Instead: true,
			Advice: "external-agent.page: url with {session}, input and send; and whether the page passes on what is " +
				"typed there",
			Declared: hasPage, Needed: speaking(true), Causes: []string{"EA-061", "EA-062"}},
		{Key: "external-agent.logs", Tag: "@doctor-logs",
			Advice:   "external-agent.logs: whether the logFile of session.ended is a file from there on",
			Declared: func(p *target.Profile) bool { return binding.Of(p).Logs != "" },
			Needed:   doctor.OfTag("@log")},
		{Key: "external-agent.provoke.no-active-spec", Tag: "@doctor-no-active-spec",
			Advice: "external-agent.provoke.no-active-spec: whether no uiSpec is shown after these calls",
			Declared: func(p *target.Profile) bool {
				return len(binding.Of(p).CallsOf(binding.Of(p).Provoke.NoActiveSpec)) > 0
			},
			Needed: doctor.Takes(`makes the calls after which no uiSpec is active`)},
		{Key: "external-agent.provoke.tool-failure", Tag: "@doctor-tool-failure",
			Advice: "external-agent.provoke.tool-failure: whether the last call is announced but fails",
			Declared: func(p *target.Profile) bool {
				return len(binding.Of(p).CallsOf(binding.Of(p).Provoke.ToolFailure)) > 0
			},
			Needed: doctor.Takes(`calls that make a tool fail at run time|a call that fails at run time then is refused`)},
		{Key: binding.RelaySessions, Tag: "@doctor-relay-sessions", Optional: true,
			Advice:   "the capability: whether every relay session gets a host of its own",
			Declared: doctor.Has(binding.RelaySessions), Needed: doctor.Takes(`the target has a host in every relay session`)},
		twoAgents, restarted,
	},
	Before: withBrowser,
	Advice: map[int]string{
		1: "url, headers, and under external-agent ws.path and ws.subprotocols",
		2: "external-agent.session: whether it is a relay session that an agent may join",
		3: "external-agent.session and external-agent.start: whether a host is present, or role: relay is meant",
	},
}

func hasPage(p *target.Profile) bool { return binding.Of(p).Page != nil }

// speaking is the need of what the participant says, in profiles with a page or in those without one.
func speaking(atPage bool) doctor.Need {
	takes := doctor.Takes(`the participant speaks to agent \w+$`)
	return func(s doctor.Scenario, p *target.Profile) bool { return hasPage(p) == atPage && takes(s, p) }
}

// withBrowser checks that there is a browser for the page of a host.
func withBrowser(ctx context.Context, e *doctor.Exam) error {
	if !hasPage(e.Profile) {
		return nil
	}
	_, err := e.FindBrowser(ctx)
	return err
}

// relay is the checkup of a relay. Each item has a scenario.
var relay = doctor.Checkup{
	Items: []doctor.Item{
		{Key: "external-agent.logs", Tag: "@doctor-folder", Optional: true,
			Advice: "external-agent.logs: whether it is the folder or file that the relay writes to; for a relay, only the " +
				"location of files is checked",
			Declared: func(p *target.Profile) bool { return binding.Of(p).Logs != "" },
			Needed:   doctor.Takes(`written outside the log folder`)},
		twoAgents, restarted,
	},
	Advice: map[int]string{
		1: "url, headers, and under external-agent ws.path and ws.subprotocols",
		2: "external-agent.host-role: whether a host joins by this name; external-agent.session; " +
			"and whether it has a host already, so that role: host is meant",
		3: "external-agent.session: whether both parties are in the same one, and whether it has a host already, " +
			"so that role: host is meant",
	},
}

// agent is the checkup of an agent. Each item has a scenario.
var agent = doctor.Checkup{
	Items: []doctor.Item{
		{Key: "external-agent.flow", Tag: "@doctor-flow",
			Advice:   "external-agent.flow: whether the agent can use such a host; external-agent.agent.pace",
			Declared: doctor.Always, Needed: doctor.Takes(`the agent completes the booking`)},
		{Key: binding.Reconnect, Tag: "@doctor-reconnect", Optional: true,
			Advice:   "the capability; external-agent.agent.join",
			Declared: doctor.Has(binding.Reconnect), Needed: doctor.Takes(`the agent reconnects`)},
	},
	Advice: map[int]string{
		1: "command: whether it starts the agent and passes it {url}; or external-agent.agent.listen; or hooks.call: " +
			"whether it has the agent connect to PARLEY_URL; external-agent.agent.join",
		2: "whether the agent sends relay.join first; external-agent.agent.join",
		3: "whether the agent continues after relay.joined, and joins the relay session {session}; " +
			"external-agent.agent.pace",
	},
}

// The items shared by hosts and relays.
var (
	twoAgents = doctor.Item{Key: binding.TwoAgents, Tag: "@doctor-two-agents", Optional: true,
		Advice:   "the capability: whether the first agent stays when another one joins",
		Declared: doctor.Has(binding.TwoAgents), Needed: doctor.Takes(`the target lets several agents join a relay session`)}
	restarted = doctor.Item{Key: "restart", Tag: "@doctor-restart", Advice: "command or hooks.restart",
		Declared: doctor.Restartable,
		Needed:   doctor.Takes(`the target is (restarted|killed)`)}
)
