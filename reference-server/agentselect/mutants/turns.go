package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// turnFaults use the wrong configuration for conversations.
var turnFaults = map[string]fault{
	"keeps-the-prompt":      configuring(func(c *config) { c.Prompt = general().Prompt }),
	"keeps-the-tools":       configuring(func(c *config) { c.Tools = general().Tools }),
	"offers-all-tools":      configuring(allTools),
	"no-prompt-for-custom":  configuring(ifCustom(func(c *config) { c.Prompt = "" })),
	"no-tools-for-custom":   configuring(ifCustom(func(c *config) { c.Tools = nil })),
	"prompt-one-turn-late":  oneTurnLate,
	"first-turn-decides":    firstTurnDecides,
	"turns-share-an-agent":  turnsShareAgent,
	"custom-prompt-sticks":  customSticks(func(c *config, last config) { c.Prompt = last.Prompt }),
	"custom-tools-stick":    customSticks(func(c *config, last config) { c.Tools = last.Tools }),
	"prompt-lost-with-tool": deciding(rules{Configure: promptLost}),
	"abort-keeps-old-agent": abortKeepsAgent,
}

type config = agentselect.Config

func general() agent { return agentselect.Builtins()[0] }

// configuring changes the correct configuration.
func configuring(spoil func(c *config)) fault {
	return deciding(rules{Configure: func(t agentselect.TurnView) config {
		c := correct.Configure(t)
		spoil(&c)
		return c
	}})
}

// allTools offers every agent the tools of all.
func allTools(c *config) {
	all := []string{"list_changes"} // tool of the custom agent
	for _, a := range append(agentselect.Builtins(), agent{Tools: c.Tools}) {
		all = append(all, a.Tools...)
	}
	slices.Sort(all)
	c.Tools = slices.Compact(all)
}

func ifCustom(spoil func(c *config)) func(c *config) {
	return func(c *config) {
		if !isBuiltin(c.AgentID) {
			spoil(c)
		}
	}
}

// oneTurnLate uses the configuration loaded for the previous turn.
func oneTurnLate(o *options) {
	loaded := map[string]config{}
	o.Policy.Configure = func(t agentselect.TurnView) config {
		if t.Call > 1 {
			return t.Started
		}
		late, found := loaded[t.Session]
		loaded[t.Session] = t.Now
		if !found {
			return general().Config()
		}
		return late
	}
}

// firstTurnDecides keeps a session on the agent of its first conversation.
func firstTurnDecides(o *options) {
	first := map[string]config{}
	o.Policy.Configure = func(t agentselect.TurnView) config {
		if _, found := first[t.Session]; !found {
			first[t.Session] = t.Now
		}
		return first[t.Session]
	}
}

// turnsShareAgent keeps an agent per session but uses the last one switched to for every turn.
func turnsShareAgent(o *options) {
	last, now := "", []agent(nil)
	o.Policy.Agents = func(_ agentselect.Purpose, all []agent) []agent {
		now = all
		return all
	}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last = sw.AgentID })
	o.Policy.Configure = func(t agentselect.TurnView) config {
		i := slices.IndexFunc(now, func(a agent) bool { return a.ID == last })
		if i < 0 || t.Call > 1 {
			return correct.Configure(t)
		}
		return now[i].Config()
	}
}

// customSticks keeps part of a custom agent's configuration when a session returns to a built-in agent.
func customSticks(stick func(c *config, last config)) fault {
	return func(o *options) {
		last := map[string]config{}
		o.Policy.Configure = func(t agentselect.TurnView) config {
			c := correct.Configure(t)
			if !isBuiltin(c.AgentID) {
				last[t.Session] = c
			} else if left, found := last[t.Session]; found {
				stick(&c, left)
			}
			return c
		}
	}
}

// promptLost continues without the agent's prompt after a tool result.
func promptLost(t agentselect.TurnView) config {
	c := correct.Configure(t)
	if t.Call > 1 {
		c.Prompt = general().Prompt
	}
	return c
}

// abortKeepsAgent reuses the configuration of an aborted turn for the next one.
func abortKeepsAgent(o *options) {
	aborted := map[string]bool{}
	running := map[string]config{}
	o.Outbound = changed(of(proto.CompleteEvent), func(_ manager, _ *connInfo, ev *event) {
		if ev.Data["cancelled"] == true {
			aborted[ev.Data["sessionId"].(string)] = true
		}
	})
	o.Policy.Configure = func(t agentselect.TurnView) config {
		c := correct.Configure(t)
		if t.Call == 1 && aborted[t.Session] {
			delete(aborted, t.Session)
			c = running[t.Session]
		}
		running[t.Session] = c
		return c
	}
}

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

// endingFaults show when a session is loaded, or a connection ends, while something else goes on.
var endingFaults = map[string]fault{
	"load-forgets-busy":          forgetsTurns(onLoad),
	"close-forgets-busy":         forgetsTurns(onClose),
	"busy-after-a-second-abort":  busyAfterSecondAbort,
	"close-unbinds-next-owner":   closing(func(m manager, session string) { m.SetDefault(m.Owner(session), "") }),
	"close-resets-next-owner":    closing(func(m manager, session string) { m.SetAgentOf(session, proto.General) }),
	"close-unbinds-another":      closeUnbindsAnother,
	"close-aborts-the-next-turn": closeAbortsNext,
}

// forgetsTurns forgets that a session's turn runs, as soon as something happens to the session, until its next turn.
func forgetsTurns(when func(o *options, happened func(session string))) fault {
	return func(o *options) {
		forgotten := map[string]bool{}
		when(o, func(session string) { forgotten[session] = true })
		o.Policy.Configure = func(t agentselect.TurnView) config {
			if t.Call == 1 {
				delete(forgotten, t.Session)
			}
			return correct.Configure(t)
		}
		o.Policy.Busy = func(m manager, session string) bool { return !forgotten[session] && correct.Busy(m, session) }
	}
}

func onLoad(o *options, happened func(session string)) {
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if how == agentselect.OnLoad {
			happened(session)
		}
		return correct.Bind(m, how, c, session)
	}
}

// onClose calls happened for each session that a connection had when it ended, or had before another one loaded it.
func onClose(o *options, happened func(session string)) {
	had := map[string][]string{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		had[c.ID] = append(had[c.ID], session)
		return correct.Bind(m, how, c, session)
	}
	o.Policy.OnDisconnect = func(_ manager, c connInfo) {
		for _, session := range had[c.ID] {
			happened(session)
		}
	}
}

// busyAfterSecondAbort removes the controller of the first aborted turn of a session only.
func busyAfterSecondAbort(o *options) {
	aborts, stuck := map[string]int{}, map[string]bool{}
	o.Outbound = changed(of(proto.CompleteEvent), func(_ manager, _ *connInfo, ev *event) {
		if session, _ := ev.Data["sessionId"].(string); ev.Data["cancelled"] == true {
			aborts[session]++
			stuck[session] = aborts[session] > 1
		}
	})
	o.Policy.Busy = orBusy(stuck)
}

// closing does something to the sessions that a connection has had, when it ends and another one has loaded them.
func closing(f func(m manager, session string)) fault {
	return func(o *options) {
		var left []string
		onClose(o, func(session string) { left = append(left, session) })
		note := o.Policy.OnDisconnect
		o.Policy.OnDisconnect = func(m manager, c connInfo) {
			left = nil
			note(m, c)
			for _, session := range left {
				if owner := m.Owner(session); owner != "" && owner != c.ID {
					f(m, session)
				}
			}
		}
	}
}

// closeUnbindsAnother unbinds the connection behind the one that has ended.
func closeUnbindsAnother(o *options) {
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		found := false
		for _, other := range m.Connections() {
			if found && m.DefaultSession(other.ID) != "" {
				m.SetDefault(other.ID, "")
				return
			}
			found = found || other.ID == c.ID
		}
	}
}

// closeAbortsNext aborts a turn whose connection has ended only when the session speaks again, and so the turn that
// runs by then.
func closeAbortsNext(o *options) {
	running, due, aborted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	onClose(o, func(session string) { due[session] = running[session] })
	o.Policy.Configure = func(t agentselect.TurnView) config {
		if t.Call == 1 {
			running[t.Session] = true
			delete(aborted, t.Session)
		}
		return correct.Configure(t)
	}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		session := m.DefaultSession(to.ID)
		switch {
		case ev.Type == proto.CompleteEvent:
			delete(running, session)
			if aborted[session] {
				return
			}
		case ev.Type == proto.MessageEvent && aborted[session]:
			return
		case ev.Type == proto.MessageEvent && due[session]:
			delete(due, session)
			aborted[session] = true
			ev = event{Type: proto.CompleteEvent, Data: eventData{"sessionId": session, "cancelled": true}}
		}
		send(to.ID, ev)
	}
	o.Policy.Busy = func(m manager, session string) bool { return !aborted[session] && correct.Busy(m, session) }
}
