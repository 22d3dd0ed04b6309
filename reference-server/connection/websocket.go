package connection

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// WebSocket configures how to serve a WebSocket.
type WebSocket struct {
	Message int64         // maximum bytes of a message; a larger one closes the connection with 1009
	Write   time.Duration // maximum time of one write; a slower one ends the connection
	Close   time.Duration // maximum wait for the client's half of a closing handshake
	Ping    time.Duration // idle time before a ping; 0: no pings

	// Receive handles the client's messages in order.
	Receive func(kind websocket.MessageType, data []byte)
}

// offeredSubprotocols returns the subprotocols that a handshake offers, in order of preference.
func offeredSubprotocols(h http.Header) []string {
	names := strings.Split(strings.Join(h.Values("Sec-WebSocket-Protocol"), ","), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Serve accepts the WebSocket of a request whose Origin has been checked, writes the queued frames to it, and passes
// on incoming messages until the connection ends. It ends the outbox.
func (b *Outbox) Serve(w http.ResponseWriter, r *http.Request, o WebSocket) {
	defer b.End(ErrEnded)
	raw := &hijacked{ResponseWriter: w}
	ws, err := websocket.Accept(raw, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		Subprotocols: offeredSubprotocols(r.Header)}) // a browser gives up if none of those it offers is selected
	if err != nil {
		return
	}
	defer ws.CloseNow()
	defer context.AfterFunc(b.ctx, func() { _ = raw.conn.Close() })()
	ws.SetReadLimit(-1) // take reads no more than o.Message

	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		defer b.End(ErrEnded) // ends the reading
		b.writeUntilEnd(ws, o)
	}()
	tooLong := false
	for {
		kind, data, err := b.readMessage(ws, o.Message)
		if err != nil {
			break
		}
		tooLong = tooLong || int64(len(data)) > o.Message
		if !tooLong { // nothing behind such a message is taken either
			o.Receive(kind, data)
		}
	}
	b.End(ErrEnded)
	<-pumped
}

// readMessage returns a message, or the beginning of one that is longer than limit. That one ends the connection; the
// rest of it is read until then, so that the client reads why instead of a reset.
func (b *Outbox) readMessage(ws *websocket.Conn, limit int64) (websocket.MessageType, []byte, error) {
	kind, from, err := ws.Reader(b.ctx)
	if err != nil {
		return 0, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(data)) > limit {
		b.Finish(websocket.CloseError{Code: websocket.StatusMessageTooBig,
			Reason: fmt.Sprintf("send at most %d bytes in a message", limit)})
		_, err = io.Copy(io.Discard, from)
	}
	return kind, data, err
}

// writeUntilEnd writes until the connection ends, then closes the WebSocket.
func (b *Outbox) writeUntilEnd(ws *websocket.Conn, o WebSocket) {
	within := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(b.ctx, o.Write)
		defer cancel()
		return do(ctx)
	}
	wire := Wire{Quiet: o.Ping, Write: func(_ context.Context, frame []byte) error {
		return within(func(ctx context.Context) error { return ws.Write(ctx, websocket.MessageText, frame) })
	}}
	if o.Ping > 0 {
		wire.Beat = func(context.Context) error { return within(ws.Ping) }
	}
	err := b.Pump(wire)
	if bye, ok := errors.AsType[websocket.CloseError](err); ok {
		// Only the end of the connection stops the wait for the client's half of the handshake.
		defer time.AfterFunc(o.Close, func() { b.End(ErrEnded) }).Stop()
		_ = ws.Close(bye.Code, bye.Reason)
	}
}

// hijacked remembers the socket below a WebSocket, because only closing that ends a closing handshake which the
// client does not answer.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	h.conn, rw, err = http.NewResponseController(h.ResponseWriter).Hijack()
	return h.conn, rw, err
}

// TextOnly reports whether to handle a message. One that is not text, or not UTF-8, ends the connection; after a
// farewell all are ignored.
func (b *Outbox) TextOnly(kind websocket.MessageType, data []byte) bool {
	switch {
	case b.Over():
		return false
	case kind != websocket.MessageText:
		b.Finish(websocket.CloseError{Code: websocket.StatusUnsupportedData, Reason: "text frames only"})
		return false
	case !utf8.Valid(data):
		b.Finish(websocket.CloseError{Code: websocket.StatusInvalidFramePayloadData, Reason: "text must be UTF-8"})
		return false
	}
	return true
}
