package relay

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// serveWebSocket is one connection, from the handshake to its end.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	c := newConn(context.WithoutCancel(r.Context()), false, &s.o.Limits)
	if err := s.connect(c); err != nil {
		c.end(err)
		answer(w, http.StatusServiceUnavailable, `{"error":"`+err.Error()+`"}`)
		return
	}
	defer s.leave(c)
	// ServeHTTP has judged the Origin already.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(s.o.Limits.Frame)

	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		s.pump(ws, c)
	}()
	s.read(ws, c)
	c.end(errEnded)
	<-pumped
}

// pump writes until the connection ends. Its end closes the socket, which ends the reading too.
func (s *Server) pump(ws *websocket.Conn, c *conn) {
	defer ws.CloseNow()
	defer c.end(errEnded)
	for {
		frame, err := c.next(c.ctx)
		if err != nil {
			if bye := (websocket.CloseError{}); errors.As(err, &bye) {
				// The reader sees the peer's half of the handshake; its end is what can be hastened.
				defer time.AfterFunc(s.o.Limits.Close, func() { c.end(errEnded) }).Stop()
				_ = ws.Close(bye.Code, bye.Reason)
			}
			return
		}
		if s.write(ws, c, frame) != nil {
			return
		}
	}
}

func (s *Server) write(ws *websocket.Conn, c *conn, frame []byte) error {
	ctx, cancel := context.WithTimeout(c.ctx, s.o.Limits.Write)
	defer cancel()
	return ws.Write(ctx, websocket.MessageText, frame)
}

// read takes frames until the connection ends. After a farewell only the peer's half of the closing handshake is waited for:
// handling drops what comes before it.
func (s *Server) read(ws *websocket.Conn, c *conn) {
	for {
		kind, data, err := ws.Read(c.ctx)
		if err != nil {
			return
		}
		s.receive(c, Frame{Data: data, Binary: kind == websocket.MessageBinary})
	}
}
