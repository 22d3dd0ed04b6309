package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// busyFaults misjudge whether a session is busy, or what an abort ends.
var busyFaults = map[string]fault{
	"forgets-running-turns": judging(func(m manager, s string) bool { return len(m.Pending(s)) > 0 }),
	"forgets-pending":       judging(func(m manager, s string) bool { return m.Running(s) }),
	"forgets-confirmations": judging(forgetting(proto.ConfirmationRequestEvent)),
	"forgets-questions":     judging(forgetting(proto.QuestionRequestEvent)),
	"busy-needs-both":       judging(func(m manager, s string) bool { return m.Running(s) && len(m.Pending(s)) > 0 }),
	"never-busy":            judging(func(manager, string) bool { return false }),
	"busy-for-everybody": judging(func(m manager, _ string) bool {
		return slices.ContainsFunc(m.Sessions(), func(s string) bool { return correct.Busy(m, s) })
	}),
	"waiting-for-everybody": judging(func(m manager, session string) bool {
		return m.Running(session) || slices.ContainsFunc(m.Sessions(), func(s string) bool { return len(m.Pending(s)) > 0 })
	}),
	"busy-of-the-connection": busyOfConnection,

	"busy-after-a-turn":    busyAfterTurn,
	"busy-after-a-failure": busyAfterFailure,
	"busy-after-a-request": busyAfterRequest,
	"drops-while-busy": dropping(proto.SwitchAgentType, func(m manager, from connInfo, msg message) bool {
		return correct.Busy(m, correct.Target(m, from, msg))
	}),
	"refused-and-applied": deciding(rules{Commit: appliedIfBusy, Configure: asItIsNow}),
	"applies-at-once":     deciding(rules{Busy: func(manager, string) bool { return false }, Configure: asItIsNow}),
	"abort-ignored":       dropping(proto.AbortType, func(manager, connInfo, message) bool { return true }),

	"abort-announced-only": aborting(agentselect.AbortEffect{}),
	"abort-keeps-requests": aborting(agentselect.AbortEffect{Turn: true}),
	"abort-keeps-turns":    aborting(agentselect.AbortEffect{Interactions: true}),
	"abort-only-when-asking": dropping(proto.AbortType, func(m manager, from connInfo, msg message) bool {
		return m.Running(correct.Target(m, from, msg))
	}),
}

func judging(f func(m manager, session string) bool) fault { return deciding(rules{Busy: f}) }

func forgetting(kind string) func(m manager, session string) bool {
	return func(m manager, session string) bool {
		return m.Running(session) || slices.ContainsFunc(m.Pending(session), func(k string) bool { return k != kind })
	}
}

// busyOfConnection looks at the session of the connection that asks, and not at the one that the switch names.
func busyOfConnection(o *options) {
	asker := connInfo{}
	o.Inbound = func(_ manager, from connInfo, _ message) bool {
		asker = from
		return true
	}
	judging(func(m manager, _ string) bool { return correct.Busy(m, m.DefaultSession(asker.ID)) })(o)
}

// orBusy treats a set of sessions as always busy.
func orBusy(always map[string]bool) func(m manager, session string) bool {
	return func(m manager, session string) bool { return always[session] || correct.Busy(m, session) }
}

// busyAfterTurn never removes a finished controller.
func busyAfterTurn(o *options) {
	started := map[string]bool{}
	o.Policy.Configure = func(t agentselect.TurnView) agentselect.Config {
		started[t.Session] = true
		return correct.Configure(t)
	}
	o.Policy.Busy = orBusy(started)
}

// busyAfterFailure removes a controller only if its turn succeeds.
func busyAfterFailure(o *options) {
	failed := map[string]bool{}
	o.Outbound = changed(of(proto.ErrorEvent), func(m manager, to *connInfo, ev *event) {
		if !refuses()(*ev) {
			failed[m.DefaultSession(to.ID)] = true
		}
	})
	o.Policy.Busy = orBusy(failed)
}

// busyAfterRequest keeps answered requests in pendingInteractions.
func busyAfterRequest(o *options) {
	asked := map[string]bool{}
	requests := of(proto.ConfirmationRequestEvent, proto.QuestionRequestEvent)
	o.Outbound = changed(requests, func(_ manager, _ *connInfo, ev *event) { asked[ev.Data["sessionId"].(string)] = true })
	o.Policy.Busy = orBusy(asked)
}

// appliedIfBusy changes the agent before it finds the session busy.
func appliedIfBusy(sw agentselect.Switch, set func(string)) {
	correct.Commit(sw, set)
	if sw.Refusal != nil && sw.Refusal.Code == proto.AgentBusy {
		set(sw.AgentID)
	}
}

// asItIsNow switches the running turn, too.
func asItIsNow(t agentselect.TurnView) agentselect.Config { return t.Now }

func aborting(effect agentselect.AbortEffect) fault {
	return deciding(rules{Abort: func() agentselect.AbortEffect { return effect }})
}
