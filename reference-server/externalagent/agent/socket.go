package agent

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
)

// Socket is what the agent needs of a connection; *websocket.Conn is one. Read is called by one goroutine, the rest by
// another. Read ends with its context, and with the connection.
type Socket interface {
	Read(ctx context.Context) (websocket.MessageType, []byte, error)
	Write(ctx context.Context, kind websocket.MessageType, data []byte) error
	Close(code websocket.StatusCode, reason string) error
	CloseNow() error
}

// Dialer opens a connection.
type Dialer func(ctx context.Context, url string) (Socket, error)

// DialWebSocket is the Dialer of a correct agent, with the frame limit of DefaultLimits.
func DialWebSocket(ctx context.Context, url string) (Socket, error) {
	return dialer(DefaultLimits.Frame)(ctx, url)
}

func dialer(frame int64) Dialer {
	return func(ctx context.Context, url string) (Socket, error) {
		// A refused handshake leaves no idle connection behind.
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
		ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			return nil, err
		}
		ws.SetReadLimit(frame)
		return ws, nil
	}
}
