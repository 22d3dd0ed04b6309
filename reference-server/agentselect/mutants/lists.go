package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
)

// listFaults send a wrong agent_list.
var listFaults = map[string]fault{
	"list-without-builtins":     offering(custom),
	"list-of-two-builtins":      offering(func(l []proto.AgentInfo) any { return slices.Delete(slices.Clone(l), 1, 2) }),
	"list-without-custom":       offering(builtin),
	"list-splits-custom":        rewriting(lists, splitList),
	"list-as-map":               offering(byID),
	"list-of-ids":               offering(ids),
	"list-under-another-name":   moved(lists, "agents", "list"),
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
	"no-current-agent":          without(lists, currentKey),
	"unlisted-current-agent":    with(lists, currentKey, fixed("default")),
	"empty-current-agent":       with(lists, currentKey, fixed("")),
	"name-as-current-agent":     with(lists, currentKey, fixed("General")),
	"info-as-current-agent": with(
		lists, currentKey, func(d eventData) any { return d["agents"].([]proto.AgentInfo)[0] }),
	"index-as-current-agent":   with(lists, currentKey, fixed(0)),
	"current-under-other-name": moved(lists, currentKey, "current"),
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
