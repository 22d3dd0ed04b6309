package ws

import (
	"strings"
	"testing"

	"parley/internal/cputime"
)

// BenchmarkParser parses messages of a chat's size, large ones, and pings, in chunks as from a socket.
func BenchmarkParser(b *testing.B) {
	streams := []struct{ name, frame string }{
		{"small", frame(text1, `{"type":"message","data":{"content":"Hello, world"}}`, 0)},
		{"large", frame(text1, strings.Repeat("x", 64<<10), 0)},
		{"chinese", frame(text1, strings.Repeat("主代理", 1<<10), 0)},
		{"masked", frame(text1, strings.Repeat("x", 1<<10), key)},
		{"ping", frame(ping1, "", 0)},
	}
	for _, s := range streams {
		stream := []byte(strings.Repeat(s.frame, max(1, (1<<20)/len(s.frame))))
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			used := cputime.Used()
			for b.Loop() {
				p := NewParser(s.name != "masked", Limits{})
				for rest := stream; len(rest) > 0; {
					n := min(4<<10, len(rest))
					for _, it := range p.Feed(rest[:n]) {
						if it.Fault != "" {
							b.Fatal(it.Fault)
						}
					}
					rest = rest[n:]
				}
			}
			b.ReportMetric(cputime.MBps(b.N*len(stream), used), "cpu-MB/s")
		})
	}
}
