//go:build unix

package stdio

import (
	"fmt"
	"strings"
	"testing"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// BenchmarkEcho measures the path of a message to a process and back into a transcript.
func BenchmarkEcho(b *testing.B) {
	for name, payload := range map[string]string{"small": `{"event":"USER_INPUT","payload":"Hello"}`,
		"16KiB": strings.Repeat("x", 16<<10)} {
		b.Run(name, func(b *testing.B) {
			heard := make(chan struct{}, 1)
			log := transcript.New(nil)
			c := opened(b, func(r transcript.Record) int {
				n := log.Append(r)
				if n == 0 {
					log = transcript.New(nil)
				}
				if r.Kind == transcript.Frame && r.Dir == transcript.Received {
					heard <- struct{}{}
				}
				return n
			})
			body := []byte(payload)
			b.SetBytes(int64(2 * len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Send(b.Context(), driver.Message{Body: body}); err != nil {
					b.Fatal(err)
				}
				<-heard
			}
		})
	}
}

// BenchmarkReceive measures the path of a line from a process's stdout into a transcript. One operation is one line.
func BenchmarkReceive(b *testing.B) {
	const per = 10_000
	heard, n := make(chan int, 1), 0
	log := transcript.New(nil)
	c := opened(b, func(r transcript.Record) int {
		if r.Dir == transcript.Sent || r.Kind != transcript.Frame {
			return 1
		}
		if log.Append(r) == 0 {
			log = transcript.New(nil)
		}
		if n++; n%per == 0 {
			heard <- n
		}
		return n
	})
	ask := driver.Message{Body: fmt.Appendf(nil, "count %d", per)}
	b.ReportAllocs()
	have, used := 0, 0
	for b.Loop() {
		if used++; used > have {
			if _, err := c.Send(b.Context(), ask); err != nil {
				b.Fatal(err)
			}
			have = <-heard
		}
	}
	b.ReportMetric(float64(used)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkReopen measures a connection to a pooled process, and BenchmarkStart one to a new process.
func BenchmarkReopen(b *testing.B) { reopen(b, driver.Graceful) }
func BenchmarkStart(b *testing.B)  { reopen(b, driver.Reset) }

func reopen(b *testing.B, how driver.CloseMode) {
	s, d := peers(b, "obeys"), newDriver(b)
	for b.Loop() {
		c, err := d.Open(b.Context(), driver.OpenOptions{Process: s}, func(transcript.Record) int { return 1 })
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close(how)
	}
}

func opened(b *testing.B, sink driver.Sink) driver.Conn {
	b.Helper()
	s := peers(b, "obeys")
	c, err := newDriver(b).Open(b.Context(), driver.OpenOptions{Process: s}, sink)
	if err != nil {
		b.Fatal(err)
	}
	return c
}
