package relay

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// join has a party join by a relay.join, and answers it if that is wanted; why it does not join is left to the caller to tell.
func (s *Server) join(c *conn, e *Envelope, answer bool) *Refusal {
	j, ses, why := s.enter(c, e, answer)
	if why != nil || ses == nil {
		return why
	}
	return s.joinAgent(c, ses, e, j, answer)
}

// enter does all of a join that needs no gate. For an agent it returns the session at whose gate to wait, to be released.
func (s *Server) enter(c *conn, e *Envelope, answer bool) (proto.Join, *session, *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, why := s.o.Policy.Join(state{s}, c.party, e)
	if why != nil {
		return j, nil, why
	}
	key := s.o.Policy.Key(j)
	if c.party.Role != "" {
		if why = s.o.Policy.Rejoin(state{s}, c.party, j, key); why == nil {
			s.welcome(c, e, j, answer)
		}
		return j, nil, why
	}
	if c.gone {
		return j, nil, notAny()
	}
	ses, why := s.sessionOf(key, j.SessionID)
	switch {
	case why != nil:
		return j, nil, why
	case sideOf(j.Role) == proto.HostRole:
		s.joinHost(c, ses, e, j, answer)
		return j, nil, nil
	}
	ses.uses++
	return j, ses, nil
}

// welcome answers a join. Locked, by whoever makes the party one of the session, so that nothing comes before it.
func (s *Server) welcome(c *conn, e *Envelope, j proto.Join, answer bool) {
	if !answer {
		return
	}
	if msg := s.o.Policy.Joined(state{s}, c.party, e, j); msg != nil {
		s.emit(nil, c, msg.Encode())
	}
}

// joinHost makes a party the host of a session, in the place of the one that was. Locked.
func (s *Server) joinHost(c *conn, ses *session, e *Envelope, j proto.Join, answer bool) {
	c.party.Role, c.party.Session = proto.HostRole, ses.key
	if old := ses.host; old != nil {
		s.hostless(ses)
		if bye := s.o.Policy.HostReplaced(state{s}, old.party, c.party); bye != nil {
			old.finish(*bye)
		}
	}
	ses.host = c
	s.welcome(c, e, j, answer)
}

// joinAgent makes a party an agent of a session, once OnAgent has had the occasion to attach a host.
func (s *Server) joinAgent(c *conn, ses *session, e *Envelope, j proto.Join, answer bool) *Refusal {
	select {
	case ses.gate <- struct{}{}:
	case <-c.ctx.Done():
		s.release(ses, false)
		return notAny()
	}
	defer s.release(ses, true)
	why, ask := s.admit(ses)
	if why != nil {
		return why
	}
	if ask {
		s.o.OnAgent(ses.name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return notAny()
	}
	c.party.Role, c.party.Session = proto.AgentRole, ses.key
	ses.agents = append(ses.agents, c)
	ses.occupied = true
	s.welcome(c, e, j, answer)
	return nil
}

// admit tells whether there is room for an agent, and whether to ask for a host.
func (s *Server) admit(ses *session) (why *Refusal, ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(ses.agents) >= s.o.Limits.Agents {
		return &Refusal{proto.SessionNotActive, "the relay session has no room for another agent"}, false
	}
	ask = ses.host == nil && !ses.asked && s.o.OnAgent != nil
	ses.asked = ses.asked || ask
	return nil, ask
}

// notAny refuses a party that has left while it joined: there is nobody any more to be told.
func notAny() *Refusal { return &Refusal{proto.SessionNotActive, errEnded.Error()} }

// leave forgets a connection that has ended. It returns when everybody knows of that, OnEmpty included; a second call waits for
// the first.
func (s *Server) leave(c *conn) {
	c.leaving.Do(func() {
		defer s.open.Done()
		c.end(errEnded)
		if ses := s.depart(c); ses != nil {
			s.tellEmpty(ses)
		}
	})
}

// depart takes a connection out of everything. It returns its session, to be released, if that has lost its last agent.
func (s *Server) depart(c *conn) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.gone = true
	s.conns.remove(c)
	ses := s.sessions[c.party.Session]
	if ses == nil {
		return nil
	}
	defer s.prune(ses)
	if ses.host == c {
		s.hostless(ses)
	}
	if c.party.Role != proto.AgentRole {
		return nil
	}
	ses.agents = slices.DeleteFunc(ses.agents, func(a *conn) bool { return a == c })
	ses.requests = slices.DeleteFunc(ses.requests, func(q Request) bool { return q.Conn == c.number })
	if len(ses.agents) > 0 || s.o.OnEmpty == nil {
		return nil
	}
	ses.uses++
	return ses
}

// hostless takes the host out of a session, whose requests it can't answer any more. Locked.
func (s *Server) hostless(ses *session) {
	ses.host, ses.asked = nil, false
	outstanding := ses.requests
	ses.requests = nil
	told, why := s.o.Policy.HostGone(state{s}, ses.key, outstanding)
	for _, q := range told {
		if c := s.conns.get(q.Conn); c != nil {
			s.tell(c, q, why)
		}
	}
}

// tellEmpty calls OnEmpty, unless an agent has joined meanwhile, or it has been told already.
func (s *Server) tellEmpty(ses *session) {
	ses.gate <- struct{}{}
	defer s.release(ses, true)
	s.mu.Lock()
	empty := ses.occupied && len(ses.agents) == 0
	if empty {
		ses.occupied = false
	}
	s.mu.Unlock()
	if empty {
		s.o.OnEmpty(ses.name)
	}
}
