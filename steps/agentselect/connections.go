package agentselect

import (
	"context"
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

// alone is the key in Env.Learnt of a deviation that the target showed to a client that had it to itself, before all
// other scenarios: what another scenario's situation has nothing to do with.
type alone string

func (s *suite) shownAlone(what string) bool {
	_, shown := s.Env.Learnt.Load(alone(what))
	return shown
}

func (s *suite) showsAlone(what string) { s.Env.Learnt.Store(alone(what), true) }

// How the answers to switches are told apart: by their code, or as one of these.
const (
	silence    = "no answer"
	otherError = "another error"
)

// answerOf returns how a switch was answered that should have been confirmed, or refused; rec is nil if it was not
// answered.
func answerOf(rec *transcript.Record) string {
	switch {
	case rec == nil:
		return silence
	case isSwitch(rec):
		return vocab.AgentSwitchedEvent
	case contains(vocab.ErrorCodes, codeOf(*rec)):
		return codeOf(*rec)
	}
	return otherError
}

// Names of deviations.
func switchTo(id, answer string) string { return "a switch to " + id + ": " + answer }
func switchAfter(others int, answer string) string {
	return map[bool]string{false: "a first switch: ", true: "a later switch: "}[others > 0] + answer
}

const (
	previousIsCurrent = "previousAgentId is the agent switched to"
	previousIsDefault = "previousAgentId is the default agent after a switch"
	previousIsFormer  = "previousAgentId is that of an earlier switch to the same agent"
)

// answersAlone takes a client through legal switches and refused ones, judges the answers, and keeps what deviates: it
// explains the same deviations in scenarios with more in them.
func (s *suite) answersAlone(ctx context.Context, c *client) error {
	from, silent := s.Env.Profile.Agents.Default, 0
	for _, name := range []string{"debugger", "requirement_analyzer", "debugger", "general"} {
		to, err := s.agentID(name)
		if err != nil {
			return err
		}
		if to.id == from { // the effect of that is open (AS-G04)
			continue
		}
		answer, err := s.switchAlone(ctx, c, from, to.id)
		if err != nil {
			return err
		}
		switch {
		case answer == vocab.AgentSwitchedEvent:
			from = to.id
		case answer == silence:
			silent++
		}
		if silent > 1 || silent > 0 && s.accepted == 0 { // each takes the time of a limit
			return nil
		}
	}
	return s.refusalsAlone(ctx, c)
}

// switchAlone switches a client, and returns how it was answered.
func (s *suite) switchAlone(ctx context.Context, c *client, from, to string) (string, error) {
	later := c.switches > 0
	if _, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: to}, act{}); err != nil {
		return "", err
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	expected := fmt.Sprintf("agent_switched to %q on the connection of client %s", to, c.name)
	if miss != nil || !isSwitch(&rec) {
		var given *transcript.Record
		var check verdict.Finding
		if miss == nil {
			given = &rec
			check = steps.CheckOf(rec, false, expected)
		} else {
			check = miss.Check(expected)
		}
		answer := answerOf(given)
		s.showsAlone(switchTo(to, answer))
		s.showsAlone(switchAfter(c.switches, answer))
		check.Clauses = slices.DeleteFunc(s.whyNotSwitched(c, given), s.byModel)
		_ = s.waited(c, model.ConfirmationOf(c.act.mark), rec, miss)
		return answer, s.Judge(check)
	}
	s.RecordReach(steps.Answered)
	_ = s.report(rec.N, nil)
	previous, current := field(rec, vocab.PreviousAgentID), field(rec, vocab.CurrentAgentID)
	proved := []string{"AS-041"}
	if later {
		proved = append(proved, "AS-006")
	}
	checks := []verdict.Finding{steps.CheckOf(rec, true, expected, proved...)}
	if namesAgent(current) {
		checks = append(checks, steps.CheckOf(rec, current == any(to), "currentAgentId "+quoted(to), "AS-044"))
	}
	if later && namesAgent(previous) { // what sessions begin with is no matter of one session
		checks = append(checks, steps.CheckOf(rec, previous == any(from), "previousAgentId "+quoted(from), "AS-043"))
	}
	switch {
	case !later || from == to || previous == any(from):
	case previous == any(to):
		s.showsAlone(previousIsCurrent)
	case s.saidBefore(rec):
		s.showsAlone(previousIsFormer)
	case previous == any(s.Env.Profile.Agents.Default):
		s.showsAlone(previousIsDefault)
	}
	s.confirmed(c, to)
	return vocab.AgentSwitchedEvent, s.Judge(checks...)
}

// refusalsAlone sends switches that are to be refused, whatever the session.
func (s *suite) refusalsAlone(ctx context.Context, c *client) error {
	for _, id := range []string{"hacker", "Agent@123"} {
		if _, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: id}, act{}); err != nil {
			return err
		}
		rec, miss := s.outcome(ctx, c, rejection)
		if miss == nil && s.isWrong(rec) {
			s.leaves(rec.N)
		}
		_ = s.waited(c, model.AnswerTo(c.act.mark), rec, miss)
	}
	return nil
}

// findsStrays examines each record that a wait sees, and all others at the scenario's end, for answers to messages of
// other scenarios: they carry another nonce, or are switches that no client of this scenario can have requested
// (AS-095). A target declared unable to tell connections apart is exempt: it may attribute a late message to the
// client connected by then.
func (s *suite) findsStrays() {
	find := steps.NoncesLike(s.Nonce)
	if find == nil || binding.Of(s.Env.Profile).Correlation.Single {
		return
	}
	told := map[int]bool{}
	look := func(r *transcript.Record) {
		if told[r.N] || r.Dir != transcript.Received || r.Kind != transcript.Stream {
			return
		}
		if other := find(r.Bytes); other != "" && other != s.Nonce {
			told[r.N] = true
			s.strayed("messages of a client of scenario "+other+" had asked", r)
		} else if s.Beside() && isSwitch(r) && s.unasked(r) {
			told[r.N] = true
			s.strayed("messages that no client of that scenario had requested", r)
		}
	}
	s.World.Watch = look
	s.AtEnd(func() {
		for _, r := range s.T.All() {
			look(&r)
		}
	})
}

// strayed records an answer that reached a client of another scenario.
func (s *suite) strayed(asked string, r *transcript.Record) {
	s.World.Strayed(steps.Stray{Clauses: []string{"AS-095"}, What: "answers arrived on the connection of another client",
		Seen: fmt.Sprintf("a client of scenario %s received %s: %s", s.Nonce, asked, steps.Seen(*r)),
		Advice: "If requests name their connection in another way, declare it (correlation; parley init finds it " +
			"out); if it cannot tell connections apart, declare correlation: single"})
}

// unasked reports whether a session was switched away from the default agent before any client of the scenario had
// sent a switch. Only a message of another scenario can have caused that.
func (s *suite) unasked(switched *transcript.Record) bool {
	id := field(*switched, vocab.CurrentAgentID)
	if id == any(s.Env.Profile.Agents.Default) {
		return false
	}
	for _, r := range s.T.All() {
		if r.N >= switched.N {
			return true
		}
		if r.Dir == transcript.Sent && r.Event != nil && r.Event.Type == vocab.SwitchAgentType {
			return false
		}
	}
	return true
}

// movedByOther fails a switch that started from the agent of another client's session: the sessions share one agent,
// and clauses broken only because of that are not blamed. If no other scenario uses the target at the time, this also
// proves that concurrent scenarios change each other's agents.
func (s *suite) movedByOther(c *client, rec transcript.Record, from string) error {
	previous := field(rec, vocab.PreviousAgentID)
	if from == "" || previous == any(from) || s.previousAlone(rec) {
		return nil
	}
	for _, o := range s.clients {
		if o == c || o.session == "" || o.session == c.session || o.agent == "" || any(o.agent) != previous {
			continue
		}
		clauses := sharing
		if !s.Beside() {
			s.Env.Learnt.Store(shared{}, true)
			s.World.Strayed(steps.Stray{Clauses: clauses, What: "a switch in one session changed the agent of others",
				Seen: fmt.Sprintf("in scenario %s, client %s had switched to %q, and client %s received %s",
					s.Nonce, o.name, o.agent, c.name, steps.Seen(rec))})
		}
		expected := fmt.Sprintf("client %s still at %q, regardless of the switches of client %s", c.name, from, o.name)
		return s.Need(steps.CheckOf(rec, false, expected, append(slices.Clone(clauses), "AS-060", "AS-093")...))
	}
	return nil
}

// shared is the key that records that sessions share one agent, seen while no other scenario used the target. Whatever
// shows another agent than the session's is explained by that.
type shared struct{}

// sharing are the clauses that sessions with one agent break.
var sharing = []string{"AS-007", "AS-005", "AS-015", "AS-057", "AS-058"}

// judgeAgent judges a check that fails where a session has another agent than it should.
func (s *suite) judgeAgent(check verdict.Finding) error {
	if _, known := s.Env.Learnt.Load(shared{}); known && !check.OK {
		return s.narrow(check, sharing...)
	}
	return s.Judge(check)
}
