package sse

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/cputime"
)

// BenchmarkDecoder decodes events of a chat's size, one of a large line, and
// one of many lines, in chunks as from a socket.
func BenchmarkDecoder(b *testing.B) {
	streams := []struct{ name, event string }{
		{"small", "event: message_delta\nid: 1042\ndata: {\"sessionId\":\"s-1\",\"delta\":\"Hello, world\"}\n\n"},
		{"large", "data: " + strings.Repeat("x", 64<<10) + "\n\n"},
		{"lines", strings.Repeat("data: a line of text\r\n", 100) + "\r\n"},
		{"malformed", "data: " + strings.Repeat("text \xE4\xBC ", 100) + "\n\n"},
		{"comments", ": keep-alive\n\n"},
	}
	for _, s := range streams {
		count := max(1, (1<<20)/len(s.event))
		stream := []byte(strings.Repeat(s.event, count))
		for _, chunk := range []int{1 << 10, 32 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", s.name, chunk>>10), func(b *testing.B) {
				b.SetBytes(int64(len(stream)))
				b.ReportAllocs()
				used := cputime.Used()
				for b.Loop() {
					d := NewDecoder(Limits{})
					got := 0
					for rest := stream; len(rest) > 0; {
						n := min(chunk, len(rest))
						got += len(d.Feed(rest[:n]))
						rest = rest[n:]
					}
					if got != count {
						b.Fatalf("want %d items, got %d", count, got)
					}
				}
				b.ReportMetric(cputime.MBps(b.N*len(stream), used), "cpu-MB/s")
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	it := Item{Kind: Event, Type: "message_delta", Data: `{"delta":"Hello"}`, ID: "1042", HasID: true}
	b.ReportAllocs()
	var buf []byte
	used := cputime.Used()
	for b.Loop() {
		buf, _ = Append(buf[:0], it, LF)
	}
	b.ReportMetric(cputime.MBps(b.N*len(buf), used), "cpu-MB/s")
	b.SetBytes(int64(len(buf)))
}
