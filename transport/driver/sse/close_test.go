package sse

import (
	"net/http"
	"sync/atomic"
	"testing"

	"parley/transport/driver"
)

// TestCloseAlone: Close of a target's only client waits until the target has noticed. A target that never notices is
// left anyway, after a single wait.
func TestCloseAlone(t *testing.T) {
	var open atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		streams("data: 1\n\n")(w, r)
		open.Add(-1)
	})
	for range 20 {
		p := connect(t, url, driver.OpenOptions{Alone: true})
		if err := p.conn.Close(driver.Graceful); err != nil {
			t.Fatal(err)
		}
		if n := open.Load(); n != 0 {
			t.Fatalf("%d streams are open at the target behind the end of Close", n)
		}
	}

	deaf := make(chan struct{})
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-deaf
	})
	t.Cleanup(func() { close(deaf) })
	p := connect(t, url, driver.OpenOptions{Alone: true})
	for range 2 {
		if err := p.conn.Close(driver.Reset); err != nil {
			t.Fatal(err)
		}
	}
	if !p.conn.(*conn).d.deaf.Load() {
		t.Error("the target is not known not to notice")
	}
}
