package agentselect

import (
	"cmp"
	"context"
	"fmt"

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

// answersAlone takes a client through legal switches and refused ones, and keeps what deviates: it explains the same
// deviations in scenarios with more in them.
func (s *suite) answersAlone(ctx context.Context, c *client) error {
	silent := 0
	for _, name := range []string{"debugger", "requirement_analyzer", "debugger", "general"} {
		to := s.swapped(name)
		if to == cmp.Or(c.agent, s.Env.Profile.Agents.Default) { // the effect of that is open (AS-G04)
			continue
		}
		if err := s.switches(ctx, c, agentID{to}); err != nil {
			return err
		}
		if _ = s.switchedTo(ctx, c, "", to); c.act.missed != nil {
			silent++
		}
		if silent > 1 || silent > 0 && s.accepted == 0 { // each takes the time of a limit
			break
		}
	}
	for _, what := range s.model(s.T.Len()).Deviations() {
		s.Env.Learnt.Store(alone(what), true)
	}
	if silent > 1 || silent > 0 && s.accepted == 0 {
		return nil
	}
	return s.refusalsAlone(ctx, c)
}

// refusalsAlone sends switches that are to be refused, whatever the session.
func (s *suite) refusalsAlone(ctx context.Context, c *client) error {
	for _, id := range []string{"hacker", "Agent@123"} {
		if err := s.switches(ctx, c, agentID{id}); err != nil {
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

// sharing are the clauses that sessions with one agent break.
var sharing = []string{"AS-007", "AS-005", "AS-015", "AS-057", "AS-058"}

// findsSharing reports to the run that sessions share one agent, as the model has found: if no other scenario uses the
// target at the time, this proves that concurrent scenarios change each other's agents.
func (s *suite) findsSharing() {
	for ; s.judge.mixed < len(s.judge.Mixed); s.judge.mixed++ {
		if x := s.judge.Mixed[s.judge.mixed]; !s.Beside() {
			s.Env.Learnt.Store(shared{}, true)
			s.World.Strayed(steps.Stray{Clauses: sharing,
				What: "a switch in one session changed the agent of others", Seen: fmt.Sprintf(
					"in scenario %s, client %s had switched to %q, and client %s received %s", s.Nonce, x.By, x.Agent, x.On.Conn,
					steps.Seen(x.On))})
		}
	}
}

// shared is the key that records that sessions share one agent, seen while no other scenario used the target. Whatever
// shows another agent than the session's is explained by that.
type shared struct{}
