package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// busyFaults misjudge whether a session is busy, or what an abort ends.
var busyFaults = map[string]fault{
	"forgets-running-turns":  judging(func(m manager, s string) bool { return len(m.Pending(s)) > 0 }),
	"forgets-pending":        judging(func(m manager, s string) bool { return m.Running(s) }),
	"forgets-confirmations":  judging(forgetting(proto.ConfirmationRequestEvent)),
	"forgets-questions":      judging(forgetting(proto.QuestionRequestEvent)),
	"busy-needs-both":        judging(func(m manager, s string) bool { return m.Running(s) && len(m.Pending(s)) > 0 }),
	"never-busy":             judging(func(manager, string) bool { return false }),
	"busy-for-everybody":     judging(anyBusy),
	"waiting-for-everybody":  judging(anyWaiting),
	"busy-after-a-turn":      deciding(busyAfterTurn),
	"busy-after-a-failure":   busyAfterFailure,
	"busy-after-a-request":   busyAfterRequest,
	"drops-while-busy":       receiving(dropsWhileBusy),
	"refused-and-applied":    deciding(refusedAndApplied),
	"applies-at-once":        deciding(appliesAtOnce),
	"abort-ignored":          receiving(abortIgnored),
	"abort-announced-only":   aborting(agentselect.AbortEffect{}),
	"abort-keeps-requests":   aborting(agentselect.AbortEffect{Turn: true}),
	"abort-keeps-turns":      aborting(agentselect.AbortEffect{Interactions: true}),
	"abort-only-when-asking": receiving(abortsOnlyRequests),
}

func judging(f func(m manager, session string) bool) fault {
	return deciding(func(options) rules { return rules{busy: f} })
}

func forgetting(kind string) func(m manager, session string) bool {
	return func(m manager, session string) bool {
		for _, k := range m.Pending(session) {
			if k != kind {
				return true
			}
		}
		return m.Running(session)
	}
}

func anyBusy(m manager, _ string) bool {
	for _, s := range m.Sessions() {
		if correct.Busy(m, s) {
			return true
		}
	}
	return false
}

// anyWaiting takes a pending request of anybody for one of this session.
func anyWaiting(m manager, session string) bool {
	for _, s := range m.Sessions() {
		if len(m.Pending(s)) > 0 {
			return true
		}
	}
	return m.Running(session)
}

// busyAfterTurn never takes a finished controller from its books.
func busyAfterTurn(options) rules {
	started := map[string]bool{}
	return rules{
		configure: func(t agentselect.TurnView) agentselect.Config {
			started[t.Session] = true
			return correct.Configure(t)
		},
		busy: func(m manager, session string) bool { return started[session] || correct.Busy(m, session) },
	}
}

// busyAfterFailure takes it only where the turn ends well.
func busyAfterFailure(o *options) middleware {
	failed := map[string]bool{}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.ErrorEvent && !isRefusal(ev) {
			failed[m.DefaultSession(to.ID)] = true
		}
		send(to.ID, ev)
	}
	o.Policy = rules{busy: func(m manager, session string) bool { return failed[session] || correct.Busy(m, session) }}
	return nil
}

// busyAfterRequest keeps answered requests in pendingInteractions.
func busyAfterRequest(o *options) middleware {
	asked := map[string]bool{}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		switch ev.Type {
		case proto.ConfirmationRequestEvent, proto.QuestionRequestEvent:
			asked[ev.Data["sessionId"].(string)] = true
		}
		send(to.ID, ev)
	}
	o.Policy = rules{busy: func(m manager, session string) bool { return asked[session] || correct.Busy(m, session) }}
	return nil
}

func dropsWhileBusy(m manager, from connInfo, msg message) []message {
	raw, present := msg["sessionId"]
	if msg["type"] == proto.SwitchAgentType && correct.Busy(m, correct.Target(m, from, raw, present)) {
		return nil
	}
	return []message{msg}
}

// refusedAndApplied has changed the agent by the time it finds the session busy, and the turn in progress notices.
func refusedAndApplied(options) rules {
	return rules{
		commit: func(sw agentselect.Switch, set func(string)) {
			correct.Commit(sw, set)
			if sw.Refusal != nil && sw.Refusal.Code == proto.AgentBusy {
				set(sw.AgentID)
			}
		},
		configure: func(t agentselect.TurnView) agentselect.Config { return t.Now },
	}
}

// appliesAtOnce switches the turn in progress.
func appliesAtOnce(options) rules {
	return rules{
		busy:      func(manager, string) bool { return false },
		configure: func(t agentselect.TurnView) agentselect.Config { return t.Now },
	}
}

func aborting(effect agentselect.AbortEffect) fault {
	return deciding(func(options) rules { return rules{abort: func() agentselect.AbortEffect { return effect }} })
}

func abortIgnored(_ manager, _ connInfo, msg message) []message {
	if msg["type"] == proto.AbortType {
		return nil
	}
	return []message{msg}
}

// abortsOnlyRequests looks for something to cancel in pendingInteractions only.
func abortsOnlyRequests(m manager, from connInfo, msg message) []message {
	raw, present := msg["sessionId"]
	if msg["type"] == proto.AbortType && m.Running(correct.Target(m, from, raw, present)) {
		return nil
	}
	return []message{msg}
}
