package ws_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"

	"parley/transport/driver"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// TestSubprotocolOfHeader: a header that a user gives offers subprotocols as the profile does, in place of its own.
func TestSubprotocolOfHeader(t *testing.T) {
	offered := make(chan []string, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offered <- wire.Offered(r.Header)
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat.v1"}})
		if err == nil {
			_ = c.CloseNow()
		}
	}))
	defer srv.Close()
	for _, d := range []*ws.Driver{ws.New(), ws.New("chat.v9")} {
		c, err := d.Open(t.Context(), driver.OpenOptions{URL: srv.URL, Party: "A",
			Header: http.Header{"Sec-Websocket-Protocol": {"chat.v0, chat.v1"}}},
			func(transcript.Record) int { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close(driver.Reset)
		if got := <-offered; len(got) != 2 || got[0] != "chat.v0" || got[1] != "chat.v1" {
			t.Errorf("offered %q", got)
		}
	}
}
