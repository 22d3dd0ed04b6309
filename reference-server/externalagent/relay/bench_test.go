package relay

import (
	"context"
	"testing"
)

// BenchmarkRoundTrip measures one request and its reply, over two sockets or with the host attached.
func BenchmarkRoundTrip(b *testing.B) {
	for way, join := range ways {
		b.Run(way, func(b *testing.B) {
			r := startServer(b, Options{})
			host, agent := join(r, "host", "s"), r.join("agent", "s")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					if _, err := host.Read(context.Background()); err != nil {
						return
					}
					_ = host.Write(context.Background(), []byte(hostReply("q", "x")))
				}
			}()
			for b.Loop() {
				agent.send(agentRequest("q"))
				agent.wantMessage(hostReply("q", "x"))
			}
			_ = host.Close()
			<-done
		})
	}
}

// BenchmarkRead measures the check of a large envelope.
func BenchmarkRead(b *testing.B) {
	frame := Frame{Data: []byte(sized(1 << 20))}
	b.SetBytes(1 << 20)
	for b.Loop() {
		if Read(frame).Fault != "" {
			b.Fatal("refused")
		}
	}
}
