package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/simulator/console"
)

// lateServer is a server that answers each message with what the test says, and when.
func lateServer(t *testing.T) (url string, answer chan string) {
	t.Helper()
	answer = make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			if _, _, err := c.Read(r.Context()); err != nil {
				return
			}
			select {
			case text := <-answer:
				_ = c.Write(r.Context(), websocket.MessageText, []byte(text))
			case <-t.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, answer
}

// TestProxyOwed: the API of a proxy's page says what the server owes until it comes, and because of which message of
// the page.
func TestProxyOwed(t *testing.T) {
	url, answer := lateServer(t)
	p := startProxy(t, "--protocol", "session-chat", "--target", url, "--out", t.TempDir(), "--console", "127.0.0.1:0")
	at, session := p.url(), p.url()+"/api/v1/sessions/1"
	client := quickClient(t)
	c, _, err := websocket.Dial(t.Context(), at+"/chat/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	untilOwed := func(count int) (got console.OwedList) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if asks(t, client, "GET", session+"/owed", "", nil, &got); got.Count == count {
				return got
			}
			if time.Now().After(end) {
				t.Fatalf("%d are never owed: %+v", count, got)
			}
		}
	}
	owed := untilOwed(1).Owed[0]
	var records []console.Record
	asks(t, client, "GET", session+"/records", "", nil, &records)
	if owed.By != "server" || owed.Record == 0 || records[owed.Record-1].Type != "ping" {
		t.Errorf("owed is %+v", owed)
	}
	answer <- `{"message_type":"pong","agent_id":null,"session_id":null,"message":{},"timestamp":"2026-01-01T00:00:00Z"}`
	untilOwed(0)
	p.stop()
	p.awaitEnd()
}
