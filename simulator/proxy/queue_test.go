package proxy

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/transport/transcript"
)

// waits returns a record with the given number of bytes.
func waits(n, size int) transcript.Record {
	return transcript.Record{Conn: "C1", Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Cut: n,
		Bytes: bytes.Repeat([]byte{byte(n)}, size)}
}

// bounds changes the bounds of queues for a test.
func bounds(t *testing.T, queued int, spooled int64) {
	was, before := maxQueued, maxSpooled
	t.Cleanup(func() { maxQueued, maxSpooled = was, before })
	maxQueued, maxSpooled = queued, spooled
}

// TestQueueKeepsAll: records beyond the limit of memory wait in a file, while others are taken. All come, once, in
// order, with their content and times.
func TestQueueKeepsAll(t *testing.T) {
	bounds(t, 64<<10, 1<<30)
	q := newQueue()
	const n, size = 20_000, 500
	began := time.Now()
	var work sync.WaitGroup
	defer work.Wait()
	half := make(chan struct{})
	work.Go(func() {
		for i := 1; i <= n; i++ {
			if got := q.putRecord(waits(i, size)); got != i {
				t.Errorf("record %d gets number %d", i, got)
			}
			if i == n/2 {
				close(half)
			}
		}
		q.closeQueue()
	})
	<-half // so that there is a backlog
	next, last := 1, began
	for all := q.takeOldest(); len(all) > 0; all = q.takeOldest() {
		if len(all) > atOnce {
			t.Fatalf("%d at once", len(all))
		}
		for _, w := range all {
			if w.n != next || w.r.Cut != next || w.r.Conn != "C1" || w.r.N != 0 || w.r.At != 0 ||
				!bytes.Equal(w.r.Bytes, waits(next, size).Bytes) {
				t.Fatalf("record %d is %d: %+.200v", next, w.n, w.r)
			}
			if w.at.Before(last.Add(-time.Millisecond)) || w.at.After(time.Now()) {
				t.Fatalf("record %d passed at %v, the one before it at %v", next, w.at, last)
			}
			next, last = next+1, w.at
		}
	}
	if next != n+1 {
		t.Errorf("%d records come, want %d", next-1, n)
	}
	if err := q.removeFile(); err != nil {
		t.Error(err)
	}
}

// TestQueueBounded: once memory and file are full, adding a record waits until there is room.
func TestQueueBounded(t *testing.T) {
	bounds(t, 10<<10, 4<<20)
	q := newQueue()
	const n, size = 1000, 20_000 // 20 MB
	var work sync.WaitGroup
	work.Go(func() {
		defer q.closeQueue()
		for i := 1; i <= n; i++ {
			q.putRecord(waits(i, size))
			q.mu.Lock()
			if total := int64(q.bytes) + q.spool.size + int64(len(q.spool.buf)); total > maxSpooled+2*spoolPart {
				t.Errorf("%d bytes wait", total)
			}
			q.mu.Unlock()
		}
	})
	got := 0
	for all := q.takeOldest(); len(all) > 0; all = q.takeOldest() {
		got += len(all)
	}
	work.Wait()
	if err := q.removeFile(); err != nil || got != n {
		t.Errorf("%d records, %v", got, err)
	}
}

// TestQueueWithoutFile: if no file can be made, adding a record waits, and nothing is lost.
func TestQueueWithoutFile(t *testing.T) {
	bounds(t, 10<<10, 1<<30)
	q := newQueue()
	q.spool.err = fmt.Errorf("no room on the disk")
	const n, size = 500, 20_000
	var work sync.WaitGroup
	work.Go(func() {
		defer q.closeQueue()
		for i := range n {
			q.putRecord(waits(i, size))
		}
	})
	got := 0
	for all := q.takeOldest(); len(all) > 0; all = q.takeOldest() {
		got += len(all)
	}
	work.Wait()
	if got != n {
		t.Errorf("%d records, want %d", got, n)
	}
}

// TestPace: the taker rests while many records arrive, but not when few arrive, when there is little room, or once the
// queue is closed.
func TestPace(t *testing.T) {
	q := newQueue()
	p := judgingPace{q: q}
	for _, c := range []struct {
		name       string
		came       int64 // bytes
		took, want time.Duration
		spooled    int64
		closed     bool
	}{
		{"few", 1000, 10 * time.Millisecond, 0, 0, false},
		{"a rush", 1 << 20, 10 * time.Millisecond, 40 * time.Millisecond, 0, false},
		{"much work", 10 << 20, time.Second, rest, 0, false},
		{"as before", 0, 10 * time.Millisecond, 0, 0, false},
		{"a rush with little room", 1 << 20, 10 * time.Millisecond, 0, maxSpooled, false},
		{"a rush at the end", 1 << 20, 10 * time.Millisecond, 0, 0, true},
	} {
		q.sum += c.came
		if q.spool.size = c.spooled; c.closed {
			q.closeQueue()
		}
		if got := p.restDue(c.took); got != c.want {
			t.Errorf("%s: it rests for %v, want %v", c.name, got, c.want)
		}
	}
}
