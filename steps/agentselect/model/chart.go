package model

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
)

// duties are the obligations of the model, with the clauses that each may keep or break: what a test collects from the
// courses that it knows.
//
//go:embed duties.yaml
var duties []byte

// Chart describes the model.
func Chart() (obligation.Chart, error) {
	c := obligation.Chart{Party: "server", Machines: machines}
	if err := yaml.Unmarshal(duties, &c.Duties); err != nil {
		return c, fmt.Errorf("duties.yaml: %w", err)
	}
	return c, nil
}

// Reached implements obligation.Reaching.
func (m *Model) Reached() []obligation.Reached { return m.tally.List() }

// duty is what a server owes for a switch of a kind, and the clauses that its answer shows.
type duty struct {
	on, owes string
	shown    string
}

var (
	forIllegal = &duty{"switch_agent, agentId not legal", "error invalid_agent_id, invalid_agent_id_format",
		"AS-070 AS-071 AS-073 AS-074 AS-076 AS-077 AS-079 AS-080 AS-087 AS-088 AS-092"}
	forUnbound = &duty{"switch_agent, connection without a session", "error session_not_found",
		"AS-091 AS-092 AS-097 AS-104 AS-127"}
	forUnlisted = &duty{"switch_agent, agent not in the list", "error agent_not_found",
		"AS-012 AS-014 AS-050 AS-051 AS-052 AS-053 AS-089 AS-092"}
	forEasy = &duty{"switch_agent, agent in the list", "agent_switched",
		"AS-011 AS-012 AS-018 AS-041 AS-043 AS-044 AS-045 AS-081 AS-096 AS-100 AS-103 AS-116"}
	forOther = &duty{"switch_agent after a chat, or with others in progress", "agent_switched, or an error",
		"AS-013 AS-043 AS-044 AS-045 AS-053 AS-064 AS-090 AS-092 AS-111"}
)

// dutyOf are the duties of switches that must be refused, by the first code that is right.
var dutyOf = map[string]*duty{vocab.InvalidAgentID: forIllegal, vocab.InvalidAgentIDFormat: forIllegal,
	vocab.SessionNotFound: forUnbound, vocab.AgentNotFound: forUnlisted,
	vocab.AgentBusy: forOther}

// named says on which message something is owed, and what. A switch has two alternatives, of which one is named.
func named(o *owed) (on, owes string) {
	switch a := o.About; {
	case a == nil:
		what, _, _ := strings.Cut(o.What, ",")
		return "a connection", what
	case len(a.owed) > 0 && a.owed[0] != o:
		return "", ""
	default:
		return a.duty.on, a.duty.owes
	}
}

var machines = []obligation.Machine{
	{Name: "a connection", Moves: []obligation.Move{
		{To: "open", On: "GET /events"},
		{From: "open", To: "named", On: "connected", Clauses: []string{"AS-030", "AS-031"}},
		{From: "named", To: "without_session", On: "agent_list", Clauses: []string{"AS-008", "AS-033"}},
		{From: "without_session", To: "bound", On: "a session is created or loaded",
			Clauses: []string{"AS-100", "AS-101"}},
		{From: "bound", To: "bound", On: "another session is created or loaded", Clauses: []string{"AS-101", "AS-103"}},
		{From: "bound", To: "without_session", On: "another connection loads the session", Clauses: []string{"AS-094"}},
		{From: "bound"},
	}},
	{Name: "the agent of a session", Moves: []obligation.Move{
		{To: "default_agent", On: "the session is created", Clauses: []string{"AS-055", "AS-056", "AS-128"}},
		{From: "default_agent", To: "chosen_agent", On: "agent_switched", Clauses: []string{"AS-042", "AS-043", "AS-044"}},
		{From: "chosen_agent", To: "chosen_agent", On: "agent_switched", Clauses: []string{"AS-043", "AS-044"}},
		{From: "chosen_agent", To: "chosen_agent", On: "error", Clauses: []string{"AS-053", "AS-054"}},
	}},
	{Name: "a turn", Moves: []obligation.Move{
		{To: "running", On: "chat"},
		{From: "running", To: "running", On: "switch_agent is refused with agent_busy",
			Clauses: []string{"AS-064", "AS-090"}},
		{From: "running", To: "asking", On: "a request to the user", Clauses: []string{"AS-064"}},
		{From: "asking", To: "running", On: "the user's answer"},
		{From: "running", To: "idle", On: "complete, or abort", Clauses: []string{"AS-111"}},
		{From: "idle"},
	}},
}
