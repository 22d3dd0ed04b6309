package model

import (
	_ "embed"

	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// duties are the obligations of the model, with the clauses that each may keep or break: what a test collects from the
// transcripts that it knows.
//
//go:embed duties.yaml
var duties []byte

// Chart describes the model.
func Chart() (obligation.Chart, error) {
	return obligation.Chart{Party: "page", Machines: machines}.With(duties)
}

// named says because of what something is owed, and what.
func named(o *owed) (on, owes string) {
	switch c := o.Cause; {
	case c.Kind == transcript.Act:
		on = map[string]string{StreamType: "user: connect", StreamEnd: "user: disconnect", CreateType: "user: new session",
			vocab.SwitchAgentType: "user: choice of an agent", vocab.AbortType: "user: abort",
			"prompt": "user: choice without a session"}[o.About.kind]
	case c.Kind == transcript.Closed:
		on = "the end of the stream"
	case c.Kind == transcript.Request:
		on = "page: " + c.Title()
	default:
		on = "server: " + c.Title()
	}
	return on, o.About.kind
}

var machines = []obligation.Machine{
	{Name: "the selector", Moves: []obligation.Move{
		{To: "off"},
		{From: "off", To: "usable", On: vocab.AgentListEvent, Clauses: []string{"AC-109", "AC-111"}},
		{From: "usable", To: "switching", On: vocab.SwitchAgentType + " after a choice",
			Clauses: []string{"AC-046", "AC-053"}},
		{From: "switching", To: "usable", On: vocab.AgentSwitchedEvent + " or " + vocab.ErrorEvent,
			Clauses: []string{"AC-046"}},
		{From: "usable", To: "off", On: "the end of the stream", Clauses: []string{"AC-106"}},
		{From: "switching", To: "off", On: "the end of the stream", Clauses: []string{"AC-106"}},
	}},
	{Name: "a preselection", Moves: []obligation.Move{
		{To: "chosen", On: "a choice without a session", Clauses: []string{"AC-042", "AC-054"}},
		{From: "chosen", To: "chosen", On: "the end of the stream", Clauses: []string{"AC-107"}},
		{From: "chosen", To: "passed", On: "a request for a session", Clauses: []string{"AC-043", "AC-096"}},
		{From: "passed"},
	}},
}
