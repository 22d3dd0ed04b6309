package transcript

import (
	"fmt"
	"testing"

	"parley/internal/cputime"
)

// BenchmarkAppendAwait measures an event's way through a transcript: a driver appends it, and a waiting step wakes up
// and finds it.
func BenchmarkAppendAwait(b *testing.B) {
	payload := []byte(`{"type":"agent_switched","data":{"currentAgentId":"debugger"}}`)
	for _, waiters := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("%d-waiting", waiters), func(b *testing.B) {
			b.ReportAllocs()
			tr, mark := New(nil), 0
			ready, seen := make(chan int), make(chan error)
			for range waiters {
				go func() {
					for mark := range ready {
						_, err := tr.Await(b.Context(), mark, func(r *Record) bool { return r.N > mark })
						seen <- err
					}
				}()
			}
			for b.Loop() {
				if tr.Len() == MaxRecords {
					tr, mark = New(nil), 0
				}
				for range waiters {
					ready <- mark
				}
				mark = tr.Append(Record{Conn: "A", Dir: Received, Kind: Stream, Bytes: payload})
				for range waiters {
					if err := <-seen; err != nil {
						b.Fatal(err)
					}
				}
			}
			close(ready)
		})
	}
}

// BenchmarkAppend measures a flood of events without a waiting step.
func BenchmarkAppend(b *testing.B) {
	payload := make([]byte, 512)
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	tr := New(nil)
	used := cputime.Used()
	for b.Loop() {
		if tr.Append(Record{Conn: "A", Dir: Received, Kind: Stream, Bytes: payload}) == 0 {
			tr = New(nil)
		}
	}
	b.ReportMetric(cputime.MBps(b.N*len(payload), used), "cpu-MB/s")
}

func BenchmarkRedactor(b *testing.B) {
	r := NewRedactor("0123456789abcdef", "another-secret", "and one more of them")
	line := Record{Conn: "A", Dir: Received, Kind: Stream, Bytes: make([]byte, 500)}.Line(240)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	used := cputime.Used()
	for b.Loop() {
		r.String(line)
	}
	b.ReportMetric(cputime.MBps(b.N*len(line), used), "cpu-MB/s")
}
