package relay

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// Conn is a party of this process. Its frames are texts. Read is called by one goroutine at a time, the others by any.
type Conn interface {
	// Read waits for the next frame. Its error is a websocket.CloseError, behind all that was sent before, if the relay has ended
	// the connection, as websocket.CloseStatus tells; that of ctx, which leaves the connection as it is; and another once the
	// connection was dropped or closed.
	Read(ctx context.Context) ([]byte, error)

	// Write sends a frame, which the relay has handled when Write returns. It waits for no other party. Whether the relay
	// likes the frame is told by Read, as it is over a socket.
	Write(ctx context.Context, frame []byte) error

	// Close leaves the session, as all parties know when it returns. It never fails.
	Close() error
}

// Attach joins a party of this process to a relay session, as if it had come over a socket and sent relay.join: it counts as a
// connection, what it writes is checked and routed in the same way, and it is dropped if it does not read. It has joined
// when Attach returns; no relay.joined is sent to it. It must be closed.
//
// The error tells why it can't join: the same reasons as over a socket.
func (s *Server) Attach(session, role string) (Conn, error) {
	if !utf8.ValidString(session) || !utf8.ValidString(role) {
		return nil, fmt.Errorf("attach to the relay: %s: %s", proto.InvalidMessage, faultTexts[NotUTF8])
	}
	c := newConn(context.Background(), true, &s.o.Limits)
	if err := s.connect(c); err != nil {
		c.end(err)
		return nil, fmt.Errorf("attach to the relay: %w", err)
	}
	// Nobody reads on behalf of an attached party, so its end is noticed by this.
	context.AfterFunc(c.ctx, func() { s.leave(c) })
	join := Message{"v": proto.Version, "type": proto.RelayJoin, "id": "attach",
		"payload": map[string]any{"role": role, "sessionId": session}}
	e := Read(Frame{Data: join.Encode()})
	why := s.judgeJoin(c, e)
	if why == nil {
		why = s.join(c, e, false)
	}
	if why != nil {
		s.leave(c)
		return nil, fmt.Errorf("attach to the relay: %s: %s", why.Code, why.Text)
	}
	return attached{s, c}, nil
}

func (s *Server) judgeJoin(c *conn, e *Envelope) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judge(c, e)
}

type attached struct {
	s *Server
	c *conn
}

func (a attached) Read(ctx context.Context) ([]byte, error) {
	frame, err := a.c.next(ctx)
	// Several parties may have got this very slice.
	return bytes.Clone(frame), err
}

func (a attached) Write(ctx context.Context, frame []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if int64(len(frame)) > a.s.o.Limits.Frame {
		a.c.finish(websocket.CloseError{Code: websocket.StatusMessageTooBig, Reason: "the frame is too large"})
	}
	if a.c.over() {
		return context.Cause(a.c.ctx)
	}
	a.s.receive(a.c, Frame{Data: bytes.Clone(frame)})
	return nil
}

func (a attached) Close() error {
	a.c.discard()
	a.s.leave(a.c)
	return nil
}
