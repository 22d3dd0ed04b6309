package mutants

import (
	"slices"
	"strings"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// switchedFaults send a wrong agent_switched, or switch incorrectly.
var switchedFaults = map[string]fault{
	"switches-dry-up": dryUp(confirms, 4),
	"switched-as-list": telling(
		changed(confirms, func(m manager, to *connInfo, ev *event) { *ev = agentList(m, *to) })),
	"name-of-previous":        telling(changed(confirms, nameOfPrevious)),
	"name-from-start":         nameFromStart,
	"announces-only":          deciding(rules{Commit: func(agentselect.Switch, func(string)) {}}),
	"first-switch-only":       firstSwitchOnly,
	"busy-after-first-switch": busyAfterFirst,
	"deduplicates-switches":   deduplicates,
	"answers-from-a-cache":    answersFromCache,
	"deaf-after-20-messages":  deafAfter(20),
	"failed-switch-sticks":    committing(func(sw agentselect.Switch) string { return sw.AgentID }, proto.AgentNotFound),
	"failed-switch-debugs":    committing(to(proto.Debugger)),
	"failed-switch-resets":    committing(to(proto.General)),
	"malformed-switch-resets": committing(to(proto.General), proto.InvalidAgentIDFormat),
	"unknown-session-resets":  telling(changed(refuses(proto.SessionNotFound), resetsOwn)),
	"custom-agents-refused":   knowing(func(a agent) bool { return isBuiltin(a.ID) }),
	"custom-agents-one-way": judging(
		func(m manager, s string) bool { return !isBuiltin(m.AgentOf(s)) || correct.Busy(m, s) }),
	"analyzer-refused": knowing(func(a agent) bool { return a.ID != proto.RequirementAnalyzer }),
	"name-of-the-next": forSwitch(nameOfNext),
}

const (
	previousKey = "previousAgentId"
	nameKey     = "agentName"
)

func nameOfPrevious(m manager, _ *connInfo, ev *event) {
	ev.Data = ev.Data.With(nameKey, nameOf(m, ev.Data[previousKey].(string)))
}

// nameFromStart repeats the name of the first agent that was switched to.
func nameFromStart(o *options) {
	var name any
	with(confirms, nameKey, func(d eventData) any {
		if name == nil {
			name = d[nameKey]
		}
		return name
	})(o)
}

// firstSwitchOnly confirms every switch but executes only the first of a session.
func firstSwitchOnly(o *options) {
	switched := map[string]bool{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		if sw.Refusal == nil && !switched[sw.Session] {
			switched[sw.Session] = true
			set(sw.AgentID)
		}
	}
}

// busyAfterFirst treats the switch as a task that never ends.
func busyAfterFirst(o *options) {
	switched := map[string]bool{}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { switched[sw.Session] = true })
	o.Policy.Busy = orBusy(switched)
}

// deafAfter ignores the messages of a connection after so many.
func deafAfter(most int) fault {
	return func(o *options) {
		came := map[string]int{}
		o.Inbound = func(_ manager, from connInfo, _ message) bool {
			came[from.ID]++
			return came[from.ID] <= most
		}
	}
}

// deduplicates drops a switch to an agent that the connection has requested before.
func deduplicates(o *options) {
	seen := map[[2]any]bool{}
	dropping(proto.SwitchAgentType, func(_ manager, from connInfo, msg message) bool {
		id, _ := msg["agentId"].(string)
		key := [2]any{from.ID, id}
		was := seen[key]
		seen[key] = isBuiltin(id)
		return was
	})(o)
}

// answersFromCache answers a switch to a built-in agent that the connection has requested before as it did then, and
// carries it out no more.
func answersFromCache(o *options) {
	answers := map[[2]string]eventData{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		if answers[[2]string{sw.Conn, sw.AgentID}] == nil {
			correct.Commit(sw, set)
		}
	}
	o.Outbound = changed(confirms, func(_ manager, to *connInfo, ev *event) {
		id, _ := ev.Data["currentAgentId"].(string)
		key := [2]string{to.ID, id}
		if was := answers[key]; was != nil {
			ev.Data = was
		} else if isBuiltin(id) {
			answers[key] = ev.Data
		}
	})
}

func to(id string) func(agentselect.Switch) string {
	return func(agentselect.Switch) string { return id }
}

// committing changes the agent despite refusals with some codes; without codes, despite all.
func committing(to func(sw agentselect.Switch) string, codes ...string) fault {
	return deciding(rules{Commit: func(sw agentselect.Switch, set func(string)) {
		correct.Commit(sw, set)
		if sw.Session != "" && sw.Refusal != nil && (len(codes) == 0 || slices.Contains(codes, sw.Refusal.Code)) {
			set(to(sw))
		}
	}})
}

// resetsOwn falls back to the default agent when a session is not found.
func resetsOwn(m manager, to *connInfo, _ *event) {
	if own := m.DefaultSession(to.ID); own != "" {
		m.SetAgentOf(own, proto.General)
	}
}

// forSwitch changes the agents among which the requested one is looked up.
func forSwitch(f func(now []agent) []agent) fault {
	return deciding(rules{Agents: func(why agentselect.Purpose, now []agent) []agent {
		if why != agentselect.ForSwitch {
			return now
		}
		return f(now)
	}})
}

func knowing(keep func(a agent) bool) fault {
	return forSwitch(func(now []agent) []agent {
		return slices.DeleteFunc(slices.Clone(now), func(a agent) bool { return !keep(a) })
	})
}

// nameOfNext looks names up by index, off by one.
func nameOfNext(now []agent) []agent {
	moved := make([]agent, len(now))
	for i, a := range now {
		moved[i] = now[(i+1)%len(now)]
		moved[i].ID = a.ID
	}
	return moved
}

// refusalFaults send wrong refusals: code, text, event.
var refusalFaults = map[string]fault{
	"camel-case-codes": with(
		refuses(), "errorCode", func(d eventData) any { return camel(d["errorCode"].(string)) }),
	"upper-case-codes":             with(refuses(), "errorCode", shouted("errorCode")),
	"unbound-as-no-session":        telling(changed(refuses(proto.SessionNotFound), unboundRenamed)),
	"text-with-folded-id":          with(refuses(proto.AgentNotFound), "message", shouted("message")),
	"refusals-by-http-only":        byStatus(400),
	"http-404-for-unknown-session": byStatus(404, proto.SessionNotFound),
	"http-409-for-busy":            byStatus(409, proto.AgentBusy),
	"refused-and-switched":         before(refuses(proto.AgentNotFound), confirmation),
	"switched-after-malformed":     before(refuses(proto.InvalidAgentIDFormat), confirmation),
	"refused-and-told-again":       toldAgain,
}

// camel turns agent_not_found into agentNotFound.
func camel(code string) string {
	words := strings.Split(code, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func shouted(key string) func(d eventData) any {
	return func(d eventData) any { return strings.ToUpper(d[key].(string)) }
}

// unboundRenamed uses another code for a missing session than for an unknown one.
func unboundRenamed(m manager, to *connInfo, ev *event) {
	if m.DefaultSession(to.ID) == "" {
		ev.Data = ev.Data.With("errorCode", "no_session")
	}
}

// toldAgain repeats a connection's last confirmation when its switch is refused.
func toldAgain(o *options) {
	last := map[string]event{}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if confirms(ev) {
			last[to.ID] = ev
		}
		if again, ok := last[to.ID]; ok && refuses(proto.AgentNotFound)(ev) {
			send(to.ID, again)
		}
		send(to.ID, ev)
	}
}

// confirmation returns an agent_switched to the current agent.
func confirmation(m manager, c connInfo) event {
	id := m.AgentOf(m.DefaultSession(c.ID))
	return event{Type: proto.AgentSwitchedEvent, Data: eventData{
		"previousAgentId": id, currentKey: id, "agentName": nameOf(m, id),
	}}
}

func nameOf(m manager, id string) string {
	for _, a := range m.Agents() {
		if a.ID == id {
			return a.Name
		}
	}
	return id
}
