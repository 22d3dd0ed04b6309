package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
)

// listFaults spoil the content of agent_list.
var listFaults = map[string]fault{
	"list-without-builtins":     offering(func(l []proto.AgentInfo) any { return custom(l) }),
	"list-of-two-builtins":      offering(func(l []proto.AgentInfo) any { return slices.Delete(slices.Clone(l), 1, 2) }),
	"list-without-custom":       offering(func(l []proto.AgentInfo) any { return builtin(l) }),
	"list-splits-custom":        rewriting(proto.AgentListEvent, splitList),
	"list-as-map":               offering(byID),
	"list-of-ids":               offering(ids),
	"list-under-another-name":   rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.With("list", d["agents"]).Without("agents") }),
	"ids-twice-in-list":         offering(func(l []proto.AgentInfo) any { return append(slices.Clone(l), l[0]) }),
	"upper-case-id-in-list":     offering(func(l []proto.AgentInfo) any { return append(slices.Clone(l), legacy("Legacy-Agent")) }),
	"blank-in-id-in-list":       offering(func(l []proto.AgentInfo) any { return append(slices.Clone(l), legacy("legacy agent")) }),
	"unknown-agent-in-list":     offering(func(l []proto.AgentInfo) any { return append(slices.Clone(l), legacy("legacy_agent")) }),
	"id-under-another-name":     offering(func(l []proto.AgentInfo) any { return extra(entries(l, "name", "description"), "agentId", l) }),
	"numeric-ids-in-list":       offering(numbered),
	"null-names-in-list":        offering(func(l []proto.AgentInfo) any { return nulled(l, "name") }),
	"no-names-in-list":          offering(func(l []proto.AgentInfo) any { return entries(l, "id", "description") }),
	"translated-names-in-list":  offering(func(l []proto.AgentInfo) any { return localised(l, "name") }),
	"no-descriptions-in-list":   offering(func(l []proto.AgentInfo) any { return entries(l, "id", "name") }),
	"null-descriptions-in-list": offering(func(l []proto.AgentInfo) any { return nulled(l, "description") }),
	"localised-descriptions":    offering(func(l []proto.AgentInfo) any { return localised(l, "description") }),
	"no-current-agent":          rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.Without(currentKey) }),
	"unlisted-current-agent":    rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.With(currentKey, "default") }),
	"empty-current-agent":       rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.With(currentKey, "") }),
	"name-as-current-agent":     rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.With(currentKey, "General") }),
	"info-as-current-agent":     rewriting(proto.AgentListEvent, infoAsCurrent),
	"index-as-current-agent":    rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.With(currentKey, 0) }),
	"current-under-other-name":  rewriting(proto.AgentListEvent, func(d eventData) eventData { return d.With("current", d[currentKey]).Without(currentKey) }),
}

const currentKey = "currentAgentId"

// offering changes the agents of agent_list.
func offering(f func(list []proto.AgentInfo) any) fault {
	return rewriting(proto.AgentListEvent, func(d eventData) eventData {
		return d.With("agents", f(d["agents"].([]proto.AgentInfo)))
	})
}

func splitList(d eventData) eventData {
	all := d["agents"].([]proto.AgentInfo)
	return d.With("agents", builtin(all)).With("customAgents", custom(all))
}

func legacy(id string) proto.AgentInfo {
	return proto.AgentInfo{ID: id, Name: "Legacy", Description: "Kept for old projects"}
}

// extra adds the ids under another key.
func extra(entries []map[string]any, key string, list []proto.AgentInfo) any {
	for i, e := range entries {
		e[key] = list[i].ID
	}
	return entries
}

// numbered replaces ids by row numbers of a table.
func numbered(list []proto.AgentInfo) any {
	all := entries(list, "id", "name", "description")
	for i, e := range all {
		e["id"] = i + 1
	}
	return all
}

// nulled has null for a key of the last entry, as for an agent whose author left it out.
func nulled(list []proto.AgentInfo, key string) any {
	all := entries(list, "id", "name", "description")
	all[len(all)-1][key] = nil
	return all
}

// localised has an object by language where a text is due.
func localised(list []proto.AgentInfo, key string) any {
	all := entries(list, "id", "name", "description")
	for _, e := range all {
		e[key] = map[string]any{"zh": e[key]}
	}
	return all
}

func infoAsCurrent(d eventData) eventData {
	return d.With(currentKey, d["agents"].([]proto.AgentInfo)[0])
}
