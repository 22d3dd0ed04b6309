package transcript

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Bounds of one scenario's transcript. A peer that sends more is recorded up to here, and the overflow is told.
const (
	MaxRecords = 50_000
	MaxBytes   = 64 << 20
	MaxPayload = 1 << 20 // of one record; the rest is counted in Record.Cut
)

// Transcript is append-only. All methods are safe for concurrent use.
type Transcript struct {
	start  time.Time
	decode func(*Record) // fills Record.Event; called once per record, before anyone sees it

	mu       sync.Mutex
	records  []Record
	bytes    int
	overflow int
	changed  chan struct{} // closed and replaced at each append
}

// New starts a transcript now. decode may be nil; it is called under the transcript's lock and must not call back.
func New(decode func(*Record)) *Transcript {
	return &Transcript{start: time.Now(), decode: decode, changed: make(chan struct{})}
}

// Append numbers, stamps and stores a record, and wakes who waits. It returns the record's number; 0 when the bounds
// of the transcript are exceeded and the record was only counted.
func (t *Transcript) Append(r Record) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.records) >= MaxRecords || t.bytes+min(len(r.Bytes), MaxPayload) > MaxBytes {
		t.overflow++
		return 0
	}
	r.N, r.At = len(t.records)+1, time.Since(t.start)
	if t.decode != nil {
		t.decode(&r)
	}
	if len(r.Bytes) > MaxPayload {
		r.Cut += len(r.Bytes) - MaxPayload
		r.Bytes = r.Bytes[:MaxPayload:MaxPayload]
	}
	t.bytes += len(r.Bytes)
	t.records = append(t.records, r)
	close(t.changed)
	t.changed = make(chan struct{})
	return r.N
}

// Remark records a note of the harness itself.
func (t *Transcript) Remark(conn, format string, args ...any) {
	t.Append(Record{Conn: conn, Dir: Noted, Kind: Remark, Label: fmt.Sprintf(format, args...)})
}

// Len is the number of the latest record.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.records)
}

// Overflow counts the records that exceeded the bounds and were not kept.
func (t *Transcript) Overflow() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.overflow
}

// After returns the records with a number above mark.
func (t *Transcript) After(mark int) []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mark >= len(t.records) {
		return nil
	}
	return t.records[max(mark, 0):len(t.records):len(t.records)]
}

// All returns every record so far.
func (t *Transcript) All() []Record { return t.After(0) }

// Await returns the first record above mark for which match holds, as soon as it is there. It never polls. When the
// context ends first it returns the context's error; match sees each record once, in order.
func (t *Transcript) Await(ctx context.Context, mark int, match func(*Record) bool) (Record, error) {
	next := max(mark, 0)
	for {
		t.mu.Lock()
		fresh, changed := t.records[min(next, len(t.records)):], t.changed
		t.mu.Unlock()
		for i := range fresh {
			if match(&fresh[i]) {
				return fresh[i], nil
			}
		}
		next += len(fresh)
		select {
		case <-changed:
		case <-ctx.Done():
			return Record{}, context.Cause(ctx)
		}
	}
}

// Excerpt renders the records around number n: before of them before it, after of them after it.
func (t *Transcript) Excerpt(n, before, after, width int) []string {
	var out []string
	for _, r := range t.All() {
		if r.N >= n-before && r.N <= n+after {
			mark := "  "
			if r.N == n {
				mark = "▸ "
			}
			out = append(out, mark+r.Line(width))
		}
	}
	return out
}
