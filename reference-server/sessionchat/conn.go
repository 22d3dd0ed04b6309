package sessionchat

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/coder/websocket"

	"parley/reference-server/connection"
	"parley/reference-server/web"
)

// conn is a connection and the turns that it asked for.
type conn struct {
	*connection.Outbox
	info  ConnInfo
	turns map[*turn]struct{} // guarded by Server.mu
}

// smooth is how many bytes a streaming turn may be ahead of the reader, so that a pong or the result of an interrupt
// arrives soon.
const smooth = 256 << 10

func newConn(ctx context.Context, info ConnInfo, outgoing int) *conn {
	return &conn{connection.New(ctx, connection.Limits{Bytes: outgoing}), info, map[*turn]struct{}{}}
}

// serveWebSocket serves one connection from handshake to end. Opening it creates nothing (SC-001).
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	l := s.o.Limits
	c := newConn(context.WithoutCancel(r.Context()), ConnInfo{"conn_" + rand.Text(), r.URL.Query()}, l.Outgoing)
	if err := s.m.conns.Add(c.info.ID, c); err != nil {
		c.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.disconnect(c)
	s.greet(c)
	c.Serve(w, r, connection.WebSocket{
		Message: l.Message, Write: l.Write, Close: l.Close,
		Receive: func(kind websocket.MessageType, data []byte) {
			if c.TextOnly(kind, data) {
				s.handle(c, data)
			}
		},
	})
}

// greet handles the policy's initial messages of a connection.
func (s *Server) greet(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, msg := range s.o.Policy.OnConnect(s.m, c.info) {
		s.dispatch(c, msg)
	}
}

// disconnect removes a connection that has ended. Its sessions stay (SC-059), its turns end (SC-054).
func (s *Server) disconnect(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	endTurns := s.o.Policy.OnDisconnect(s.m, c.info)
	s.m.conns.Remove(c.info.ID)
	if !endTurns {
		return
	}
	for t := range c.turns {
		if t.cancel == nil { // it is still queued
			s.forget(t)
			continue
		}
		t.cancel(errGone)
	}
}

// emit passes a message to a connection through Outbound. The caller holds the lock, so that messages are sent in the
// order of the changes that they report.
func (s *Server) emit(c *conn, msg Message) {
	if s.m.conns.Get(c.info.ID) != nil {
		s.o.Outbound(s.m, c.info, msg, s.m.Send)
	}
}
