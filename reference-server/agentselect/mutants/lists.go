package mutants

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// listFaults send a wrong agent_list.
var listFaults = map[string]fault{
	"list-without-builtins":     offering(custom),
	"list-of-two-builtins":      offering(func(l []proto.AgentInfo) any { return slices.Delete(slices.Clone(l), 1, 2) }),
	"list-without-custom":       offering(builtin),
	"list-splits-custom":        rewriting(lists, splitList),
	"list-as-map":               offering(byID),
	"list-of-ids":               offering(ids),
	"ids-twice-in-list":         offering(firstTwice),
	"upper-case-id-in-list":     offering(joinedBy("Legacy-Agent")),
	"blank-in-id-in-list":       offering(joinedBy("legacy agent")),
	"unknown-agent-in-list":     offering(joinedBy("legacy_agent")),
	"id-under-another-name":     offering(each(func(_ int, e map[string]any) { e["agentId"] = e["id"]; delete(e, "id") })),
	"numeric-ids-in-list":       offering(each(func(row int, e map[string]any) { e["id"] = row + 1 })),
	"null-names-in-list":        offering(lastNull("name")),
	"no-names-in-list":          offering(keeping("id", "description")),
	"later-agents-lack-names":   ofLaterAgents(func(e map[string]any) { delete(e, "name") }),
	"later-ids-as-written":      ofLaterAgents(func(e map[string]any) { e["id"] = "Parley Added" }),
	"translated-names-in-list":  offering(localised("name")),
	"no-descriptions-in-list":   offering(keeping("id", "name")),
	"null-descriptions-in-list": offering(lastNull("description")),
	"localised-descriptions":    offering(localised("description")),
}

const currentKey = "currentAgentId"

// offering changes the agents of agent_list.
func offering(f func(list []proto.AgentInfo) any) fault {
	return with(lists, "agents", func(d eventData) any { return f(d["agents"].([]proto.AgentInfo)) })
}

func splitList(d eventData) eventData {
	all := d["agents"].([]proto.AgentInfo)
	return d.With("agents", builtin(all)).With("customAgents", custom(all))
}

// joinedBy adds an agent that can't be selected.
func joinedBy(id string) func([]proto.AgentInfo) any {
	return func(l []proto.AgentInfo) any {
		return append(slices.Clone(l), proto.AgentInfo{ID: id, Name: "Legacy", Description: "Kept for old projects"})
	}
}

// each changes the entries one at a time.
func each(f func(i int, entry map[string]any)) func([]proto.AgentInfo) any {
	return func(l []proto.AgentInfo) any {
		all := entries(l, "id", "name", "description")
		for i, e := range all {
			f(i, e)
		}
		return all
	}
}

// ofLaterAgents changes the entries of agents that the first list did not have.
func ofLaterAgents(f func(entry map[string]any)) fault {
	return func(o *options) {
		first := map[string]bool{}
		offering(func(l []proto.AgentInfo) any {
			if len(first) == 0 {
				for _, a := range l {
					first[a.ID] = true
				}
			}
			return each(func(i int, e map[string]any) {
				if !first[l[i].ID] {
					f(e)
				}
			})(l)
		})(o)
	}
}

// lastNull sends null for a key of the last entry, as for an agent whose author omitted it.
func lastNull(key string) func([]proto.AgentInfo) any {
	return func(l []proto.AgentInfo) any {
		return each(func(i int, e map[string]any) {
			if i == len(l)-1 {
				e[key] = nil
			}
		})(l)
	}
}

// localised sends an object keyed by language instead of a string.
func localised(key string) func([]proto.AgentInfo) any {
	return each(func(_ int, e map[string]any) { e[key] = map[string]any{"zh": e[key]} })
}

// availableFaults send wrong availableAgents.
var availableFaults = map[string]fault{
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
	"nameless-on-malformed":         available(keeping("id", "description"), proto.InvalidAgentIDFormat),
}

const availableKey = "availableAgents"

// available changes the list in refusals with a code.
func available(f func(list []proto.AgentInfo) any, code string) fault {
	return with(refuses(code), availableKey, func(d eventData) any { return f(d[availableKey].([]proto.AgentInfo)) })
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

// configFaults handle the agents file incorrectly.
var configFaults = map[string]fault{
	"list-from-start":          fromStart(agentselect.ForConnect),
	"validates-from-start":     fromStart(agentselect.ForSwitch),
	"accepts-deleted-agents":   acceptsDeleted,
	"refuses-added-agents":     refusesAdded,
	"renamed-agents-keep-name": keepsNames(),
	"announces-former-names":   keepsNames(agentselect.ForSwitch),
	"pushes-changes":           pushesChanges,
	"rewrites-config-on-switch": writing(
		func(old []byte, d eventData) []byte { return fmt.Appendf(old, "\n# current = %q\n", d[currentKey]) }),
	"reformats-config-on-switch": writing(
		func(old []byte, _ eventData) []byte { return bytes.TrimSuffix(old, []byte("\n")) }),
}

// acceptsDeleted keeps accepting agents that have been removed.
func acceptsDeleted(o *options) {
	var known []agent
	o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
		for _, a := range now {
			if !hasAgent(known, a) {
				known = append(known, a)
			}
		}
		if why == agentselect.ForSwitch || why == agentselect.ForTurn {
			return known
		}
		return now
	}
}

func hasAgent(list []agent, a agent) bool {
	return slices.ContainsFunc(list, func(l agent) bool { return l.ID == a.ID })
}

func refusesAdded(o *options) {
	var first []agent
	o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
		if first == nil {
			first = now
		}
		if why != agentselect.ForSwitch {
			return now
		}
		return slices.DeleteFunc(slices.Clone(now), func(a agent) bool { return !hasAgent(first, a) })
	}
}

// keepsNames shows each agent forever under its first name, for some purposes; without any, for all.
func keepsNames(purposes ...agentselect.Purpose) fault {
	return func(o *options) {
		names := map[string]string{}
		o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
			if len(purposes) > 0 && !slices.Contains(purposes, why) {
				return now
			}
			now = slices.Clone(now)
			for i, a := range now {
				if _, seen := names[a.ID]; !seen {
					names[a.ID] = a.Name
				}
				now[i].Name = names[a.ID]
			}
			return now
		}
	}
}

// pushesChanges sends everyone a changed list as soon as anything makes it read the file.
func pushesChanges(o *options) {
	var known string
	var send sender
	look := func(m manager) {
		now := fmt.Sprint(m.Agents())
		if known != "" && now != known && send != nil {
			for _, c := range m.Connections() {
				send(c.ID, agentList(m, c))
			}
		}
		known = now
	}
	o.Outbound = func(m manager, to connInfo, ev event, s sender) {
		if greets(ev) {
			// A client that is just connecting gets the list with the greeting.
			send = func(id string, ev event) {
				if id != to.ID {
					s(id, ev)
				}
			}
			look(m)
		}
		send = s
		s(to.ID, ev)
	}
	o.Inbound = func(m manager, _ connInfo, _ message) bool {
		look(m)
		return true
	}
}

// writing rewrites the agents file at each switch.
func writing(f func(old []byte, d eventData) []byte) fault {
	return func(o *options) {
		path := o.AgentsFile
		o.Outbound = changed(confirms, func(_ manager, _ *connInfo, ev *event) {
			if old, err := os.ReadFile(path); err == nil {
				_ = os.WriteFile(path, f(old, ev.Data), 0o600)
			}
		})
	}
}
