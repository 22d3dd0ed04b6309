package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// switchedFaults spoil agent_switched, or the switch that it tells of.
var switchedFaults = map[string]fault{
	"silent-switches":         telling(silentSwitches),
	"switched-in-camel-case":  telling(renamed(proto.AgentSwitchedEvent, "agentSwitched")),
	"switches-dry-up":         dryUp(proto.AgentSwitchedEvent, 4),
	"switched-as-list":        telling(switchedAsList),
	"switched-as-message":     telling(renamed(proto.AgentSwitchedEvent, proto.MessageEvent)),
	"previous-stuck":          switchedWith("previousAgentId", func(eventData) any { return proto.General }),
	"previous-is-current":     switchedWith("previousAgentId", func(d eventData) any { return d[currentKey] }),
	"previous-null":           switchedWith("previousAgentId", func(eventData) any { return nil }),
	"previous-null-at-first":  switchedWith("previousAgentId", nullIfGeneral),
	"previous-is-info":        switchedWith("previousAgentId", func(d eventData) any { return eventData{"id": d["previousAgentId"]} }),
	"no-previous":             rewriting(proto.AgentSwitchedEvent, func(d eventData) eventData { return d.Without("previousAgentId") }),
	"current-is-previous":     switchedWith(currentKey, func(d eventData) any { return d["previousAgentId"] }),
	"current-is-name":         switchedWith(currentKey, func(d eventData) any { return d["agentName"] }),
	"no-current":              rewriting(proto.AgentSwitchedEvent, func(d eventData) eventData { return d.Without(currentKey) }),
	"name-is-id":              switchedWith("agentName", func(d eventData) any { return d[currentKey] }),
	"name-null":               switchedWith("agentName", func(eventData) any { return nil }),
	"name-null-for-custom":    switchedWith("agentName", nullIfCustom),
	"name-of-previous":        telling(nameOfPrevious),
	"no-name":                 rewriting(proto.AgentSwitchedEvent, func(d eventData) eventData { return d.Without("agentName") }),
	"name-from-start":         nameFromStart,
	"switched-in-snake-case":  rewriting(proto.AgentSwitchedEvent, snake),
	"switched-without-data":   rewriting(proto.AgentSwitchedEvent, func(eventData) eventData { return eventData{} }),
	"switched-with-agent":     rewriting(proto.AgentSwitchedEvent, func(d eventData) eventData { return eventData{"agent": d} }),
	"announces-only":          deciding(func(options) rules { return rules{commit: func(agentselect.Switch, func(string)) {}} }),
	"first-switch-only":       deciding(firstSwitchOnly),
	"busy-after-first-switch": deciding(busyAfterFirst),
	"deduplicates-switches":   deduplicates,
	"failed-switch-sticks":    committing(func(sw agentselect.Switch) string { return sw.AgentID }, proto.AgentNotFound),
	"failed-switch-debugs":    committing(func(agentselect.Switch) string { return proto.Debugger }),
	"failed-switch-resets":    committing(func(agentselect.Switch) string { return proto.General }),
	"malformed-switch-resets": committing(func(agentselect.Switch) string { return proto.General }, proto.InvalidAgentIDFormat),
	"unknown-session-resets":  resetsOnUnknownSession,
	"custom-agents-refused":   deciding(withoutCustom),
	"custom-agents-one-way":   deciding(customOneWay),
	"analyzer-refused":        deciding(withoutAnalyzer),
	"name-of-the-next":        deciding(nameOfNext),
}

func switchedWith(key string, value func(d eventData) any) fault {
	return rewriting(proto.AgentSwitchedEvent, func(d eventData) eventData { return d.With(key, value(d)) })
}

func silentSwitches(_ manager, to connInfo, ev event, send sender) {
	if ev.Type != proto.AgentSwitchedEvent {
		send(to.ID, ev)
	}
}

// switchedAsList confirms by a list that names the new agent.
func switchedAsList(m manager, to connInfo, ev event, send sender) {
	if ev.Type == proto.AgentSwitchedEvent {
		ev = agentList(m, to)
	}
	send(to.ID, ev)
}

func nullIfGeneral(d eventData) any {
	if d["previousAgentId"] == proto.General {
		return nil
	}
	return d["previousAgentId"]
}

func nullIfCustom(d eventData) any {
	if isBuiltin(d[currentKey].(string)) {
		return d["agentName"]
	}
	return nil
}

func nameOfPrevious(m manager, to connInfo, ev event, send sender) {
	if ev.Type == proto.AgentSwitchedEvent {
		ev.Data = ev.Data.With("agentName", nameOf(m, ev.Data["previousAgentId"].(string)))
	}
	send(to.ID, ev)
}

// nameFromStart remembers the name of the first agent that was switched to.
func nameFromStart(o *options) middleware {
	var name any
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentSwitchedEvent {
			if name == nil {
				name = ev.Data["agentName"]
			}
			ev.Data = ev.Data.With("agentName", name)
		}
		send(to.ID, ev)
	}
	return nil
}

func snake(d eventData) eventData {
	return eventData{
		"previous_agent_id": d["previousAgentId"], "current_agent_id": d[currentKey], "agent_name": d["agentName"],
	}
}

// firstSwitchOnly confirms every switch and carries out the first of a session.
func firstSwitchOnly(options) rules {
	switched := map[string]bool{}
	return rules{commit: func(sw agentselect.Switch, set func(string)) {
		if sw.Refusal == nil && !switched[sw.Session] {
			switched[sw.Session] = true
			set(sw.AgentID)
		}
	}}
}

// busyAfterFirst takes the switch for a task, and never ends it.
func busyAfterFirst(options) rules {
	switched := map[string]bool{}
	return rules{
		commit: func(sw agentselect.Switch, set func(string)) {
			switched[sw.Session] = switched[sw.Session] || sw.Refusal == nil
			correct.Commit(sw, set)
		},
		busy: func(m manager, session string) bool { return switched[session] || correct.Busy(m, session) },
	}
}

// deduplicates drops a switch that a connection has sent before.
func deduplicates(o *options) middleware {
	seen := map[[2]any]bool{}
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		id, isString := msg["agentId"].(string)
		key := [2]any{from.ID, id}
		if msg["type"] == proto.SwitchAgentType && isString && isBuiltin(id) {
			if seen[key] {
				return nil
			}
			seen[key] = true
		}
		return []message{msg}
	}
	return nil
}

// committing changes the agent on refusals of some codes, on all without one.
func committing(to func(sw agentselect.Switch) string, codes ...string) fault {
	return deciding(func(options) rules {
		return rules{commit: func(sw agentselect.Switch, set func(string)) {
			correct.Commit(sw, set)
			if sw.Session != "" && sw.Refusal != nil && (len(codes) == 0 || sw.Refusal.Code == codes[0]) {
				set(to(sw))
			}
		}}
	})
}

// resetsOnUnknownSession falls back to the default agent when a session is not found.
func resetsOnUnknownSession(o *options) middleware {
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if own := m.DefaultSession(to.ID); own != "" && isRefusal(ev, proto.SessionNotFound) {
			m.SetAgentOf(own, proto.General)
		}
		send(to.ID, ev)
	}
	return nil
}

func forSwitch(keep func(a agent) bool) rules {
	return rules{agents: func(why agentselect.Purpose, now []agent) []agent {
		if why != agentselect.ForSwitch {
			return now
		}
		var kept []agent
		for _, a := range now {
			if keep(a) {
				kept = append(kept, a)
			}
		}
		return kept
	}}
}

func withoutCustom(options) rules { return forSwitch(func(a agent) bool { return isBuiltin(a.ID) }) }

func withoutAnalyzer(options) rules {
	return forSwitch(func(a agent) bool { return a.ID != proto.RequirementAnalyzer })
}

// customOneWay finds the session busy once it has a custom agent.
func customOneWay(options) rules {
	return rules{busy: func(m manager, session string) bool {
		return !isBuiltin(m.AgentOf(session)) || correct.Busy(m, session)
	}}
}

// nameOfNext looks names up by place, and is one off.
func nameOfNext(options) rules {
	return rules{agents: func(why agentselect.Purpose, now []agent) []agent {
		if why != agentselect.ForSwitch {
			return now
		}
		moved := make([]agent, len(now))
		for i, a := range now {
			moved[i] = now[(i+1)%len(now)]
			moved[i].ID = a.ID
		}
		return moved
	}}
}
