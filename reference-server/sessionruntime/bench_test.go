package sessionruntime

import (
	"context"
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkTurn measures a whole turn over a connection, from the input to the fence after its final.
func BenchmarkTurn(b *testing.B) {
	turns := func(b *testing.B, p *party) {
		p.setUp("s", nil)
		for b.Loop() {
			turn := strconv.Itoa(p.n)
			p.input("s", turn)
			p.message("s", "AGENT_OUTPUT", "", "a", "x", object{"turn_id": turn})
			p.wantMessages("USER_INPUT", "TURN_ACCEPTED", "AGENT_STARTED", "AGENT_OUTPUT")
		}
	}
	b.Run("ws", func(b *testing.B) {
		p, _ := startServer(b, Options{}).dial()
		turns(b, p)
	})
	b.Run("stdio", func(b *testing.B) {
		p, in, done := pipes(b, context.Background(), Options{})
		turns(b, p)
		_ = in.Close()
		<-done
	})
}

// BenchmarkHandle measures the bus without a connection: a chunk while many sessions have a pending timeout.
func BenchmarkHandle(b *testing.B) {
	for _, sessions := range []int{1, 1000} {
		b.Run(strconv.Itoa(sessions)+" sessions", func(b *testing.B) {
			o, err := Options{}.withDefaults()
			if err != nil {
				b.Fatal(err)
			}
			bus := newBus(o)
			for i := range sessions {
				bus.handleFrame(fmt.Appendf(nil, `{"parley":"setup","session_id":"%d","agents":["a"],"active_agent_id":"a"}`, i))
				for turn := range 2 {
					bus.handleFrame(fmt.Appendf(nil,
						`{"session_id":"%d","event":"USER_INPUT","sender":"frontend","target":"SYSTEM","metadata":{"turn_id":"t%d"}}`, i,
						turn))
				}
			}
			chunk := []byte(`{"session_id":"0","event":"AGENT_OUTPUT","sender":"a","target":"SYSTEM","payload":"some text",` +
				`"metadata":{"turn_id":"t0","stream":{"is_chunk":true,"seq":7}}}`)
			bus.handleFrame(chunk)
			b.ReportAllocs()
			for b.Loop() {
				if out := bus.handleFrame(chunk); len(out) != 1 {
					b.Fatalf("%s", out)
				}
			}
		})
	}
}
