package ws

import (
	"io"
	"strings"
	"sync"
	"testing"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// BenchmarkMessages measures the path of a message from a server's socket past the tap into a transcript. One
// operation is one message.
func BenchmarkMessages(b *testing.B) {
	for name, payload := range map[string]string{"small": `{"type":"message","data":{"content":"Hello"}}`,
		"16KiB": strings.Repeat("x", 16<<10)} {
		b.Run(name, func(b *testing.B) {
			const per = 64
			burst := strings.Repeat(frame(0x81, payload), per)
			url := serve(b, func(s *socket) {
				for {
					if _, err := io.WriteString(s, burst); err != nil {
						return
					}
				}
			})
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			bursts := make(chan int, 1)
			log, n := transcript.New(nil), 0
			c, err := New().Open(b.Context(), driver.OpenOptions{Party: "A", URL: url}, func(r transcript.Record) int {
				if r.Kind != transcript.Frame {
					return 0
				}
				if log.Append(r) == 0 {
					log = transcript.New(nil)
				}
				if n++; n%per == 0 {
					bursts <- n
				}
				return n
			})
			if err != nil {
				b.Fatal(err)
			}
			have, used := 0, 0
			for b.Loop() {
				if used++; used > have {
					have = <-bursts
				}
			}
			b.ReportMetric(float64(used)/b.Elapsed().Seconds(), "messages/s")
			var rest sync.WaitGroup
			rest.Go(func() { // the pump may be waiting for us
				for range bursts {
				}
			})
			_ = c.Close(driver.Reset)
			close(bursts)
			rest.Wait()
		})
	}
}
