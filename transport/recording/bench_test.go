package recording

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"parley/internal/cputime"
	"parley/transport/transcript"
)

// BenchmarkAdd writes records with payloads of a chat's size, large ones, and bytes that are not UTF-8.
func BenchmarkAdd(b *testing.B) {
	chat := `{"type":"message_delta","sessionId":"s-1","seq":1042,"delta":"Hello, world","done":false}`
	for _, bb := range []struct{ name, payload string }{
		{"message", chat},
		{"list", "[" + strings.Repeat(chat+",", 700) + "null]"},
		{"text", strings.Repeat("A line of text that somebody has written. ", 1500)},
		{"chinese", strings.Repeat("主代理", 7000)},
		{"binary", strings.Repeat("\xff\x00", 30_000)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			w, err := NewWriter(io.Discard, Header{}, nil)
			if err != nil {
				b.Fatal(err)
			}
			r := transcript.Record{N: 1, Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Label: "message_delta",
				Type: "text", Bytes: []byte(bb.payload)}
			var line bytes.Buffer
			one, _ := NewWriter(&line, Header{}, nil)
			line.Reset()
			if err := one.Add(r); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(line.Len()))
			b.ReportAllocs()
			used := cputime.Used()
			for b.Loop() {
				if err := w.Add(r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(cputime.MBps(b.N*line.Len(), used), "cpu-MB/s")
		})
	}
}
