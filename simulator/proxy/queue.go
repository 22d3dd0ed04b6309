package proxy

import (
	"sync"
	"time"

	"parley/transcript"
)

// maxQueued bounds the bytes of records that wait to be judged. Whoever passes more waits, so that traffic is slowed
// down rather than left unjudged.
const maxQueued = 32 << 20

// overhead is about how many bytes a record takes beside its payload.
const overhead = 256

// waiting is a record that is not on the tapes yet.
type waiting struct {
	r  transcript.Record
	n  int
	at time.Time
}

// queue holds records between those who pass messages on and the one who puts them on the tapes, so that decoding a
// message does not delay it. It is safe for concurrent use.
type queue struct {
	mu     sync.Mutex
	change sync.Cond // signalled when there is room, or a record
	all    []waiting
	bytes  int
	n      int // number of the latest record
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.change.L = &q.mu
	return q
}

// put adds a record and returns its number. After close nothing is added.
func (q *queue) put(r transcript.Record) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > maxQueued && !q.closed {
		q.change.Wait()
	}
	q.n++
	if q.closed {
		return q.n
	}
	q.bytes += len(r.Bytes) + overhead
	q.all = append(q.all, waiting{r, q.n, time.Now()})
	if len(q.all) == 1 {
		q.change.Broadcast()
	}
	return q.n
}

// take waits for records and returns all that are there; none after close.
func (q *queue) take() []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.all) == 0 && !q.closed {
		q.change.Wait()
	}
	all := q.all
	q.all, q.bytes = nil, 0
	q.change.Broadcast()
	return all
}

// close ends the queue. What is in it can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}
