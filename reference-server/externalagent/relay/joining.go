package relay

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"unicode/utf8"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/connection"
	"parley/reference-server/externalagent/wire"
)

// handleJoin handles a relay.join and answers it, except for Attach. The caller sends the refusal.
func (s *Server) handleJoin(c *conn, e *Envelope) *Refusal {
	j, ses, why := s.enterSession(c, e)
	if why != nil || ses == nil {
		return why
	}
	return s.joinAgent(c, ses, e, j)
}

// enterSession does the part of a join before the gate. For an agent it returns the session whose gate to wait at; the
// caller releases it.
func (s *Server) enterSession(c *conn, e *Envelope) (proto.Join, *session, *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, why := readJoin(e)
	if j, why = s.o.Policy.Join(Relay{s}, c.party, e, j, why); why != nil {
		return j, nil, why
	}
	key, side := s.o.Policy.Key(j.SessionID), sideOf(j.Role)
	switch {
	case c.party.Role == side && c.party.Session == key: // a party that missed the reply may join again
		s.answerJoin(c, e, j)
		return j, nil, nil
	case c.party.Role != "":
		return j, nil, invalidError("this connection has joined with another role or session: open another connection")
	case c.gone:
		return j, nil, leftRefusal()
	}
	ses, why := s.sessionOf(key, j.SessionID)
	switch {
	case why != nil:
		return j, nil, why
	case side == proto.HostRole:
		s.joinHost(c, ses)
		s.welcomeFirst(c, e, j)
		return j, nil, nil
	}
	ses.uses++
	return j, ses, nil
}

// answerJoin answers a join. The caller holds the lock while it makes the party a member of the session, so that this
// reply comes first.
func (s *Server) answerJoin(c *conn, e *Envelope, j proto.Join) {
	if msg := s.o.Policy.Joined(Relay{s}, c.party, j, joinedMessage(e, j)); msg != nil {
		s.emitFrame(nil, c, wire.Encode(msg))
	}
}

// welcomeFirst answers a party's first join; an attached party gets no message.
func (s *Server) welcomeFirst(c *conn, e *Envelope, j proto.Join) {
	if !c.party.Attached {
		s.answerJoin(c, e, j)
	}
}

// joinHost makes a party the host of a session and closes the host that it replaces. The caller holds the lock.
func (s *Server) joinHost(c *conn, ses *session) {
	c.party.Role, c.party.Session = proto.HostRole, ses.key
	if old := ses.host; old != nil {
		s.removeHost(ses)
		old.closeAfterQueue(websocket.CloseError{Code: Replaced, Reason: "another host has joined the relay session"})
	}
	ses.host = c
}

// joinAgent makes a party an agent of a session, after OnAgent has had the chance to attach a host.
func (s *Server) joinAgent(c *conn, ses *session, e *Envelope, j proto.Join) *Refusal {
	select {
	case ses.gate <- struct{}{}:
	case <-c.Context().Done():
		s.releaseSession(ses, false)
		return leftRefusal()
	}
	defer s.releaseSession(ses, true)
	why, ask := s.admitAgent(ses)
	if why != nil {
		return why
	}
	if ask {
		s.o.OnAgent(ses.name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return leftRefusal()
	}
	c.party.Role, c.party.Session = proto.AgentRole, ses.key
	ses.agents = append(ses.agents, c)
	ses.occupied = true
	s.welcomeFirst(c, e, j)
	return nil
}

// admitAgent reports whether there is room for an agent, and whether to ask for a host.
func (s *Server) admitAgent(ses *session) (why *Refusal, ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(ses.agents) >= s.o.Limits.Agents {
		return inactiveError("the relay session has no room for another agent"), false
	}
	ask = ses.host == nil && !ses.asked && s.o.OnAgent != nil
	ses.asked = ses.asked || ask
	return nil, ask
}

// leftRefusal returns the refusal for a party that left while joining; it never arrives.
func leftRefusal() *Refusal { return inactiveError(connection.ErrEnded.Error()) }

// removeConnection removes a connection that has ended. It returns when all parties have been told and OnEmpty has
// returned; a second call waits for the first.
func (s *Server) removeConnection(c *conn) {
	c.leaving.Do(func() {
		defer s.open.Done()
		c.End(connection.ErrEnded)
		if ses := s.removeEverywhere(c); ses != nil {
			s.callEmpty(ses)
		}
	})
}

// removeEverywhere removes a connection everywhere. If its session has lost its last agent, it returns the session,
// which the caller releases.
func (s *Server) removeEverywhere(c *conn) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.gone = true
	if _, there := s.conns.LoadAndDelete(c.party.Conn); there {
		s.count--
	}
	ses := s.sessions[c.party.Session]
	if ses == nil {
		return nil
	}
	defer s.pruneSession(ses)
	if ses.host == c {
		s.removeHost(ses)
	}
	if c.party.Role != proto.AgentRole {
		return nil
	}
	ses.agents = slices.DeleteFunc(ses.agents, func(a *conn) bool { return a == c })
	ses.requests = slices.DeleteFunc(ses.requests, func(q Request) bool { return q.Conn == c.party.Conn })
	if len(ses.agents) > 0 || s.o.OnEmpty == nil {
		return nil
	}
	ses.uses++
	return ses
}

// removeHost removes the host from a session and refuses the requests that it has not answered. An agent.message is for
// display only (EA-008) and has already been displayed. The caller holds the lock.
func (s *Server) removeHost(ses *session) {
	ses.host, ses.asked = nil, false
	requests := ses.requests
	ses.requests = nil
	for _, q := range requests {
		if c := s.findConnection(q.Conn); c != nil && q.Type != proto.AgentMessage {
			s.sendError(c, q, *inactiveError("the host has left the relay session before it answered"))
		}
	}
}

// callEmpty calls OnEmpty, unless an agent has joined meanwhile or it was already called.
func (s *Server) callEmpty(ses *session) {
	ses.gate <- struct{}{}
	defer s.releaseSession(ses, true)
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

// Conn is a party within this process. Its frames are text frames. Read is called by one goroutine at a time, the
// other methods by any.
type Conn interface {
	// Read waits for the next frame. If the relay has closed the connection, Read returns everything sent before and
	// then a websocket.CloseError. If ctx ends, Read returns its error and leaves the connection open. Once the
	// connection was dropped or closed, Read returns another error.
	Read(ctx context.Context) ([]byte, error)

	// Write sends a frame, which the relay has handled when Write returns. It waits for no other party. A refusal
	// arrives through Read, as over a socket.
	Write(ctx context.Context, frame []byte) error

	// Close leaves the session; all parties have been told when it returns. It never fails.
	Close() error
}

// Attach joins a party within this process to a relay session, as if it had connected over a socket and sent
// relay.join: it counts as a connection, its frames are checked and routed in the same way, and it is dropped if it
// does not read. It has joined when Attach returns; it receives no relay.joined. It must be closed.
//
// An error gives the reason for the refusal, the same as over a socket.
func (s *Server) Attach(session, role string) (Conn, error) {
	if !utf8.ValidString(session) || !utf8.ValidString(role) {
		return nil, fmt.Errorf("attach to the relay: %s: %s", proto.InvalidMessage, faultTexts[NotUTF8])
	}
	c := newConn(context.Background(), true, s.o.Limits)
	if err := s.registerConnection(c); err != nil {
		c.End(err)
		return nil, fmt.Errorf("attach to the relay: %w", err)
	}
	// No goroutine reads for an attached party, so this detects its end.
	context.AfterFunc(c.Context(), func() { s.removeConnection(c) })
	join := wire.New(proto.RelayJoin, map[string]any{"role": role, "sessionId": session}).With("id", "attach")
	e := Read(Frame{Data: wire.Encode(join)})
	s.mu.Lock()
	why := s.o.Policy.checkEnvelope(c.party, e)
	s.mu.Unlock()
	if why == nil {
		why = s.handleJoin(c, e)
	}
	if why != nil {
		s.removeConnection(c)
		return nil, fmt.Errorf("attach to the relay: %s: %s", why.Code, why.Text)
	}
	return attached{s, c}, nil
}

type attached struct {
	s *Server
	c *conn
}

func (a attached) Read(ctx context.Context) ([]byte, error) {
	frame, err := a.c.Next(ctx)
	// Other recipients may share this slice.
	return bytes.Clone(frame), err
}

func (a attached) Write(ctx context.Context, frame []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if int64(len(frame)) > a.s.o.Limits.Frame {
		a.c.closeAfterQueue(websocket.CloseError{Code: websocket.StatusMessageTooBig, Reason: "the frame is too large"})
	}
	if a.c.Over() {
		return context.Cause(a.c.Context())
	}
	a.s.receiveFrame(a.c, Frame{Data: bytes.Clone(frame)})
	return nil
}

func (a attached) Close() error {
	a.c.End(net.ErrClosed)
	a.s.removeConnection(a.c)
	return nil
}
