package gate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/gate"
)

// BenchmarkSocket measures an echo through the gate, and without it.
func BenchmarkSocket(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(echoMessages))
	defer up.Close()
	for name, handle := range map[string]gate.Handler{"direct": nil, "gate": nil, "gate with a handler": pass} {
		b.Run(name, func(b *testing.B) {
			url := up.URL
			if name != "direct" {
				g, err := gate.New(gate.Options{Upstream: func() string { return up.URL }, Handle: handle})
				if err != nil {
					b.Fatal(err)
				}
				defer g.Close()
				url = g.URL()
			}
			c, _, err := websocket.Dial(b.Context(), url, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer c.CloseNow()
			for b.Loop() {
				if err := c.Write(b.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
					b.Fatal(err)
				}
				if _, _, err := c.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
