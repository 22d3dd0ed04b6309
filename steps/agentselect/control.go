package agentselect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/driver"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	judge "parley/steps/agentselect/invariants"
	"parley/transcript"
	"parley/verdict"
)

// A switch that fails in some situation (after a turn, beside another client, after a refusal) breaks the clauses about
// that situation only if it succeeds without it. So where one fails, it is tried again as a control: by a client of its
// own, on a new connection and in a new session. If the control fails in the same way, the fault lies in what both have
// in common, and the clauses about the situation are not tested beside the failure of the control.

// ordinary are the clauses that a request to switch tests however ordinary it is; unnamed those of one that names no
// session.
var (
	ordinary = []string{"AS-011", "AS-018", "AS-041", "AS-042", "AS-116"}
	silent   = []string{"AS-017", "AS-084"} // further ones where nothing comes
	unnamed  = []string{"AS-041", "AS-081", "AS-096", "AS-100", "AS-102", "AS-103", "AC-116"}
	atFirst  = []string{"AS-055", "AS-056", "AS-128"}
)

// Monitors that report the failures of controls.
const (
	ordinarySwitch = "ordinary-switch"
	errorShape     = "switch-error-shape"
	switchedShape  = "agent-switched-shape"
	listShape      = "agent-list-shape"
)

// trial is the answer to the last switch of a control.
type trial struct {
	rec  transcript.Record
	miss *verdict.Miss
	what string // in words
	done int    // switches confirmed before it
	none bool   // the control could not be made
}

// ok reports whether the switch was confirmed.
func (t *trial) ok() bool { return !t.none && t.miss == nil && isSwitch(&t.rec) }

// fails reports whether the control failed like an answer or a miss in the scenario.
func (t *trial) fails(rec transcript.Record, miss *verdict.Miss) bool {
	if t.none || t.ok() || (t.miss == nil) != (miss == nil) {
		return false
	}
	return miss != nil || codeOf(t.rec) == codeOf(rec)
}

// fault returns the finding of a control that failed.
func (t *trial) fault(clauses ...string) verdict.Finding {
	expected := "agent_switched for " + t.what
	if t.miss != nil {
		f := t.miss.Check(expected, clauses...)
		f.Observed = t.what + ": " + f.Observed
		return f
	}
	f := steps.CheckOf(t.rec, false, expected, clauses...)
	f.Observed = t.what + ": " + f.Observed
	return f
}

// control switches a new session on a connection of its own to each of the agents, until one switch fails.
func (s *suite) control(ctx context.Context, named bool, agents ...string) *trial {
	t := &trial{none: true, what: fmt.Sprintf("a new session on a new connection, switched to %s", strings.Join(agents,
		" and to "))}
	if named {
		t.what += " by its sessionId"
	}
	s.apart(ctx, func(x *client) {
		for _, id := range agents {
			f := fields{"agentId": id}
			if named {
				f["sessionId"] = x.session
			}
			if _, err := s.sendSwitch(ctx, x, f, act{named: named}); err != nil {
				return
			}
			if t.rec, t.miss = s.outcome(ctx, x, confirmation); t.miss != nil || !isSwitch(&t.rec) {
				break
			}
			x.agent, x.switches, t.done = id, x.switches+1, t.done+1
		}
		t.none = false
	})
	return t
}

// apart calls f with a client that has a new session on a new connection, unless the target cannot have that beside the
// others. The scenario's last act stays what it was.
func (s *suite) apart(ctx context.Context, f func(x *client)) {
	if binding.Of(s.Env.Profile).Correlation.Single || ctx.Err() != nil {
		return
	}
	mark, actor, accepted := s.mark, s.actor, s.accepted
	defer func() { s.mark, s.actor, s.accepted = mark, actor, accepted }()
	x := &client{name: fmt.Sprintf("%s%d", judge.Control, s.Serial()), fences: map[int]bool{}, repeated: map[int]bool{}}
	defer func() {
		if x.conn != nil {
			_ = x.conn.Close(driver.Reset)
		}
	}()
	if s.withSession(ctx, x) == nil {
		f(x)
	}
}

// notSwitched judges a switch that was not confirmed: the clauses of the situation, or, if controls fail like it, those
// of what they have in common with it.
func (s *suite) notSwitched(ctx context.Context, c *client, to string, rec transcript.Record, miss *verdict.Miss,
	check verdict.Finding) error {
	if miss == nil && isError(&rec) {
		if fault, found := s.noCodes(ctx, c, rec); found { // it may be busy, and retried
			return s.ExplainedBy(errorShape, fault, check)
		}
	}
	keep, fault, found := s.incommon(ctx, c, to, rec, miss)
	if !found {
		return s.Need(check)
	}
	own, rest := check, check
	own.Clauses = slices.DeleteFunc(slices.Clone(check.Clauses), func(id string) bool { return !contains(keep, id) })
	rest.Clauses = without(check.Clauses, keep)
	err := s.ExplainedBy(ordinarySwitch, fault, rest)
	if broken := s.Need(own); broken != nil && len(own.Clauses) > 0 && s.Broken() {
		return broken
	}
	return err
}

// incommon makes controls of a switch that failed. It returns the clauses that this leaves broken, and the failure of
// the control that shows it; false if the failure lies in the situation.
func (s *suite) incommon(ctx context.Context, c *client, to string, rec transcript.Record, miss *verdict.Miss) (
	keep []string, fault verdict.Finding, found bool) {
	a := c.act
	other := s.otherThan(c, to)
	if a.elsewhere || a.stranger || c.session == "" || other == "" || s.endedAt(c) > 0 {
		return nil, fault, false
	}
	first := s.control(ctx, a.named, to)
	switch {
	case first.none, !first.ok() && !first.fails(rec, miss):
		return nil, fault, false
	case first.ok():
		return s.secondFails(ctx, c, other, to, rec, miss)
	}
	another := s.control(ctx, a.named, other)
	if another.ok() {
		keep = []string{"AS-012"}
		if custom, err := s.custom(); err == nil && to == custom.ID {
			keep = append(keep, "AS-046")
		}
		return keep, first.fault("AS-012"), hasAgent(c.offered, to)
	}
	if !a.named && s.control(ctx, true, to).ok() {
		return unnamed, first.fault("AS-041"), true
	}
	keep = ordinary
	if miss != nil {
		keep = slices.Concat(ordinary, silent)
	}
	return keep, first.fault("AS-042"), another.fails(rec, miss)
}

// secondFails makes controls of a session's second switch.
func (s *suite) secondFails(ctx context.Context, c *client, other, to string, rec transcript.Record,
	miss *verdict.Miss) (keep []string, fault verdict.Finding, found bool) {
	if c.switches+c.refusals+c.unjudged == 0 {
		return nil, fault, false
	}
	second := s.control(ctx, c.act.named, other, to)
	if second.done != 1 || !second.fails(rec, miss) {
		return nil, fault, false
	}
	keep = []string{"AS-006"}
	if !c.act.named && s.control(ctx, true, other, to).ok() {
		keep = append(keep, unnamed...)
	}
	return keep, second.fault("AS-006"), true
}

// otherThan returns an agent that a client was offered, beside the given ones and the default one; "" if there is none.
func (s *suite) otherThan(c *client, ids ...string) string {
	i := slices.IndexFunc(c.offered, func(a vocab.AgentInfo) bool {
		return a.ID != s.Env.Profile.Agents.Default && !contains(ids, a.ID) && vocab.IDPattern.MatchString(a.ID)
	})
	if i < 0 {
		return ""
	}
	return c.offered[i].ID
}

// refusedApart makes a control of a refusal: a new session is switched, and then to an agent that does not exist.
func (s *suite) refusedApart(ctx context.Context, c *client) *trial {
	id := s.otherThan(c)
	if id == "" {
		return &trial{none: true}
	}
	return s.control(ctx, false, id, fmt.Sprintf("control-%s-%d", s.Nonce, s.Serial()))
}

// noCodes reports whether an error has no code, a string, although it answers a switch, and neither has the error that
// answers the switch of a new session to an agent that does not exist; fault is the finding on that.
func (s *suite) noCodes(ctx context.Context, c *client, rec transcript.Record) (fault verdict.Finding, found bool) {
	if codeOf(rec) != "" {
		return fault, false
	}
	t := s.refusedApart(ctx, c)
	if t.none || t.miss != nil || !isError(&t.rec) || codeOf(t.rec) != "" {
		return fault, false
	}
	return firstBreaking(judge.SwitchError(t.rec), "AS-120")
}

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

// misjudged judges an error that refuses a switch with another code than the expected ones: what it tells of the
// situation, unless the target refuses ordinary switches like that, or has no codes.
func (s *suite) misjudged(ctx context.Context, c *client, rec transcript.Record, check verdict.Finding) error {
	if fault, found := s.noCodes(ctx, c, rec); found {
		_ = s.ExplainedBy(errorShape, fault, check)
		return nil
	}
	first := s.otherThan(c)
	if second := s.otherThan(c, first); second != "" && !c.act.elsewhere && !c.act.stranger && contains(vocab.ErrorCodes,
		codeOf(rec)) {
		if t := s.control(ctx, c.act.named, first, second); t.done == 1 && t.fails(rec, nil) &&
			s.control(ctx, c.act.named, second).ok() {
			_ = s.ExplainedBy(ordinarySwitch, t.fault("AS-006"), check)
			return nil
		}
	}
	return s.Judge(check)
}

// unrefused judges that no refusal came: what that tells of the situation, unless none comes for the switch of a new
// session to an agent that does not exist.
func (s *suite) unrefused(ctx context.Context, c *client, miss *verdict.Miss, check verdict.Finding) error {
	general := []string{"AS-013", "AS-085"}
	if s.endedAt(c) > 0 || s.accepted == 0 {
		return s.Need(check)
	}
	t := s.refusedApart(ctx, c)
	if t.none || t.miss == nil || t.miss.At > 0 != (miss.At > 0) {
		return s.Need(check)
	}
	fault := t.miss.Check("an error event for "+t.what, "AS-085")
	fault.Observed = t.what + ": " + fault.Observed
	own, rest := check, check
	own.Clauses, rest.Clauses = general, without(check.Clauses, general)
	if err := s.Judge(own); err != nil {
		return err
	}
	return s.ExplainedBy(ordinarySwitch, fault, rest)
}

// situation judges what a wrong member of agent_switched tells of the client's situation: nothing, if it is no agent at
// all, or if it is as wrong in the switch of a new session.
func (s *suite) situation(ctx context.Context, c *client, rec transcript.Record, key, from, to string,
	check verdict.Finding) error {
	if !namesAgent(field(rec, key)) {
		fault := steps.CheckOf(rec, false, "agent_switched with "+key, "AS-084")
		if text, ok := field(rec, key).(string); ok && text == "" { // it has the right form
			fault.Clauses = []string{map[string]string{"currentAgentId": "AS-044", "previousAgentId": "AS-043"}[key]}
			_ = s.ExplainedBy(ordinarySwitch, fault, check)
			return nil
		}
		_ = s.ExplainedBy(switchedShape, fault, check)
		return nil
	}
	other := s.otherThan(c, to, from)
	if other == "" {
		return s.Judge(check)
	}
	var t *trial
	clause, keep, want := "AS-044", []string(nil), to
	switch {
	case key == "currentAgentId":
		t = s.control(ctx, c.act.named, other, to)
	case contains(check.Clauses, "AS-055"): // of a new session
		clause, keep, want = "AS-055", atFirst, from
		t = s.control(ctx, c.act.named, to)
	default:
		clause, want = "AS-043", other
		t = s.control(ctx, c.act.named, other, to)
	}
	if !t.ok() || field(t.rec, key) == any(want) {
		return s.Judge(check)
	}
	own, rest := check, check
	own.Clauses = slices.DeleteFunc(slices.Clone(check.Clauses), func(id string) bool { return !contains(keep, id) })
	rest.Clauses = without(check.Clauses, keep)
	fault := steps.CheckOf(t.rec, false, fmt.Sprintf("%s %q for %s", key, want, t.what), clause)
	_ = s.ExplainedBy(ordinarySwitch, fault, rest)
	return s.Judge(own)
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
