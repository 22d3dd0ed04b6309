package main

import (
	"slices"

	"parley/protocol/sessionruntime"
	"parley/target"
)

// The steps of the suite that something hangs on.
const (
	fencedSteps = `everything is handled$|^no [A-Z_]+ is published$|reaches nobody$|does not get what was sent of`
	outputSteps = `is speaking in|sends (a|the) |ends "|the frontend gets what was sent of`
	acceptSteps = `is accepted$|runs at agent|is speaking in`
)

// sessionRuntimeCheckup is what the doctor looks at in an orchestrator. Each item has a scenario.
var sessionRuntimeCheckup = checkup{
	items: []item{
		{key: "session-runtime.fence", tag: "@doctor-fence",
			look:     "session-runtime.fence: say fence: false where no fence frame is answered, or one is before pending tasks have run, and the quiet window stands in for it",
			declared: func(p *target.Profile) bool { return p.SessionRuntime.Fence },
			without:  "absence is proved by waiting for limits.quiet, so that what comes later is missed",
			needed: func(a asked, p *target.Profile) bool {
				return p.SessionRuntime.Fence && takesFence(a, p)
			}},
		{key: sessionruntime.TurnAccepted, tag: "@doctor-accepted",
			look:     "subtypes.TURN_ACCEPTED, fields.turn-id, fields.trace-id and fields.target-agent under session-runtime",
			declared: always, needed: takes(acceptSteps)},
		{key: sessionruntime.AgentOutput, tag: "@doctor-output", after: []string{sessionruntime.TurnAccepted},
			look:     "events.AGENT_OUTPUT, subtypes.INPUT_ACK, fields.turn-id, fields.is-chunk and fields.final under session-runtime",
			declared: always, needed: takes(outputSteps)},
		{key: "session-runtime.limits", tag: "@doctor-limits",
			look: "limits.input-ack and limits.fixed under session-runtime: whether it takes its limits from the set-up frame; " +
				"subtypes.ROUTE_TIMEOUT, and fields.code where an ERROR has no subtype",
			declared: always, needed: takes(`are awaited for a short time$`)},
		{key: "session-runtime.subscribes", tag: "@doctor-subscribes", optional: true, after: []string{sessionruntime.AgentOutput},
			look: "session-runtime.subscribes: say [SYSTEM] where its bus does not deliver to it what goes to BROADCAST",
			declared: func(p *target.Profile) bool {
				return slices.Contains(p.SessionRuntime.Subscribes, sessionruntime.ToBroadcast)
			},
			needed: takes(` on BROADCAST$|by a second subscription$`)},
		{key: sessionruntime.Cancel, tag: "@doctor-cancel", after: []string{sessionruntime.AgentOutput},
			look:     "subtypes.CANCEL, subtypes.CANCEL_ACK and subtypes.CANCELED under session-runtime",
			declared: always, needed: takes(`the user (cancels|interrupts)`)},
		{key: sessionruntime.SwitchAgent, tag: "@doctor-switch",
			look:     "subtypes.SWITCH_AGENT, and fields.from, to, reason and trigger under session-runtime",
			declared: always, needed: takes(`the user switches to|a switch from .* is announced$`)},
		{key: sessionruntime.InviteAgent, tag: "@doctor-add",
			look:     "subtypes.REQUEST_ADD_AGENT, ADD_AGENT_DONE and AGENT_ADDED, fields.agent-id and fields.tx-id under session-runtime",
			declared: always, needed: takes(`the user invites|SessionManager is asked to add`)},
		{key: sessionruntime.RemoveAgent, tag: "@doctor-remove",
			look:     "subtypes.REQUEST_REMOVE_AGENT, REMOVE_AGENT_DONE and AGENT_REMOVED, fields.agent-id and fields.tx-id under session-runtime",
			declared: always, needed: takes(`the user removes`)},
		{key: sessionruntime.HandoverRequest, tag: "@doctor-handover", after: []string{sessionruntime.AgentOutput},
			look:     "subtypes.HANDOVER_REQUEST, HANDOVER_UI_PROMPT, HANDOVER_CONFIRM and HANDOVER_CONTEXT, and fields.target-agent under session-runtime",
			declared: always, needed: takes(`asks to hand "`)},
		{key: sessionruntime.SessionClose, tag: "@doctor-session",
			look:     "subtypes.SESSION_CLOSE, REQUEST_SESSION_CLOSE and SESSION_CLOSED under session-runtime",
			declared: always, needed: takes(`the user (opens|closes) the session$`)},
	},
	look: map[int]string{
		1: "url, headers, command, and under session-runtime ws.path and ws.subprotocols",
		2: `whether the set-up frame is answered by {"parley":"ready"}; over stdio, whether each line is written at once, and nothing else to stdout`,
		3: "fields, events, targets and senders under session-runtime",
	},
}

var takesFence = takes(fencedSteps)
