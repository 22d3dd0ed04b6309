package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// availableFaults send wrong availableAgents.
var availableFaults = map[string]fault{
	"no-available-agents":            without(refuses(proto.AgentNotFound), availableKey),
	"available-agents-null":          available(null, proto.AgentNotFound),
	"available-agents-empty":         available(func([]proto.AgentInfo) any { return []any{} }, proto.AgentNotFound),
	"available-agents-are-ids":       available(ids, proto.AgentNotFound),
	"available-agents-are-a-map":     available(byID, proto.AgentNotFound),
	"available-agents-are-text":      available(joined, proto.AgentNotFound),
	"available-agents-without-names": available(keeping("id", "description"), proto.AgentNotFound),
	"available-agents-without-texts": available(keeping("id", "name"), proto.AgentNotFound),
	"available-agents-builtin-only":  available(builtin, proto.AgentNotFound),
	"available-agents-custom-only":   available(custom, proto.AgentNotFound),
	"available-agents-without-last": available(
		func(l []proto.AgentInfo) any { return l[:len(l)-1] }, proto.AgentNotFound),
	"available-agents-ids-twice":    available(firstTwice, proto.AgentNotFound),
	"available-agents-not-current":  telling(changed(refuses(proto.AgentNotFound), othersOnly)),
	"available-agents-from-start":   fromStart(agentselect.ForRefusal),
	"available-agents-from-connect": availableFromConnect,
	"ids-only-on-empty":             available(ids, proto.InvalidAgentID),
	"ids-only-on-malformed":         available(ids, proto.InvalidAgentIDFormat),
	"map-on-empty":                  available(byID, proto.InvalidAgentID),
	"map-on-malformed":              available(byID, proto.InvalidAgentIDFormat),
	"null-on-empty":                 available(null, proto.InvalidAgentID),
	"null-on-malformed":             available(null, proto.InvalidAgentIDFormat),
	"nameless-on-malformed":         available(keeping("id", "description"), proto.InvalidAgentIDFormat),
}

const availableKey = "availableAgents"

// available changes the list in refusals with a code.
func available(f func(list []proto.AgentInfo) any, code string) fault {
	return with(refuses(code), availableKey, func(d eventData) any { return f(d[availableKey].([]proto.AgentInfo)) })
}

func null([]proto.AgentInfo) any { return nil }

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

func joined(list []proto.AgentInfo) any {
	text := ""
	for _, a := range list {
		text += a.ID + " "
	}
	return text
}

func firstTwice(list []proto.AgentInfo) any { return append(slices.Clone(list), list[0]) }

// keeping keeps only some keys of each entry.
func keeping(keys ...string) func([]proto.AgentInfo) any {
	return func(l []proto.AgentInfo) any { return entries(l, keys...) }
}

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

func builtin(list []proto.AgentInfo) any {
	return slices.DeleteFunc(slices.Clone(list), func(a proto.AgentInfo) bool { return !isBuiltin(a.ID) })
}

func custom(list []proto.AgentInfo) any {
	return slices.DeleteFunc(slices.Clone(list), func(a proto.AgentInfo) bool { return isBuiltin(a.ID) })
}

func othersOnly(m manager, to *connInfo, ev *event) {
	current := m.AgentOf(m.DefaultSession(to.ID))
	ev.Data = ev.Data.With(availableKey, slices.DeleteFunc(slices.Clone(ev.Data[availableKey].([]proto.AgentInfo)),
		func(a proto.AgentInfo) bool { return a.ID == current }))
}

// fromStart uses the first list that was read for one purpose.
func fromStart(purpose agentselect.Purpose) fault {
	return func(o *options) {
		var first []agent
		o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
			if first == nil {
				first = now
			}
			if why == purpose {
				return first
			}
			return now
		}
	}
}

// availableFromConnect repeats to each client the list that it got on connecting.
func availableFromConnect(o *options) {
	told := map[string]any{}
	o.Outbound = changed(of(proto.AgentListEvent, proto.ErrorEvent), func(_ manager, to *connInfo, ev *event) {
		if lists(*ev) {
			told[to.ID] = ev.Data["agents"]
		} else if refuses(proto.AgentNotFound)(*ev) {
			ev.Data = ev.Data.With(availableKey, told[to.ID])
		}
	})
}
