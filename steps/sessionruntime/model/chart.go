package model

import (
	_ "embed"
	"strings"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
)

// duties are the obligations of the model, with the clauses that each may keep or break: what a test collects from the
// courses that it knows.
//
//go:embed duties.yaml
var duties []byte

// Chart describes the model.
func Chart() (obligation.Chart, error) {
	return obligation.Chart{Party: "orchestrator", Machines: machines}.With(duties)
}

// named says on which message something is owed, and what.
func named(o *owed) (on, owes string) {
	switch c := o.Cause; {
	case !c.Delivered:
		on = "orchestrator: " + string(c.Kind())
	case c.Event == vocab.UserInput && (c.Data["mention"] != nil || text(c.Payload, "mentioned_agent_id") != ""):
		on = "frontend: USER_INPUT @agent"
	default:
		on = map[string]string{Frontend: "frontend: ", Manager: "SessionManager: "}[c.From]
		if on == "" {
			on = "agent: "
		}
		if c.Subtype != "" && c.Event != vocab.Error {
			on += c.Subtype
		} else {
			on += c.Event
		}
	}
	return arrows.Replace(on), arrows.Replace(string(o.About.kind))
}

// arrows makes names of the words for where a message goes.
var arrows = strings.NewReplacer(" to the frontend", " → frontend", " to an agent", " → agent")

var machines = []obligation.Machine{
	{Name: "a turn", Moves: []obligation.Move{
		{To: "routing", On: "USER_INPUT to an agent", Clauses: []string{"RT-001", "RT-075"}},
		{From: "routing", To: "running", On: "INPUT_ACK", Clauses: []string{"RT-003", "RT-077", "RT-161"}},
		{From: "routing", To: "failed", On: "ROUTE_TIMEOUT, once the limit is over", Clauses: []string{"RT-078", "RT-079"}},
		{From: "routing", To: "unclear", On: "AGENT_OUTPUT before INPUT_ACK", Clauses: []string{"RT-169"}},
		{From: "running", To: "speaking", On: "the first chunk forwarded", Clauses: []string{"RT-142"}},
		{From: "running", To: "completed", On: "final AGENT_OUTPUT", Clauses: []string{"RT-145", "RT-146"}},
		{From: "speaking", To: "completed", On: "final AGENT_OUTPUT", Clauses: []string{"RT-145"}},
		{From: "speaking", To: "stopping", On: "CANCEL to the agent", Clauses: []string{"RT-016", "RT-099"}},
		{From: "stopping", To: "cancelled", On: "CANCEL_ACK or STREAM_STOPPED", Clauses: []string{"RT-102", "RT-105"}},
		{From: "running", To: "unclear", On: "ERROR of its agent", Clauses: []string{"RT-011"}},
		{From: "completed"}, {From: "cancelled"}, {From: "failed"},
	}},
	{Name: "an agent in the session", Moves: []obligation.Move{
		{To: "absent"},
		{From: "absent", To: "asked", On: "REQUEST_ADD_AGENT", Clauses: []string{"RT-119", "RT-121"}},
		{From: "asked", To: "present", On: "ADD_AGENT_DONE", Clauses: []string{"RT-122", "RT-124"}},
		{From: "asked", To: "absent", On: "ADD_AGENT_FAILED", Clauses: []string{"RT-126"}},
		{From: "present", To: "leaving", On: "REQUEST_REMOVE_AGENT, once it is silent",
			Clauses: []string{"RT-060", "RT-110"}},
		{From: "leaving", To: "absent", On: "REMOVE_AGENT_DONE", Clauses: []string{"RT-115", "RT-116"}},
		{From: "leaving", To: "present", On: "REMOVE_AGENT_FAILED", Clauses: []string{"RT-117"}},
	}},
	{Name: "a handover", Moves: []obligation.Move{
		{To: "requested", On: "HANDOVER_REQUEST", Clauses: []string{"RT-128"}},
		{From: "requested", To: "prompted", On: "HANDOVER_UI_PROMPT", Clauses: []string{"RT-131", "RT-132"}},
		{From: "prompted", To: "confirmed", On: "HANDOVER_CONFIRM", Clauses: []string{"RT-133"}},
		{From: "prompted", To: "rejected", On: "HANDOVER_REJECT", Clauses: []string{"RT-137"}},
		{From: "confirmed", To: "switched", On: "SWITCH_AGENT", Clauses: []string{"RT-134"}},
		{From: "switched", To: "handed_over", On: "HANDOVER_CONTEXT", Clauses: []string{"RT-135", "RT-136"}},
		{From: "handed_over"}, {From: "rejected"},
	}},
	{Name: "the session", Moves: []obligation.Move{
		{To: "asked", On: "REQUEST_SESSION_OPEN or REQUEST_SESSION_CLOSE", Clauses: []string{"RT-152", "RT-153"}},
		{From: "asked", To: "told", On: "the receipt, passed on", Clauses: []string{"RT-154", "RT-155"}},
		{From: "told"},
	}},
}
