package relay

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"unicode/utf8"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Conn is a party of this process. Its frames are texts. Read is called by one goroutine at a time, the others by any.
type Conn interface {
	// Read waits for the next frame. Its error is a websocket.CloseError, after all that was sent before, if the relay has
	// ended the connection; that of ctx, which leaves the connection as it is; and another once the connection was dropped
	// or closed.
	Read(ctx context.Context) ([]byte, error)

	// Write sends a frame, which the relay has handled when Write returns. It waits for no other party. A refusal comes by
	// Read, as over a socket.
	Write(ctx context.Context, frame []byte) error

	// Close leaves the session; all parties know when it returns. It never fails.
	Close() error
}

// Attach joins a party of this process to a relay session, as if it had come over a socket and sent relay.join: it
// counts as a connection, what it writes is checked and routed in the same way, and it is dropped if it does not read.
// It has joined when Attach returns; no relay.joined is sent to it. It must be closed.
//
// The error gives the reason why it can't join; the reasons are those over a socket.
func (s *Server) Attach(session, role string) (Conn, error) {
	if !utf8.ValidString(session) || !utf8.ValidString(role) {
		return nil, fmt.Errorf("attach to the relay: %s: %s", proto.InvalidMessage, faultTexts[NotUTF8])
	}
	c := newConn(context.Background(), true, s.o.Limits)
	if err := s.connect(c); err != nil {
		c.End(err)
		return nil, fmt.Errorf("attach to the relay: %w", err)
	}
	// Nobody reads on behalf of an attached party, so its end is noticed by this.
	context.AfterFunc(c.Context(), func() { s.leave(c) })
	join := wire.New(proto.RelayJoin, map[string]any{"role": role, "sessionId": session}).With("id", "attach")
	e := Read(Frame{Data: wire.Encode(join)})
	s.mu.Lock()
	why := s.o.Policy.judge(c.party, e)
	s.mu.Unlock()
	if why == nil {
		why = s.join(c, e)
	}
	if why != nil {
		s.leave(c)
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
	if a.c.Over() {
		return context.Cause(a.c.Context())
	}
	a.s.receive(a.c, Frame{Data: bytes.Clone(frame)})
	return nil
}

func (a attached) Close() error {
	a.c.End(net.ErrClosed)
	a.s.leave(a.c)
	return nil
}
