package model

import (
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// ofMessages are the clauses that single messages of a role show. Each role has the clauses of an envelope's form.
var ofMessages = map[string][]string{
	vocab.Host: strings.Fields(`EA-018 EA-019 EA-021 EA-022a EA-024 EA-015 EA-102 EA-039 EA-043 EA-044 EA-045 EA-048
		EA-052a EA-056 EA-056a EA-057 EA-058 EA-059 EA-061 EA-062 EA-065 EA-067 EA-069 EA-070 EA-084`),
	vocab.Relay: strings.Fields("EA-018 EA-019 EA-021 EA-022a EA-024 EA-069 EA-070 EA-084"),
	vocab.Agent: strings.Fields(`EA-018 EA-019 EA-021 EA-022a EA-024 EA-023a EA-027 EA-031 EA-032 EA-033 EA-034 EA-035
		EA-036 EA-037`),
}

// ofCourses are the clauses that the course of a run shows: the others of the model are judged by steps.
var ofCourses = map[string][]string{
	vocab.Host:  strings.Fields("EA-023a EA-068 EA-082 EA-104"),
	vocab.Relay: strings.Fields("EA-023a EA-068"),
	vocab.Agent: strings.Fields("EA-016 EA-022b EA-026 EA-076 EA-081a EA-096a EA-103 EA-106"),
}

// ofForeign are the clauses that the course of foreign traffic shows.
var ofForeign = map[string][]string{
	vocab.Host: strings.Fields(`EA-004 EA-005 EA-006 EA-007 EA-008 EA-008a EA-011 EA-020 EA-023a EA-024a EA-028 EA-029
		EA-030 EA-038 EA-041 EA-042 EA-046 EA-047 EA-049 EA-054 EA-060 EA-063 EA-064 EA-068 EA-072 EA-073 EA-074 EA-077a
		EA-078 EA-079 EA-080 EA-081 EA-082 EA-096 EA-104 EA-105`),
	vocab.Relay: strings.Fields("EA-020 EA-023a EA-024a EA-028 EA-029 EA-030"),
	vocab.Agent: strings.Fields("EA-022b EA-026 EA-076 EA-081a EA-096a"),
}

var texts = map[string]string{
	vocab.Host: "a request gets one answer, of its type and with its id; a call is carried out only if the state " +
		"allows it, and its effects are announced",
	vocab.Relay: "a join is answered with its id, role and sessionId, and an error names what it answers",
	vocab.Agent: "an agent joins first, gives each request its own id, has one connection, resynchronises when it has " +
		"reconnected, and calls only announced tools, with params that match their schemas",
}

// All lists the monitors of external-agent.
func All() (out []monitor.Monitor) {
	for _, role := range []string{vocab.Host, vocab.Relay, vocab.Agent} {
		out = append(out, monitor.Monitor{Name: role + "-messages", Clauses: ofMessages[role], Roles: []string{role},
			Text: "every message of the " + role + " is one JSON object with the members that its type requires",
			// A relay's messages are those of others too, unless they are the harness's.
			PerRecord: true, Passive: role != vocab.Relay,
			Check: func(t []transcript.Record) []verdict.Finding {
				f := newForms(role, obligation.Ours)
				for _, r := range t {
					if !r.Late {
						f.take(read(r))
					}
				}
				return f.out
			},
			Read: func(m obligation.Model) []verdict.Finding { return m.(*Model).forms.out }},
			monitorOf(role, obligation.Ours, role+"-course", ofCourses[role]))
	}
	return out
}

// Foreign lists the monitors of foreign traffic, beside those of All that are marked as passive.
func Foreign() (out []monitor.Monitor) {
	for _, role := range []string{vocab.Host, vocab.Relay, vocab.Agent} {
		out = append(out, monitorOf(role, obligation.Foreign, "foreign-"+role+"-course", ofForeign[role]))
	}
	return out
}

// monitorOf returns the monitor of a role's and observer's model, for some of its clauses.
func monitorOf(role string, o obligation.Observer, name string, clauses []string) monitor.Monitor {
	return monitor.Monitor{Name: name, Text: texts[role], Clauses: clauses, Roles: []string{role},
		Passive: o != obligation.Ours}.FromModel(func() obligation.Model {
		m := New(role, o)
		m.forms.quiet = true
		return m
	})
}
