package proxy_test

import (
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/proxy"
	"parley/transport/transcript"
)

// TestRecordSaysWhoEnded: the last record of a connection names the client, the server or the proxy as the one who has
// ended it; an end by the client is sent.
func TestRecordSaysWhoEnded(t *testing.T) {
	for _, tt := range []struct {
		reason string
		end    func(c *websocket.Conn, p *proxy.Proxy)
		dir    transcript.Dir
		want   string
	}{
		{"a close of the client", func(c *websocket.Conn, _ *proxy.Proxy) { _ = c.Close(1000, "bye") }, transcript.Sent,
			`the client closed the connection: "bye"`},
		{"a client that is gone", func(c *websocket.Conn, _ *proxy.Proxy) { _ = c.CloseNow() }, transcript.Sent,
			"the client broke the connection off"},
		{"the end of the proxy", func(_ *websocket.Conn, p *proxy.Proxy) { _ = p.Close() }, transcript.Sent,
			"the proxy ended the connection"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			ended := make(chan transcript.Record, 10)
			o := options(t, "session-chat", bundle(t, "session-chat", "server", ""))
			o.Record = func(r transcript.Record, _ *transcript.Redactor) {
				if r.Kind == transcript.Closed {
					ended <- r
				}
			}
			s := openProxy(t, o, "")
			c := dial(t, s.URL()+socket)
			tt.end(c, s.Proxy)
			if r := <-ended; r.Dir != tt.dir || r.Label != tt.want {
				t.Errorf("%s %q, want %s %q", r.Dir, r.Label, tt.dir, tt.want)
			}
		})
	}
}
