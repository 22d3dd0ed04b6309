package sessionruntime

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// conn is the bus of one WebSocket.
type conn struct {
	ws  *websocket.Conn
	l   Limits
	out *queue
	end context.CancelFunc
}

// serveWebSocket is one connection, from the handshake to its end.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
	defer end()
	c := &conn{l: s.o.Limits, out: newQueue(s.o.Limits.Outgoing), end: end}
	if err := s.connect(c); err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.disconnect(c)
	// ServeHTTP has judged the Origin already.
	raw := &hijacked{ResponseWriter: w}
	ws, err := websocket.Accept(raw, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	defer context.AfterFunc(ctx, func() { _ = raw.conn.Close() })()
	ws.SetReadLimit(c.l.Message)
	c.ws = ws
	if err := serve(ctx, s.o, c, c.out); err != nil {
		s.o.Logger.Debug("connection ended", "err", err)
	}
}

// hijacked remembers the socket below a WebSocket: nothing else ends a closing handshake that the client does not answer.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	h.conn, rw, err = http.NewResponseController(h.ResponseWriter).Hijack()
	return h.conn, rw, err
}

// read implements wire. A frame that is no text, or no UTF-8, ends the connection: what follows is not looked at.
func (c *conn) read(ctx context.Context) ([]byte, error) {
	for {
		kind, data, err := c.ws.Read(ctx)
		switch {
		case err != nil:
			return nil, err
		case c.out.finishing(): // only the client's half of the closing handshake is waited for
		case kind != websocket.MessageText:
			c.out.finish(farewell{websocket.StatusUnsupportedData, "text frames only"})
		case !utf8.Valid(data):
			c.out.finish(farewell{websocket.StatusInvalidFramePayloadData, "text must be UTF-8"})
		default:
			return data, nil
		}
	}
}

// write implements wire.
func (c *conn) write(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.l.Write)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, data)
}

// bye implements wire. It waits for the client's half of the handshake for as long as Limits.Close says.
func (c *conn) bye(f farewell) {
	defer time.AfterFunc(c.l.Close, c.end).Stop()
	_ = c.ws.Close(f.code, f.reason)
}
