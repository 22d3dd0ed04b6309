package sessionchat

import (
	"fmt"
	"sync/atomic"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transcript"
)

// asked is the key, in Env.Learnt, of what clients of any scenario have done to the session of an agent_id.
type asked struct{ agentID string }

// deeds records actions that may end a turn of a session: an interrupt, a second chat, the end of a connection.
type deeds struct{ done atomic.Bool }

func (s *suite) deeds(agentID string) *deeds {
	found, _ := s.Env.Learnt.LoadOrStore(asked{agentID}, &deeds{})
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

// findsStrays checks every record that a wait reads. If a turn of this or another scenario ends as interrupted although
// nothing was done to its session that could end it, the interrupt of another session has ended it (SC-036).
func (s *suite) findsStrays() {
	s.AtEnd(func() {
		for _, ss := range s.sessions {
			s.endsTurns(ss)
		}
	})
	s.World.Watch = func(r *transcript.Record) {
		if !s.Beside() || r.Dir != transcript.Received || r.Event == nil || r.Event.Type != vocab.ResultMessage ||
			text(r, inSubtype) != vocab.Interrupted {
			return
		}
		id := text(r, inAgent)
		found, ok := s.Env.Learnt.Load(asked{id})
		if id == "" || !ok || found.(*deeds).done.Load() {
			return
		}
		s.World.Strayed(steps.Stray{Clauses: []string{"SC-036"}, What: "interrupts of one session ended turns of others",
			Seen: fmt.Sprintf("a client of scenario %s received the end of the turn of %s as interrupted, although no client "+
				"of it interrupted: %s",
				s.Nonce, id, steps.Seen(*r))})
	}
}
