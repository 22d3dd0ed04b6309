package proxy

import (
	"sync"
	"time"

	"parley/transport/transcript"
)

// Bounds of the records that wait to be judged: those in memory, and those in a file beyond that. Once the file is full
// as well, the goroutines that pass on messages wait, so that traffic is slowed down rather than left unjudged. Tests
// change them.
var (
	maxQueued        = 16 << 20
	maxSpooled int64 = 2 << 30
)

// overhead is the approximate size of a record without its payload, in bytes.
const overhead = 256

// atOnce is the maximum number of records taken at once.
const atOnce = 1024

// waitingRecord is a record that is not on the tapes yet.
type waitingRecord struct {
	r  transcript.Record
	n  int // 0: it gets its number when it is taken
	at time.Time
}

// queue holds records between the goroutines that pass on messages and the one that adds them to the tapes, so that
// decoding a message does not delay it. It is safe for concurrent use.
type queue struct {
	mu     sync.Mutex
	change sync.Cond // signalled when there is room, or a record
	all    []waitingRecord
	bytes  int
	spool  spool // the records newer than those in all
	sum    int64 // bytes added so far
	taken  int64 // bytes taken last, which may not be on the tapes yet
	done   int64 // bytes that are on the tapes
	n      int   // number of the latest record
	closed bool
	ending chan struct{} // closed with it
}

func newQueue() *queue {
	q := &queue{ending: make(chan struct{})}
	q.change.L = &q.mu
	return q
}

// putRecord adds a record and returns its number. After close nothing is added.
func (q *queue) putRecord(r transcript.Record) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	n := q.n
	q.addRecord(waitingRecord{r, n, time.Now()})
	return n
}

// putLater adds a record that gets its number when it is taken.
func (q *queue) putLater(r transcript.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addRecord(waitingRecord{r, 0, time.Now()})
}

// nextNumber returns the number for another record.
func (q *queue) nextNumber() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	return q.n
}

// addRecord adds a record. The caller holds q.mu, which add may release meanwhile.
func (q *queue) addRecord(w waitingRecord) {
	size := len(w.r.Bytes) + overhead
	for !q.closed {
		if q.spool.isEmpty() && q.bytes <= maxQueued {
			q.sum += int64(size)
			q.bytes += size
			if q.all = append(q.all, w); len(q.all) == 1 {
				q.change.Broadcast()
			}
			return
		}
		if q.spool.addRecord(w) {
			q.sum += int64(size)
			return
		}
		q.change.Wait()
	}
}

// takeOldest waits for records and returns the oldest; none after close.
func (q *queue) takeOldest() []waitingRecord {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done, q.taken = q.done+q.taken, 0
	q.change.Broadcast()
	for len(q.all) == 0 && q.spool.isEmpty() && !q.closed {
		q.change.Wait()
	}
	for len(q.all) == 0 && !q.spool.isEmpty() {
		q.all = q.spool.takeOldest()
		for _, w := range q.all {
			q.bytes += len(w.r.Bytes) + overhead
		}
	}
	some := q.all[:min(len(q.all), atOnce)]
	if q.all = q.all[len(some):]; len(q.all) == 0 {
		q.all = nil
	}
	for _, w := range some {
		q.taken += int64(len(w.r.Bytes) + overhead)
	}
	q.bytes -= int(q.taken)
	q.change.Broadcast()
	return some
}

// awaitEmpty waits until all records added so far are on the tapes.
func (q *queue) awaitEmpty() {
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := func() bool { return q.taken == 0 && len(q.all) == 0 && q.spool.isEmpty() } // some may be lost
	for put := q.sum; q.done < put && !idle() && !q.closed; {
		q.change.Wait()
	}
}

// hasBacklog reports whether records arrive faster than they are taken.
func (q *queue) hasBacklog() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.closed && (!q.spool.isEmpty() || q.bytes > maxQueued/4)
}

// removeFile removes the file, and says why records were lost, if any were.
func (q *queue) removeFile() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spool.close()
	return q.spool.lost
}

// closeQueue ends the queue. The records in it can still be taken.
func (q *queue) closeQueue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ending)
	}
	q.change.Broadcast()
}

// Pace of taking while many messages arrive: the goroutines that pass them on need the processor.
const (
	rush  = 8 << 20 // bytes a second
	rests = 4       // times as long as it has worked
	rest  = 100 * time.Millisecond
)

// judgingPace makes the taker rest while many messages arrive, as long as there is room for them.
type judgingPace struct {
	q     *queue
	put   int64
	since time.Time
}

// restAfterWork is called after some work.
func (p *judgingPace) restAfterWork() {
	if d := p.restDue(time.Since(p.since)); d > 0 {
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-p.q.ending:
		}
		timer.Stop()
	}
	p.since = time.Now()
}

// restDue returns how long to rest after work of the given duration.
func (p *judgingPace) restDue(took time.Duration) time.Duration {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	came := p.q.sum - p.put
	p.put = p.q.sum
	if p.q.closed || p.q.spool.size > maxSpooled/2 || float64(came) < rush*took.Seconds() {
		return 0
	}
	return min(rests*took, rest)
}
