package relay

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// receive handles a frame from a party. It waits only for calls of OnAgent and for other writes of the same party.
func (s *Server) receive(c *conn, f Frame) {
	c.in.Lock()
	defer c.in.Unlock()
	for _, f := range s.inbound(c, f) {
		s.handle(c, Read(f)) // read without the server's lock, so that a large frame does not block other parties
	}
}

func (s *Server) inbound(c *conn, f Frame) []Frame {
	if s.o.Inbound == nil {
		return []Frame{f}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Over() {
		return nil
	}
	return s.o.Inbound(Relay{s}, c.party, f)
}

func (s *Server) handle(c *conn, e *Envelope) {
	if s.routed(c, e) {
		return
	}
	if why := s.join(c, e); why != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refuse(c, e, *why)
	}
}

// routed handles an envelope under one lock; it returns false for a join, which the caller handles.
func (s *Server) routed(c *conn, e *Envelope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Over() {
		return true
	}
	why := s.o.Policy.judge(c.party, e)
	if why == nil && e.Type() == proto.RelayJoin {
		return false
	}
	switch {
	case why != nil:
	case c.party.Role == "":
		why = s.o.Policy.Unjoined(Relay{s}, c.party, e, inactive("send relay.join first"))
	default:
		why = s.route(c, e)
	}
	if why != nil {
		s.refuse(c, e, *why)
	}
	return true
}

// route passes an envelope on. The caller holds the lock.
func (s *Server) route(from *conn, e *Envelope) *Refusal {
	ses := s.sessions[from.party.Session]
	to := s.o.Policy.Recipients(Relay{s}, from.party, e, s.recipients(from, e))
	if from.party.Role == proto.AgentRole {
		if len(to) == 0 && ses.host == nil {
			return s.o.Policy.HostAbsent(Relay{s}, from.party, e,
				inactive("the relay session has no host: try again when one has joined"))
		}
		if q := requestOf(from, e); q.Identified && len(to) > 0 {
			ses.note(q, s.o.Limits)
		}
	} else if id, isAnswer := e.ReplyTo(); isAnswer && ses != nil {
		ses.answered(id, e.Type(), to)
	}
	for _, p := range to {
		if c := s.conn(p.Conn); c != nil {
			s.emit(from, c, s.o.Policy.Pass(from.party, p, e, e.Raw))
		}
	}
	return nil
}

// requestOf returns the envelope as a request, for matching replies.
func requestOf(c *conn, e *Envelope) Request {
	id, identified := e.ID()
	return Request{Conn: c.party.Conn, ID: id, Identified: identified, Type: e.Type()}
}

// refuse answers an envelope with an error. The connection stays open, since its next envelope may be valid. The
// caller holds the lock.
func (s *Server) refuse(c *conn, e *Envelope, why Refusal) {
	s.sendError(c, requestOf(c, e), why)
	if bye := s.o.Policy.Ends(c.party, e, nil); bye != nil {
		c.finish(*bye)
	}
}

// sendError sends an error. The caller holds the lock.
func (s *Server) sendError(c *conn, about Request, why Refusal) {
	if msg := s.o.Policy.Error(c.party, about, why, errorMessage(about, why)); msg != nil {
		s.emit(nil, c, wire.Encode(msg))
	}
}
