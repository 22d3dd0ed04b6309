package model

import (
	"fmt"
	"regexp"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// ISOTime matches a time as in agent-client 3.5: ISO 8601 in UTC.
var ISOTime = regexp.MustCompile(`\A\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z\z`)

// finding returns a finding about a record; only a failed one is described.
func finding(r transcript.Record, ok bool, expected string, clauses ...string) verdict.Finding {
	f := verdict.Finding{Clauses: clauses, OK: ok, Expected: expected, At: r.N}
	if !ok {
		f.Observed = monitor.Describe(r)
	}
	return f
}

// AgentList judges the shape of one agent_list event (AS-083, AS-113 to AS-118).
func AgentList(r transcript.Record) []verdict.Finding {
	current, told := member(r, vocab.CurrentAgentID)
	return append(Agents(r), finding(r, told, "the key currentAgentId", "AS-083", "AS-118", "AS-040"),
		finding(r, !told || current == nil || isString(current), "currentAgentId as a string, or null", "AS-118"))
}

// Agents judges the agents of one agent_list event (AS-083, AS-113 to AS-115, AS-117).
func Agents(r transcript.Record) []verdict.Finding {
	agents, has := member(r, vocab.Agents)
	_, isList := agents.([]any)
	return append([]verdict.Finding{finding(r, has && isList, "agents as an array", "AS-083", "AS-117"),
		finding(r, allObjects(agents), "agents with objects {id, name, description}", "AS-083", "AS-117")},
		entries(r, agents)...)
}

func allObjects(list any) bool {
	all, _ := list.([]any)
	for _, e := range all {
		if wjson.Kind(e) != "object" {
			return false
		}
	}
	return true
}

// entries judges the entries of a list of agents (AS-113 to AS-115).
func entries(r transcript.Record, list any) []verdict.Finding {
	var out []verdict.Finding
	seen := map[string]bool{}
	all, _ := list.([]any)
	for i, e := range all {
		if wjson.Kind(e) != "object" { // the list breaks its own clause
			continue
		}
		id, _ := field(e, "id")
		text, ok := id.(string)
		out = append(out, finding(r, ok && vocab.IDPattern.MatchString(text),
			fmt.Sprintf("agent %d with an id that matches [a-z0-9_-]+", i), "AS-113"))
		out = append(out, finding(r, !ok || !seen[text], fmt.Sprintf("the id %q once in the list", text), "AS-113"))
		seen[text] = true
		for key, clause := range map[string]string{"name": "AS-114", "description": "AS-115"} {
			v, _ := field(e, key)
			out = append(out, finding(r, isString(v), fmt.Sprintf("agent %d (%s) with a %s that is a string", i,
				wjson.Compact(id), key),
				clause))
		}
	}
	return out
}

// Switched judges the shape of one agent_switched event (AS-084, AS-119).
func Switched(r transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	for _, key := range []string{vocab.PreviousAgentID, vocab.CurrentAgentID, vocab.AgentName} {
		v, has := member(r, key)
		out = append(out, finding(r, has && v != nil, "agent_switched with "+key, "AS-084"),
			finding(r, isString(v), key+" as a string", "AS-119"))
	}
	return out
}

// SwitchError judges the shape of one error that answers a switch (AS-085, AS-120, AS-121), and its AvailableAgents.
func SwitchError(r transcript.Record) []verdict.Finding {
	code, hasCode := member(r, vocab.ErrorCode)
	text, hasText := member(r, vocab.Message)
	out := []verdict.Finding{
		finding(r, hasCode && hasText && code != nil && text != nil, "error with errorCode and message", "AS-085"),
		finding(r, known(r), "errorCode as a string of section 4.2", "AS-120"),
		finding(r, hasText && isString(text), "message as a string", "AS-121", "AS-087", "AS-088", "AS-089", "AS-090",
			"AS-091"),
	}
	return append(out, AvailableAgents(r)...)
}

// AvailableAgents judges the list in an error: it is an AgentInfo[] if present, and required if the code is
// agent_not_found (AS-051, AS-122, AS-124).
func AvailableAgents(r transcript.Record) []verdict.Finding {
	code, _ := member(r, vocab.ErrorCode)
	required := code == any(vocab.AgentNotFound)
	list, has := member(r, vocab.AvailableAgents)
	all, isList := list.([]any)
	shaped := isList
	for _, e := range all {
		for _, key := range []string{"id", "name", "description"} {
			v, _ := field(e, key)
			shaped = shaped && isString(v)
		}
	}
	clauses := []string{"AS-122", "AS-124"}
	switch code {
	case vocab.AgentNotFound:
		clauses = append(clauses, "AS-051", "AS-089", "AS-014")
	case vocab.InvalidAgentID:
		clauses = append(clauses, "AS-072")
	case vocab.InvalidAgentIDFormat:
		clauses = append(clauses, "AS-075")
	}
	if !has {
		if !required {
			return nil
		}
		return []verdict.Finding{finding(r, false, "availableAgents with agent_not_found", clauses...)}
	}
	return append(entries(r, list), finding(r, shaped,
		"availableAgents as a list of {id, name, description}, all strings", clauses...))
}

// broken reports whether findings break one of the clauses.
func broken(findings []verdict.Finding, clauses ...string) bool {
	return slices.ContainsFunc(findings, func(f verdict.Finding) bool {
		return !f.OK && slices.ContainsFunc(clauses, func(id string) bool { return slices.Contains(f.Clauses, id) })
	})
}
