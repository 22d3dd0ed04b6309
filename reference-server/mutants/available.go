package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// availableFaults spoil availableAgents.
var availableFaults = map[string]fault{
	"no-available-agents":            refusing(func(d eventData) eventData { return d.Without(availableKey) }, proto.AgentNotFound),
	"available-agents-null":          listing(func([]proto.AgentInfo) any { return nil }, proto.AgentNotFound),
	"available-agents-empty":         listing(func([]proto.AgentInfo) any { return []any{} }, proto.AgentNotFound),
	"available-agents-are-ids":       listing(ids, proto.AgentNotFound),
	"available-agents-are-a-map":     listing(byID, proto.AgentNotFound),
	"available-agents-are-text":      listing(func(l []proto.AgentInfo) any { return joined(l) }, proto.AgentNotFound),
	"available-agents-without-names": listing(func(l []proto.AgentInfo) any { return entries(l, "id", "description") }, proto.AgentNotFound),
	"available-agents-without-texts": listing(func(l []proto.AgentInfo) any { return entries(l, "id", "name") }, proto.AgentNotFound),
	"available-agents-builtin-only":  listing(func(l []proto.AgentInfo) any { return builtin(l) }, proto.AgentNotFound),
	"available-agents-custom-only":   listing(func(l []proto.AgentInfo) any { return custom(l) }, proto.AgentNotFound),
	"available-agents-without-last":  listing(func(l []proto.AgentInfo) any { return l[:len(l)-1] }, proto.AgentNotFound),
	"available-agents-ids-twice":     listing(func(l []proto.AgentInfo) any { return append(slices.Clone(l), l[0]) }, proto.AgentNotFound),
	"available-agents-not-current":   telling(othersOnly),
	"available-agents-from-start":    deciding(fromStart(agentselect.ForRefusal)),
	"available-agents-from-connect":  availableFromConnect,
	"ids-only-on-empty":              listing(ids, proto.InvalidAgentID),
	"ids-only-on-malformed":          listing(ids, proto.InvalidAgentIDFormat),
	"map-on-empty":                   listing(byID, proto.InvalidAgentID),
	"map-on-malformed":               listing(byID, proto.InvalidAgentIDFormat),
	"null-on-empty":                  listing(func([]proto.AgentInfo) any { return nil }, proto.InvalidAgentID),
	"null-on-malformed":              listing(func([]proto.AgentInfo) any { return nil }, proto.InvalidAgentIDFormat),
	"nameless-on-malformed":          listing(func(l []proto.AgentInfo) any { return entries(l, "id", "description") }, proto.InvalidAgentIDFormat),
}

const availableKey = "availableAgents"

// listing changes the list in the refusals of a code.
func listing(f func(list []proto.AgentInfo) any, code string) fault {
	return refusing(func(d eventData) eventData {
		return d.With(availableKey, f(d[availableKey].([]proto.AgentInfo)))
	}, code)
}

func ids(list []proto.AgentInfo) any {
	all := make([]string, len(list))
	for i, a := range list {
		all[i] = a.ID
	}
	return all
}

func byID(list []proto.AgentInfo) any {
	all := map[string]proto.AgentInfo{}
	for _, a := range list {
		all[a.ID] = a
	}
	return all
}

func joined(list []proto.AgentInfo) (text string) {
	for _, a := range list {
		text += a.ID + " "
	}
	return text
}

// entries keeps some keys of each entry.
func entries(list []proto.AgentInfo, keys ...string) []map[string]any {
	all := make([]map[string]any, len(list))
	for i, a := range list {
		all[i] = map[string]any{}
		for _, k := range keys {
			all[i][k] = map[string]string{"id": a.ID, "name": a.Name, "description": a.Description}[k]
		}
	}
	return all
}

func isBuiltin(id string) bool { return slices.Contains(proto.BuiltinIDs, id) }

func builtin(list []proto.AgentInfo) []proto.AgentInfo {
	return slices.DeleteFunc(slices.Clone(list), func(a proto.AgentInfo) bool { return !isBuiltin(a.ID) })
}

func custom(list []proto.AgentInfo) []proto.AgentInfo {
	return slices.DeleteFunc(slices.Clone(list), func(a proto.AgentInfo) bool { return isBuiltin(a.ID) })
}

func othersOnly(m manager, to connInfo, ev event, send sender) {
	if isRefusal(ev, proto.AgentNotFound) {
		current := m.AgentOf(m.DefaultSession(to.ID))
		rest := slices.DeleteFunc(slices.Clone(ev.Data[availableKey].([]proto.AgentInfo)),
			func(a proto.AgentInfo) bool { return a.ID == current })
		ev.Data = ev.Data.With(availableKey, rest)
	}
	send(to.ID, ev)
}

// fromStart answers one purpose by the first list that was read.
func fromStart(purpose agentselect.Purpose) func(options) rules {
	return func(options) rules {
		var first []agent
		return rules{agents: func(why agentselect.Purpose, now []agent) []agent {
			if first == nil {
				first = now
			}
			if why == purpose {
				return first
			}
			return now
		}}
	}
}

// availableFromConnect repeats to each client what it was told when it connected.
func availableFromConnect(o *options) middleware {
	told := map[string]any{}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentListEvent {
			told[to.ID] = ev.Data["agents"]
		} else if isRefusal(ev, proto.AgentNotFound) {
			ev.Data = ev.Data.With(availableKey, told[to.ID])
		}
		send(to.ID, ev)
	}
	return nil
}
