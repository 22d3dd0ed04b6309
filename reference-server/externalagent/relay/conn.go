package relay

import (
	"context"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"parley/reference-server/connection"
	"parley/reference-server/web"
)

// conn is a connection of a party, over a socket or attached.
type conn struct {
	*connection.Outbox

	in      sync.Mutex // serializes the party's frames
	leaving sync.Once

	party Party // role and session are guarded by Server.mu
	gone  bool  // the connection has left the relay; guarded by Server.mu
}

func newConn(ctx context.Context, attached bool, l Limits) *conn {
	out := connection.New(ctx, connection.Limits{Frames: l.Queue, Bytes: l.QueueBytes})
	return &conn{Outbox: out, party: Party{Attached: attached}}
}

// finish closes the connection after the queued frames; only the first call counts. An attached party leaves at once,
// because it has no frames in transit.
func (c *conn) finish(bye websocket.CloseError) {
	c.Finish(bye)
	if c.party.Attached {
		c.End(bye)
	}
}

// serveWebSocket serves one connection from handshake to end. Once the relay has said goodbye, it drops the party's
// frames.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	c := newConn(context.WithoutCancel(r.Context()), false, s.o.Limits)
	if err := s.connect(c); err != nil {
		c.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.leave(c)
	l := s.o.Limits
	c.Serve(w, r, connection.WebSocket{
		Message: l.Frame, Write: l.Write, Close: l.Close,
		Receive: func(kind websocket.MessageType, data []byte) {
			s.receive(c, Frame{Data: data, Binary: kind == websocket.MessageBinary})
		},
	})
}
