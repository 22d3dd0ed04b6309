package replay

import (
	"maps"
	"slices"
	"sync"

	"parley/transport/recording"
	"parley/transport/transcript"
)

// Bounds of what has come and was not compared yet. The other side is not read while there is more.
const (
	maxWaiting      = 2000     // messages of a thread
	maxWaitingBytes = 64 << 20 // of all threads; each has room for one message more
)

// thread is a series of messages whose order counts: what comes on a stream or socket, or the answers to one request.
type thread struct {
	conn  string // as recorded
	reply int    // number of the request as it was sent now; 0: the stream or socket
	place string // of requests and openings that a client makes
}

// waiting is what has come and was not compared yet. It is safe for concurrent use.
type waiting struct {
	read func(transcript.Record) message
	dir  transcript.Dir

	mu      sync.Mutex
	n       int // records so far
	bytes   int
	queued  map[thread][]message
	left    map[string]bool // connections that end: nothing of them waits for room
	closed  bool
	changed chan struct{} // closed and replaced whenever something comes or goes
}

func newWaiting(dir transcript.Dir, read func(transcript.Record) message) *waiting {
	return &waiting{dir: dir, read: read, queued: map[thread][]message{}, left: map[string]bool{},
		changed: make(chan struct{})}
}

// number numbers a record.
func (w *waiting) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return w.n
}

// sink is a driver.Sink. It blocks while there is no room.
func (w *waiting) sink(r transcript.Record) int {
	r.N = w.number()
	if compared(r, w.dir) {
		w.put(thread{conn: r.Conn, reply: r.Reply}, r)
	}
	return r.N
}

// put adds what has come to a thread. It blocks while there is no room.
func (w *waiting) put(key thread, r transcript.Record) {
	m := w.read(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.room(key, len(r.Bytes)) {
		changed := w.changed
		w.mu.Unlock()
		<-changed
		w.mu.Lock()
	}
	if w.closed {
		return
	}
	w.bytes += len(r.Bytes)
	w.queued[key] = append(w.queued[key], m)
	w.tell()
}

// room reports whether there is room for a message. The caller holds w.mu.
func (w *waiting) room(key thread, size int) bool {
	n := len(w.queued[key])
	return n == 0 || w.closed || w.left[key.conn] || n < maxWaiting && w.bytes+size <= maxWaitingBytes
}

// tell wakes those who wait. The caller holds w.mu.
func (w *waiting) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// look returns what waits in a thread, and a channel that closes when more comes anywhere. The caller only reads it.
func (w *waiting) look(key thread) ([]message, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.queued[key]
	return all[:len(all):len(all)], w.changed
}

// take removes the first n messages of a thread.
func (w *waiting) take(key thread, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.queued[key][:n] {
		w.bytes -= len(m.Bytes)
	}
	if w.queued[key] = slices.Clone(w.queued[key][n:]); len(w.queued[key]) == 0 {
		delete(w.queued, key)
	}
	w.tell()
}

// takeOne removes a message of a thread.
func (w *waiting) takeOne(key thread, at int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes -= len(w.queued[key][at].Bytes)
	if w.queued[key] = slices.Delete(slices.Clone(w.queued[key]), at, at+1); len(w.queued[key]) == 0 {
		delete(w.queued, key)
	}
	w.tell()
}

// leave says that a connection ends, or begins anew: what comes on one that ends does not wait for room.
func (w *waiting) leave(conn string, ends bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ends {
		w.left[conn] = true
	} else {
		delete(w.left, conn)
	}
	w.tell()
}

// close ends all waiting for room.
func (w *waiting) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.tell()
}

// conns returns the connections of which something waits, sorted.
func (w *waiting) conns() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := map[string]bool{}
	for key := range w.queued {
		names[key.conn] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// places returns the threads of openings and requests of which something waits.
func (w *waiting) places() []thread {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []thread
	for key := range w.queued {
		if key.place != "" {
			out = append(out, key)
		}
	}
	return out
}

// drain removes and returns all that waits of a connection, in the order in which it came.
func (w *waiting) drain(conn string) []message {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []message
	for key, q := range w.queued {
		if key.conn == conn {
			all = append(all, q...)
			delete(w.queued, key)
		}
	}
	for _, m := range all {
		w.bytes -= len(m.Bytes)
	}
	slices.SortFunc(all, func(a, b message) int { return a.N - b.N })
	w.tell()
	return all
}

// compared reports whether a record of a recording.ClientView is one of the other side's that a replay compares. dir is
// that of the other side.
func compared(r transcript.Record, dir transcript.Dir) bool {
	if r.Late {
		return false
	}
	switch r.Kind {
	case transcript.Closed:
		return (r.Label == recording.ByClient) == (dir == transcript.Sent)
	case transcript.Open:
		return r.Dir == dir && (dir == transcript.Sent || !refusedLater(r))
	case transcript.Frame:
		return r.Dir == dir
	case transcript.Response, transcript.Stream:
		return r.Dir == dir && dir == transcript.Received
	case transcript.Request:
		return r.Dir == dir && dir == transcript.Sent
	case transcript.Failure:
		return r.Dir == dir && dir == transcript.Received && r.Reply != 0
	}
	return false
}

// played reports whether a record is one that a replay plays; dir is that of the other side.
func played(r transcript.Record, dir transcript.Dir) bool {
	switch r.Kind {
	case transcript.Closed:
		return !compared(r, dir)
	case transcript.Open, transcript.Frame, transcript.Request, transcript.Response, transcript.Stream:
		return r.Dir != dir && r.Dir != transcript.Noted
	case transcript.Failure:
		return dir == transcript.Sent && r.Dir == transcript.Received && r.Reply != 0
	}
	return false
}
