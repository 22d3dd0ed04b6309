package relay

import proto "parley/protocol/externalagent"

// receive takes a frame of a party. It waits for nobody but calls of OnAgent, and, of an attached party, for what it writes at
// the same time.
func (s *Server) receive(c *conn, f Frame) {
	c.in.Lock()
	defer c.in.Unlock()
	for _, f := range s.inbound(c, f) {
		s.handle(c, Read(f)) // read without the server's lock: a large frame keeps nobody waiting
	}
}

func (s *Server) inbound(c *conn, f Frame) []Frame {
	if s.o.Inbound == nil {
		return []Frame{f}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over() {
		return nil
	}
	return s.o.Inbound(state{s}, c.party, f)
}

func (s *Server) handle(c *conn, e *Envelope) {
	if s.routed(c, e) {
		return
	}
	if why := s.join(c, e, true); why != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refuse(c, e, *why)
	}
}

// routed does all that is done about an envelope under one lock; false leaves a join.
func (s *Server) routed(c *conn, e *Envelope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over() {
		return true
	}
	why := s.judge(c, e)
	if why == nil && e.Type() == proto.RelayJoin {
		return false
	}
	switch {
	case why != nil:
	case c.party.Role == "":
		why = s.o.Policy.Unjoined(state{s}, c.party, e)
	default:
		why = s.route(c, e)
	}
	if why != nil {
		s.refuse(c, e, *why)
	}
	return true
}

// judge checks an envelope by itself. Locked.
func (s *Server) judge(c *conn, e *Envelope) *Refusal {
	for _, check := range s.o.Policy.Checks(c.party) {
		if why := check.Judge(c.party, e); why != nil {
			return why
		}
	}
	return nil
}

// route passes an envelope on. Locked.
func (s *Server) route(from *conn, e *Envelope) *Refusal {
	ses := s.sessions[from.party.Session]
	to := s.o.Policy.Recipients(state{s}, from.party, e)
	if from.party.Role == proto.AgentRole {
		if len(to) == 0 && ses.host == nil {
			return s.o.Policy.HostAbsent(state{s}, from.party, e)
		}
		if q := requestOf(from, e); q.Identified && len(to) > 0 {
			ses.note(q, s.o.Limits)
		}
	} else if id, isAnswer := e.ReplyTo(); isAnswer && ses != nil {
		ses.answered(id, e.Type(), to)
	}
	for _, p := range to {
		if c := s.conns.get(p.Conn); c != nil {
			s.emit(from, c, s.o.Policy.Pass(from.party, p, e))
		}
	}
	return nil
}

// requestOf is an envelope as the request that an answer to it names.
func requestOf(c *conn, e *Envelope) Request {
	id, identified := e.ID()
	return Request{Conn: c.number, ID: id, Identified: identified, Type: e.Type()}
}

// refuse tells a party why its envelope is not passed on. Locked.
func (s *Server) refuse(c *conn, e *Envelope, why Refusal) {
	s.tell(c, requestOf(c, e), why)
	if bye := s.o.Policy.Ends(state{s}, c.party, e, why); bye != nil {
		c.finish(*bye)
	}
}

// tell sends an error. Locked.
func (s *Server) tell(c *conn, about Request, why Refusal) {
	if msg := s.o.Policy.Error(state{s}, c.party, about, why); msg != nil {
		s.emit(nil, c, msg.Encode())
	}
}
