package agentselect

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/transport/transcript"
)

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
	id := field(*switched, "currentAgentId")
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
	previous := field(rec, "previousAgentId")
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
