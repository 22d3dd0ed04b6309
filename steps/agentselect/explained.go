package agentselect

import (
	"slices"

	"parley/steps"
	judge "parley/steps/agentselect/invariants"
	"parley/transcript"
	"parley/verdict"
)

// Monitors that report the faults which explain failed checks.
const (
	foundBySteps  = "found-by-steps"
	errorShape    = "switch-error-shape"
	switchedShape = "agent-switched-shape"
	listShape     = "agent-list-shape"
)

// firstBreaking returns the first finding that breaks a clause, as one of that clause alone.
func firstBreaking(findings []verdict.Finding, clause string) (verdict.Finding, bool) {
	i := slices.IndexFunc(findings, func(f verdict.Finding) bool { return !f.OK && contains(f.Clauses, clause) })
	if i < 0 {
		return verdict.Finding{}, false
	}
	f := findings[i]
	f.Clauses = []string{clause}
	return f, true
}

// situation judges what a wrong member of agent_switched tells of the client's situation: nothing, if it is no agent at
// all.
func (s *suite) situation(rec transcript.Record, key string, check verdict.Finding) error {
	if !namesAgent(field(rec, key)) {
		fault := steps.CheckOf(rec, false, "agent_switched with "+key, "AS-084")
		if text, ok := field(rec, key).(string); ok && text == "" { // it has the right form
			fault.Clauses = []string{map[string]string{"currentAgentId": "AS-044", "previousAgentId": "AS-043"}[key]}
			_ = s.ExplainedBy(foundBySteps, fault, check)
			return nil
		}
		_ = s.ExplainedBy(switchedShape, fault, check)
		return nil
	}
	return s.Judge(check)
}

// unlisted returns the first finding that a client's agent_list breaks, if no agent can be told from it for certain.
func (s *suite) unlisted(c *client) (verdict.Finding, bool) {
	if c.list == nil {
		return verdict.Finding{}, false
	}
	for _, id := range []string{"AS-083", "AS-113"} {
		if f, found := firstBreaking(judge.Agents(*c.list), id); found {
			return f, true
		}
	}
	return verdict.Finding{}, false
}

// judgeListed judges checks that read the agents of a client's agent_list: nothing, if it has the wrong form.
func (s *suite) judgeListed(c *client, checks ...verdict.Finding) error {
	if fault, found := s.unlisted(c); found {
		_ = s.ExplainedBy(listShape, fault, checks...)
		return nil
	}
	return s.Judge(checks...)
}
