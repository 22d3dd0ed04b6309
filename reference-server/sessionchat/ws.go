package sessionchat

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// serveWebSocket is one connection, from the handshake to its end. Opening it creates nothing (SC-001).
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	info := ConnInfo{ID: "conn_" + rand.Text(), Query: r.URL.Query()}
	c := newConn(context.WithoutCancel(r.Context()), info, s.o.Limits.Outgoing)
	if err := s.connect(c); err != nil {
		c.end()
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.disconnect(c)
	// admit has judged the Origin already.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(s.o.Limits.Message)

	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		s.pumpWebSocket(ws, c)
	}()
	s.greet(c)
	s.readWebSocket(ws, c)
	c.end()
	<-pumped
}

// pumpWebSocket writes until the connection ends. Its end closes the socket, which ends the reading too.
func (s *Server) pumpWebSocket(ws *websocket.Conn, c *conn) {
	defer ws.CloseNow()
	defer c.end()
	bye := c.pump(func(msg Message) error {
		data, err := msg.encode()
		if err != nil {
			s.o.Logger.Error("message not encoded", "message_type", msg.Type(), "err", err)
			return nil
		}
		ctx, cancel := context.WithTimeout(c.ctx, s.o.Limits.Write)
		defer cancel()
		return ws.Write(ctx, websocket.MessageText, data)
	})
	if bye != nil {
		// The reader sees the client's half of the handshake; its end is what can be hastened.
		defer time.AfterFunc(s.o.Limits.Close, c.end).Stop()
		_ = ws.Close(bye.code, bye.reason)
	}
}

// readWebSocket takes messages until the connection ends. A frame that is no text, or no UTF-8, ends it: what follows is
// not looked at.
func (s *Server) readWebSocket(ws *websocket.Conn, c *conn) {
	for {
		kind, data, err := ws.Read(c.ctx)
		switch {
		case err != nil:
			return
		case c.finishing(): // only the client's half of the closing handshake is waited for
		case kind != websocket.MessageText:
			c.finish(websocket.StatusUnsupportedData, "text frames only")
		case !utf8.Valid(data):
			c.finish(websocket.StatusInvalidFramePayloadData, "text must be UTF-8")
		default:
			s.handle(c, data)
		}
	}
}
