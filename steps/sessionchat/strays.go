package sessionchat

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
)

// asked is the key, in Env.Learnt, of what clients of any scenario have done to the session of an agent_id.
type asked struct{ agentID string }

// deeds records actions that may end a turn of a session: an interrupt, a second chat, a model that fails, the end of a
// connection.
type deeds struct {
	by   string // nonce of the scenario whose session it is
	done atomic.Bool
}

func (s *suite) deeds(agentID string) *deeds {
	found, _ := s.Env.Learnt.LoadOrStore(asked{agentID}, &deeds{by: s.Nonce})
	return found.(*deeds)
}

// endsTurns records that a client's current action may end turns of a session.
func (s *suite) endsTurns(ss *session) { s.deeds(ss.agentID).done.Store(true) }

// endsTurnsOver is endsTurns for all sessions that a client uses.
func (s *suite) endsTurnsOver(c *client) {
	for _, ss := range s.sessions {
		if t := ss.turn(); ss.asker == c.name || t != nil && t.client == c.name {
			s.endsTurns(ss)
		}
	}
}

// findsStrays checks every record that a wait reads for what other scenarios cause, and no clause of this one is about.
func (s *suite) findsStrays() {
	s.AtEnd(func() {
		for _, ss := range s.sessions {
			s.endsTurns(ss)
		}
	})
	s.World.Watch = func(r *transcript.Record) {
		if !s.Beside() || r.Dir != transcript.Received || r.Event == nil {
			return
		}
		found, ok := s.Env.Learnt.Load(asked{text(r, inAgent)})
		if !ok || !slices.Contains(ofTurn, r.Event.Type) {
			return
		}
		if of := found.(*deeds); of.by != s.Nonce {
			s.findsForeign(r, of)
			return
		}
		s.findsEnded(r, found.(*deeds))
	}
}

// findsForeign finds a message of a session of another scenario, whose agent_id none of this one has sent (SC-001). The
// end of a turn that nobody there has interrupted is told as what it is: an interrupt of this scenario has ended it.
func (s *suite) findsForeign(r *transcript.Record, of *deeds) {
	id := text(r, inAgent)
	if strings.Contains(id, s.Nonce) || !strings.Contains(id, of.by) { // other scenarios may use the same
		return
	}
	if s.findsEnded(r, of) {
		return
	}
	s.World.Strayed(steps.Stray{Clauses: []string{"SC-001", "SC-045"},
		What: "messages of sessions arrived on connections that had not asked for them",
		Seen: fmt.Sprintf("a client of scenario %s received a message of %s, a session of scenario %s: %s", s.Nonce, id,
			of.by, steps.Seen(*r))})
}

// findsEnded finds that a turn of this or another scenario has ended as interrupted although nothing was done to its
// session that could end it: the interrupt of another session has ended it (SC-036).
func (s *suite) findsEnded(r *transcript.Record, of *deeds) bool {
	if r.Event.Type != vocab.ResultMessage || text(r, inSubtype) != vocab.Interrupted || of.done.Load() {
		return false
	}
	s.World.Strayed(steps.Stray{Clauses: []string{"SC-036"}, What: "interrupts of one session ended turns of others",
		Seen: fmt.Sprintf("a client of scenario %s received the end of the turn of %s as interrupted, although no client "+
			"of it interrupted: %s", s.Nonce, text(r, inAgent), steps.Seen(*r))})
	return true
}

// straysIntoModel tells of a model request with turns of another scenario's session (SC-027).
func (s *suite) straysIntoModel(of *session, foreign []string) {
	if !s.Beside() || slices.ContainsFunc(foreign, func(n string) bool { return strings.HasPrefix(n, s.Nonce) }) {
		return
	}
	s.World.Strayed(steps.Stray{Clauses: []string{"SC-027"}, What: "turns of one session were in model requests of others",
		Seen: fmt.Sprintf("a model request for %s contains the turn %s, of another scenario", of.agentID, foreign[0])})
}
