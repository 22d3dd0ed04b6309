package sse

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// BenchmarkStream measures the path of an event from a server's socket into a transcript. One operation is one event.
func BenchmarkStream(b *testing.B) {
	events := map[string]string{
		"small": "data: {\"type\":\"message\",\"data\":{\"content\":\"Hello\"}}\n\n",
		"16KiB": "data: " + strings.Repeat("x", 16<<10) + "\n\n",
	}
	for name, event := range events {
		b.Run(name, func(b *testing.B) {
			burst := strings.Repeat(event, max(1, (64<<10)/len(event)))
			per := strings.Count(burst, "\n\n")
			url := serve(b, func(w http.ResponseWriter, _ *http.Request) {
				for {
					if _, err := io.WriteString(w, burst); err != nil {
						return
					}
				}
			})
			d := New()
			defer d.Close()
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			bursts := make(chan int, 1)
			log, n := transcript.New(nil), 0
			sink := func(r transcript.Record) int {
				if r.Kind != transcript.Stream {
					return 0
				}
				if log.Append(r) == 0 {
					log = transcript.New(nil)
				}
				if n++; n%per == 0 {
					bursts <- n
				}
				return n
			}
			c, err := d.Open(b.Context(), driver.OpenOptions{Party: "A", URL: url}, sink)
			if err != nil {
				b.Fatal(err)
			}
			have, used := 0, 0
			for b.Loop() {
				if used++; used > have {
					have = <-bursts
				}
			}
			b.ReportMetric(float64(used)/b.Elapsed().Seconds(), "events/s")
			go func() { // the pump may be waiting for us
				for range bursts {
				}
			}()
			_ = c.Close(driver.Reset)
			close(bursts)
		})
	}
}

// BenchmarkOpen measures a connection from its request to the record of its end.
func BenchmarkOpen(b *testing.B) {
	url := serve(b, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: a\n\n") })
	d := New()
	defer d.Close()
	for b.Loop() {
		c, err := d.Open(b.Context(), driver.OpenOptions{Party: "A", URL: url}, transcript.New(nil).Append)
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close(driver.Reset)
	}
}
