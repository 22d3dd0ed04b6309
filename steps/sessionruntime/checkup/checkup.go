// Package checkup is what parley doctor examines in session-runtime targets.
package checkup

import (
	"slices"

	"parley/features"
	"parley/protocol/sessionruntime"
	"parley/steps/doctor"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

// Patterns of steps that depend on a capability.
const (
	fencedSteps = `everything is handled$|^no [A-Z_]+ is published$|reaches no agent$|does not receive the output of`
	outputSteps = `is speaking in|sends (a|the) |ends "|the frontend receives the output of`
	acceptSteps = `is accepted$|runs at agent|is speaking in`
)

// Guide returns the doctor's guide to session-runtime.
func Guide() doctor.Guide {
	return doctor.Guide{
		Checkups: map[string]doctor.Checkup{target.Server: orchestrator},
		Features: features.Doctor,
		About: "An orchestrator goes through a turn of each kind, over its first driver; over stdio " +
			"doctor starts it for that.",
		Examples: []string{"parley doctor --target ws://localhost:3000/bus/ws --protocol " + sessionruntime.Protocol},
	}
}

// orchestrator is the checkup of an orchestrator. Each item has a scenario.
var orchestrator = doctor.Checkup{
	Items: []doctor.Item{
		{Key: "session-runtime.fence", Tag: "@doctor-fence",
			Advice: "session-runtime.fence: give fence: false if fence frames are not answered, or answered before pending " +
				"tasks " +
				"have run; the quiet window is then used instead",
			Declared: func(p *target.Profile) bool { return binding.Of(p).Fence },
			Without:  "absence is proved by waiting for limits.quiet, so later messages are missed",
			Needed: func(s doctor.Scenario, p *target.Profile) bool {
				return binding.Of(p).Fence && takesFence(s, p)
			}},
		{Key: sessionruntime.TurnAccepted, Tag: "@doctor-accepted",
			Advice:   "subtypes.TURN_ACCEPTED, fields.turn-id, fields.trace-id and fields.target-agent under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(acceptSteps)},
		{Key: sessionruntime.AgentOutput, Tag: "@doctor-output", After: []string{sessionruntime.TurnAccepted},
			Advice: "events.AGENT_OUTPUT, subtypes.INPUT_ACK, fields.turn-id, fields.is-chunk and fields.final " +
				"under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(outputSteps)},
		{Key: "session-runtime.limits", Tag: "@doctor-limits",
			Advice: "limits.input-ack and limits.fixed under session-runtime: whether it takes its limits from the set-up " +
				"frame; subtypes.ROUTE_TIMEOUT, and fields.code where an ERROR has no subtype",
			Declared: doctor.Always, Needed: doctor.Takes(`a short limit for `)},
		{Key: "session-runtime.subscribes", Tag: "@doctor-subscribes", Optional: true,
			After:  []string{sessionruntime.AgentOutput},
			Advice: "session-runtime.subscribes: give [SYSTEM] if its bus does not deliver BROADCAST messages to it",
			Declared: func(p *target.Profile) bool {
				return slices.Contains(binding.Of(p).Subscribes, sessionruntime.ToBroadcast)
			},
			Needed: doctor.Takes(` on BROADCAST$|by a second subscription$`)},
		{Key: sessionruntime.Cancel, Tag: "@doctor-cancel", After: []string{sessionruntime.AgentOutput},
			Advice:   "subtypes.CANCEL, subtypes.CANCEL_ACK and subtypes.CANCELED under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(`the user (cancels|interrupts)`)},
		{Key: sessionruntime.SwitchAgent, Tag: "@doctor-switch",
			Advice:   "subtypes.SWITCH_AGENT, and fields.from, to, reason and trigger under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(`the user switches to|a switch from .* is announced$`)},
		{Key: sessionruntime.InviteAgent, Tag: "@doctor-add",
			Advice: "subtypes.REQUEST_ADD_AGENT, ADD_AGENT_DONE and AGENT_ADDED, fields.agent-id and fields.tx-id " +
				"under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(`the user invites|SessionManager is asked to add`)},
		{Key: sessionruntime.RemoveAgent, Tag: "@doctor-remove",
			Advice: "subtypes.REQUEST_REMOVE_AGENT, REMOVE_AGENT_DONE and AGENT_REMOVED, fields.agent-id and fields.tx-id " +
				"under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(`the user removes`)},
		{Key: sessionruntime.HandoverRequest, Tag: "@doctor-handover", After: []string{sessionruntime.AgentOutput},
			Advice: "subtypes.HANDOVER_REQUEST, HANDOVER_UI_PROMPT, HANDOVER_CONFIRM and HANDOVER_CONTEXT, " +
				"and fields.target-agent under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(`asks to hand "`)},
		{Key: sessionruntime.SessionClose, Tag: "@doctor-session",
			Advice:   "subtypes.SESSION_CLOSE, REQUEST_SESSION_CLOSE and SESSION_CLOSED under session-runtime",
			Declared: doctor.Always, Needed: doctor.Takes(`the user (opens|closes) the session$`)},
	},
	Advice: map[int]string{
		1: "url, headers, command, and under session-runtime ws.path and ws.subprotocols",
		2: `whether the set-up frame is answered by {"parley":"ready"}; over stdio, whether each line is written at once, ` +
			`and nothing else to stdout`,
		3: "fields, events, targets and senders under session-runtime",
	},
}

var takesFence = doctor.Takes(fencedSteps)
