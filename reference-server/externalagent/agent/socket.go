package agent

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Socket is the agent's interface to a connection. Read is called by one goroutine, the other methods by another.
// Read ends with its context and with the connection.
type Socket interface {
	Read(ctx context.Context) (websocket.MessageType, []byte, error)
	Write(ctx context.Context, kind websocket.MessageType, data []byte) error
	Close(code websocket.StatusCode, reason string) error // with a closing handshake
	CloseNow() error
}

// Dialer opens a connection.
type Dialer func(ctx context.Context, url string) (Socket, error)

// DialWebSocket is the default Dialer, with DefaultLimits.
func DialWebSocket(ctx context.Context, url string) (Socket, error) {
	return dialer(DefaultLimits)(ctx, url)
}

func dialer(l Limits) Dialer {
	return func(ctx context.Context, url string) (Socket, error) {
		s := &webSocket{wait: l.Close}
		// A refused handshake leaves no idle connection behind.
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DialContext: s.dial}
		ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			return nil, err
		}
		ws.SetReadLimit(l.Frame)
		s.Conn = ws
		return s, nil
	}
}

// webSocket is a WebSocket with a time limit on its closing handshake.
type webSocket struct {
	*websocket.Conn
	wait time.Duration
	wire atomic.Pointer[net.Conn]
}

func (s *webSocket) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	wire, err := d.DialContext(ctx, network, address)
	if err == nil {
		s.wire.Store(&wire)
	}
	return wire, err
}

// Close waits at most the limit for a peer that keeps sending or does not read. The library's own limit is not
// configurable, and no context ends its wait.
func (s *webSocket) Close(code websocket.StatusCode, reason string) error {
	defer time.AfterFunc(s.wait, func() { _ = (*s.wire.Load()).Close() }).Stop()
	return s.Conn.Close(code, reason)
}
