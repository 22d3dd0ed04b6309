package model

import (
	_ "embed"
	"fmt"

	"github.com/goccy/go-yaml"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

// duties are the obligations of the model by role, with the clauses that each may keep or break: what a test collects
// from the transcripts that it knows.
//
//go:embed duties.yaml
var duties []byte

// Chart describes the model of a role; "" is a host.
func Chart(role string) (obligation.Chart, error) {
	if role == "" {
		role = vocab.Host
	}
	c := obligation.Chart{Party: role, Machines: machines[role]}
	if c.Machines == nil {
		return c, fmt.Errorf("external-agent has no role %q: %s, %s or %s", role, vocab.Host, vocab.Relay, vocab.Agent)
	}
	all := map[string][]obligation.Duty{}
	if err := yaml.Unmarshal(duties, &all); err != nil {
		return c, fmt.Errorf("duties.yaml: %w", err)
	}
	c.Duties = all[role]
	return c, nil
}

var machines = map[string][]obligation.Machine{
	vocab.Host: {
		{Name: "a study session", Moves: []obligation.Move{
			{To: "none"},
			{From: "none", To: "active", On: "session.started", Clauses: []string{"EA-038", "EA-039"}},
			{From: "active", To: "active", On: "state.updated", Clauses: []string{"EA-054", "EA-072", "EA-073"}},
			{From: "active", To: "none", On: "session.ended", Clauses: []string{"EA-063", "EA-064", "EA-079"}},
		}},
		{Name: "a call", Moves: []obligation.Move{
			{To: "asked", On: "tool.call", Clauses: []string{"EA-007"}},
			{From: "asked", To: "refused", On: "error, or tool.result with ok:false",
				Clauses: []string{"EA-079", "EA-080", "EA-081", "EA-082", "EA-104"}},
			{From: "asked", To: "carried_out", On: "tool.result", Clauses: []string{"EA-046", "EA-047", "EA-049", "EA-074"}},
			{From: "carried_out", To: "announced", On: "state.updated", Clauses: []string{"EA-054"}},
			{From: "refused"}, {From: "announced"},
		}},
	},
	vocab.Relay: {{Name: "a party", Moves: []obligation.Move{
		{To: "connected"},
		{From: "connected", To: "joined", On: "relay.joined", Clauses: []string{"EA-028", "EA-029", "EA-030"}},
		{From: "joined", To: "joined", On: "each message, passed on"},
		{From: "joined", On: "the end of its connection"},
	}}},
	vocab.Agent: {{Name: "a connection", Moves: []obligation.Move{
		{To: "connected", Clauses: []string{"EA-016", "EA-106"}},
		{From: "connected", To: "joining", On: "relay.join", Clauses: []string{"EA-026", "EA-027", "EA-103"}},
		{From: "joining", To: "joined", On: "relay.joined", Clauses: []string{"EA-026"}},
		{From: "joined", To: "in_step", On: "session.started, or snapshot.state after snapshot.get",
			Clauses: []string{"EA-076", "EA-077"}},
		{From: "in_step", To: "in_step", On: "state.updated", Clauses: []string{"EA-051", "EA-072", "EA-096a"}},
		{From: "in_step", On: "session.ended, or the end of the connection"},
	}}},
}
