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
	if err := s.connect(c); err != nil {
		c.End(err)
		return nil, fmt.Errorf("attach to the relay: %w", err)
	}
	// No goroutine reads for an attached party, so this detects its end.
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
	// Other recipients may share this slice.
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
