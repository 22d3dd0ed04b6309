package model

import (
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// FoundBySteps is the monitor under which steps report the faults that explain failed checks.
const FoundBySteps = "found-by-steps"

// ofErrors are the clauses about the form of an error that answers a switch.
var ofErrors = []string{"AS-051", "AS-085", "AS-113", "AS-114", "AS-115", "AS-120", "AS-121", "AS-122", "AS-124"}

// foreign are the clauses that are judged in traffic between others, beside the forms of agent_list and agent_switched.
var foreign = append([]string{
	"AS-007", "AS-008", "AS-009", "AS-011", "AS-012", "AS-013", "AS-014", "AS-015", "AS-016", "AS-018",
	"AS-024", "AS-030", "AS-031", "AS-033", "AS-040", "AS-041", "AS-042", "AS-043", "AS-044", "AS-045",
	"AS-049", "AS-050", "AS-052", "AS-053", "AS-054", "AS-058", "AS-064", "AS-070", "AS-071", "AS-073", "AS-074",
	"AS-076", "AS-077", "AS-079", "AS-080", "AS-081", "AS-082", "AS-087", "AS-088", "AS-089", "AS-090", "AS-091",
	"AS-092", "AS-093", "AS-094", "AS-095", "AS-096", "AS-097", "AS-100", "AS-101", "AS-103", "AS-104", "AS-105",
	"AS-106", "AS-111", "AS-116", "AS-123", "AS-126", "AS-127",
}, ofErrors...)

// All lists the monitors of agent-select.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "agent-list-shape", Clauses: []string{"AS-083", "AS-113", "AS-114", "AS-115", "AS-117", "AS-118"},
			Text:  "every agent_list has its fields, and entries with an id, a name and a description",
			Check: each(vocab.AgentListEvent, AgentList), PerRecord: true, Passive: true},
		{Name: "agent-switched-shape", Clauses: []string{"AS-084", "AS-119"},
			Text: "every agent_switched has its three fields, all strings", Check: each(vocab.AgentSwitchedEvent, Switched),
			PerRecord: true, Passive: true},
		{Name: "switch-error-shape", Clauses: ofErrors,
			Text:  "every error that answers a switch has errorCode and message, and any list has the right form",
			Check: each(vocab.ErrorEvent, switchError)},
		{Name: FoundBySteps, Clauses: []string{"AS-005", "AS-007", "AS-015", "AS-029", "AS-057", "AS-058",
			"AS-059"}, Text: "what a step has found, and what explains failed checks of other clauses",
			Check: func([]transcript.Record) []verdict.Finding { return nil }},
		of(obligation.Ours, "connections", "the lists and names of a connection agree, and no connection receives what only "+
			"another one asked for, or an answer before agent_list", "AS-045", "AS-052", "AS-059", "AS-095", "AS-106"),
	}
}

// Foreign lists the monitors of foreign traffic, beside those of All that are marked as passive.
func Foreign() []monitor.Monitor {
	return []monitor.Monitor{of(obligation.Foreign, "sessions-as-observed",
		"connections, their sessions and switches are consistent with their messages", foreign...)}
}

// of returns the monitor of an observer's model, for some of its clauses.
func of(o obligation.Observer, name, text string, clauses ...string) monitor.Monitor {
	out := monitor.Monitor{Name: name, Text: text, Clauses: clauses, Passive: o != obligation.Ours}.
		FromModel(func() obligation.Model { return New(o) })
	if o == obligation.Ours {
		out.Of = switchesOn
	}
	return out
}

func each(kind string, judge func(transcript.Record) []verdict.Finding) func([]transcript.Record) []verdict.Finding {
	return func(t []transcript.Record) []verdict.Finding {
		var out []verdict.Finding
		for _, r := range t {
			if r.Dir == transcript.Received && r.Event != nil && r.Event.Type == kind {
				out = append(out, judge(r)...)
			}
		}
		return out
	}
}

// switchError judges the shape of an error that answers a switch.
func switchError(r transcript.Record) []verdict.Finding {
	if !slices.Contains(vocab.ErrorCodes, text(r, vocab.ErrorCode)) {
		return nil
	}
	return SwitchError(r)
}
