package agentselect

import (
	"errors"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

// situation judges what a wrong member of agent_switched tells of the client's situation: nothing, if it is no agent at
// all.
func (s *suite) situation(c *client, rec transcript.Record, key string, check verdict.Finding) error {
	if asked, ok := c.act.agent.(string); ok && key == vocab.CurrentAgentID && namesAgent(field(rec, key)) &&
		field(rec, key) != any(asked) {
		fault := check
		fault.Clauses = []string{"AS-044"}
		_ = s.ExplainedBy(model.FoundBySteps, fault, check)
		return nil
	}
	if key == vocab.PreviousAgentID && s.previousAlone(rec) {
		return s.narrow(check, "AS-043", "AS-006")
	}
	if !namesAgent(field(rec, key)) {
		fault := steps.CheckOf(rec, false, "agent_switched with "+key, "AS-084")
		if text, ok := field(rec, key).(string); ok && text == "" { // it has the right form
			fault.Clauses = []string{map[string]string{vocab.CurrentAgentID: "AS-044", vocab.PreviousAgentID: "AS-043"}[key]}
			_ = s.ExplainedBy(model.FoundBySteps, fault, check)
			return nil
		}
		_ = s.ExplainedBy(model.SwitchedShape, fault, check)
		return nil
	}
	return s.judgeAgent(check)
}

// needNarrow is Need for a check of many clauses that fails for a reason which breaks only some of them. That explains
// the rest, and breaks the first one of them in every scenario.
func (s *suite) needNarrow(check verdict.Finding, breaks ...string) error {
	direct, rest, fault := check, check, check
	fault.Clauses = breaks
	direct.Clauses = slices.DeleteFunc(slices.Clone(check.Clauses), func(id string) bool { return !contains(breaks, id) })
	rest.Clauses = slices.DeleteFunc(slices.Clone(check.Clauses), func(id string) bool { return contains(breaks, id) })
	err := s.Need(direct)
	if explained := s.ExplainedBy(model.FoundBySteps, fault, rest); !isBroken(err) {
		return explained
	}
	return err
}

func isBroken(err error) bool {
	_, broken := errors.AsType[*steps.BrokenError](err)
	return broken
}

// narrow is needNarrow in a scenario that goes on.
func (s *suite) narrow(check verdict.Finding, breaks ...string) error {
	if err := s.needNarrow(check, breaks...); isBroken(err) {
		return err
	}
	return nil
}

// notSwitched judges that a legal switch was not confirmed.
func (s *suite) notSwitched(c *client, check verdict.Finding, rec *transcript.Record) error {
	if breaks := s.whyNotSwitched(c, rec); len(breaks) > 0 {
		return s.needNarrow(check, breaks...)
	}
	return s.Need(check)
}

// whyNotSwitched returns the clauses that the answer to a legal switch breaks, whatever the situation; none, if the
// situation may have to do with it. rec is nil if there is no answer.
func (s *suite) whyNotSwitched(c *client, rec *transcript.Record) []string {
	if rec == nil && s.BrokenOff(c.act.missed) {
		return nil
	}
	id, _ := c.act.agent.(string)
	answer := answerOf(rec)
	always := s.shownAlone(switchTo(id, answer)) || s.shownAlone(switchAfter(c.switches, answer))
	if !always && s.involved(c) {
		return nil
	}
	_, offered := find(c.offered, id)
	if !offered || c.session == "" || c.act.stranger || c.act.elsewhere {
		return nil
	}
	return s.breaks(c, answer)
}

// breaks returns the clauses that an answer to a switch breaks which does not depend on the situation.
func (s *suite) breaks(c *client, answer string) []string {
	var breaks []string
	switch {
	case answer == silence && strings.HasPrefix(c.act.missed.Reason, "HTTP "), answer == otherError: // not understood
		breaks = []string{"AS-011", "AS-018", "AS-041", "AS-081", "AS-116", "AC-116"}
	case answer == silence:
		breaks = []string{"AS-011", "AS-017", "AS-042", "AS-084", "AS-116"}
	case answer == vocab.SessionNotFound && c.act.named:
		return nil
	case answer == vocab.SessionNotFound:
		breaks = []string{"AS-041", "AS-081", "AS-096", "AS-100", "AS-103", "AC-116"}
	case answer == vocab.InvalidAgentID:
		breaks = []string{"AS-011", "AS-041", "AS-116"}
	case answer == vocab.InvalidAgentIDFormat:
		return []string{"AS-012", "AS-080"}
	case answer == vocab.AgentNotFound:
		return []string{"AS-012"}
	default: // it is said to be busy, without a turn
		return []string{"AS-006"}
	}
	if c.switches > 0 {
		breaks = append(breaks, "AS-006")
	}
	return breaks
}

// involved reports whether there is more to a client's switch than its own session, new and idle.
func (s *suite) involved(c *client) bool {
	if custom, err := s.custom(); err == nil && (c.act.agent == any(custom.ID) || c.agent == custom.ID) {
		return true
	}
	return len(c.turns) > 0 || s.othersBusy(c) || s.withOthers(c) || c.loaded || len(c.earlier) > 0 || s.config != nil
}

// previousAlone reports whether a wrong previousAgentId is what a client alone was sent, too.
func (s *suite) previousAlone(rec transcript.Record) bool {
	previous := field(rec, vocab.PreviousAgentID)
	return s.shownAlone(previousIsCurrent) && previous == field(rec, vocab.CurrentAgentID) ||
		s.shownAlone(previousIsDefault) && previous == any(s.Env.Profile.Agents.Default) ||
		s.shownAlone(previousIsFormer) && s.saidBefore(rec)
}

// saidBefore reports whether an earlier agent_switched on the connection says the same of the agents.
func (s *suite) saidBefore(rec transcript.Record) bool {
	return slices.ContainsFunc(s.Between(rec.Conn, 0, rec.N), func(r transcript.Record) bool {
		return r.N < rec.N && isSwitch(&r) && field(r, vocab.CurrentAgentID) == field(rec, vocab.CurrentAgentID) &&
			field(r, vocab.PreviousAgentID) == field(rec, vocab.PreviousAgentID)
	})
}
