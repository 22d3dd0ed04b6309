package replay

import (
	"slices"
	"sync"

	"parley/transcript"
)

// Bounds of what has come and was not compared yet. What comes beyond them is lost, and said to be.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 64 << 20
)

// thread is a series of records whose order counts: what comes on a stream or socket, or the answers to one request.
type thread struct {
	conn  string
	reply int // number of the request as it was sent now; 0: the stream or socket
}

// waiting is what has come and was not compared yet. It is safe for concurrent use.
type waiting struct {
	mu      sync.Mutex
	n       int // records so far
	bytes   int
	lost    int
	queued  map[thread][]transcript.Record
	changed chan struct{} // closed and replaced whenever something comes
}

func newWaiting() *waiting {
	return &waiting{queued: map[thread][]transcript.Record{}, changed: make(chan struct{})}
}

// sink is a driver.Sink.
func (w *waiting) sink(r transcript.Record) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	r.N = w.n
	if !compared(r, transcript.Received) {
		return r.N
	}
	if w.bytes+len(r.Bytes) > maxWaitingBytes || w.length() >= maxWaiting {
		w.lost++
		return r.N
	}
	key := thread{r.Conn, r.Reply}
	w.bytes += len(r.Bytes)
	w.queued[key] = append(w.queued[key], r)
	close(w.changed)
	w.changed = make(chan struct{})
	return r.N
}

func (w *waiting) length() int {
	n := 0
	for _, q := range w.queued {
		n += len(q)
	}
	return n
}

// look returns what waits in a thread, and a channel that closes when more comes anywhere.
func (w *waiting) look(key thread) ([]transcript.Record, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.queued[key]), w.changed
}

// take removes the first n records of a thread.
func (w *waiting) take(key thread, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.queued[key][:n] {
		w.bytes -= len(r.Bytes)
	}
	if w.queued[key] = w.queued[key][n:]; len(w.queued[key]) == 0 {
		delete(w.queued, key)
	}
}

// rest returns all that still waits, in the order in which it came, and how many records were lost.
func (w *waiting) rest() ([]transcript.Record, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []transcript.Record
	for _, q := range w.queued {
		all = append(all, q...)
	}
	slices.SortFunc(all, func(a, b transcript.Record) int { return a.N - b.N })
	return all, w.lost
}

// byUs are the ends that the side which wrote a recording has brought about.
const byUs = "closed by the harness"

// compared reports whether a record is one of the other side's that a replay compares. dir is that of the other side.
func compared(r transcript.Record, dir transcript.Dir) bool {
	if r.Dir != dir || r.Late {
		return false
	}
	switch r.Kind {
	case transcript.Open, transcript.Response, transcript.Stream, transcript.Frame:
		return true
	case transcript.Failure:
		return r.Reply != 0
	case transcript.Closed:
		return r.Label != byUs
	default:
		return false
	}
}
