package llm

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of the record of a Brain. If one is exceeded, the oldest requests are dropped.
const (
	MaxRequests = 20_000    // requests, and released nonces
	MaxText     = 64 << 10  // bytes of one text; a longer one is cut, and ends in a note about the cut
	MaxBytes    = 256 << 20 // estimated bytes of the whole record
)

// journal records requests, within bounds; none, if it may have none. A record never changes once it is added, so it is
// read without the lock.
type journal struct {
	maxRequests int
	maxBytes    int

	mu      sync.Mutex
	seq     int
	bytes   int
	all     list.List            // of *record, oldest first
	byNonce map[string][]*record // oldest first
	changed chan struct{}        // closed by the next record; nil while there are no waiters
}

type record struct {
	request Request
	weight  int

	// Under the lock of the journal.
	nonces []string
	place  *list.Element
}

func newJournal(maxRequests, maxBytes int) *journal {
	return &journal{maxRequests: maxRequests, maxBytes: maxBytes, byNonce: map[string][]*record{}}
}

// addRequest records a request under the nonces of its last user text.
func (j *journal) addRequest(r Request, nonces []string) {
	if j.maxRequests == 0 {
		return
	}
	r = clipRequest(r)
	e := &record{request: r, weight: requestSize(r, nonces), nonces: nonces}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.request.Seq, e.request.At = j.seq, time.Now()
	e.place = j.all.PushBack(e)
	j.bytes += e.weight
	for _, n := range nonces {
		j.byNonce[n] = append(j.byNonce[n], e)
	}
	for j.all.Len() > j.maxRequests || j.bytes > j.maxBytes && j.all.Len() > 1 {
		j.dropRecord(j.all.Front().Value.(*record))
	}
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// dropRecord removes a record. The caller holds the lock.
func (j *journal) dropRecord(e *record) {
	j.all.Remove(e.place)
	j.bytes -= e.weight
	for _, n := range e.nonces {
		if rest := withoutRecord(j.byNonce[n], e); len(rest) > 0 {
			j.byNonce[n] = rest
		} else {
			delete(j.byNonce, n)
		}
	}
}

// withoutRecord removes a record from a list. Removing the first one, as happens when the journal is full, moves no
// others.
func withoutRecord(list []*record, e *record) []*record {
	i := slices.Index(list, e)
	if i == 0 {
		list[0] = nil
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

// forgetNonce drops the requests of a nonce, except those that also carry another one.
func (j *journal) forgetNonce(nonce string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := j.byNonce[nonce]
	delete(j.byNonce, nonce)
	for _, e := range all {
		e.nonces = slices.DeleteFunc(e.nonces, func(n string) bool { return n == nonce })
		if len(e.nonces) == 0 {
			j.dropRecord(e)
		}
	}
}

// requestsOf returns the requests of a nonce, and a channel that closes when the next request of any nonce is recorded.
func (j *journal) requestsOf(nonce string) ([]*record, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.byNonce[nonce]), j.nextRecord()
}

// requestsSince returns the requests after a sequence number, oldest first, and a channel that closes when the next is
// recorded.
func (j *journal) requestsSince(seq int) ([]*record, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []*record
	for p := j.all.Back(); p != nil && p.Value.(*record).request.Seq > seq; p = p.Prev() {
		found = append(found, p.Value.(*record))
	}
	slices.Reverse(found)
	return found, j.nextRecord()
}

// nextRecord returns the channel that the next record closes. The caller holds the lock.
func (j *journal) nextRecord() <-chan struct{} {
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.changed
}

// awaitRequests returns the requests of a nonce as soon as there are n.
func (j *journal) awaitRequests(ctx context.Context, nonce string, n int) ([]Request, error) {
	for {
		found, changed := j.requestsOf(nonce)
		if len(found) >= n {
			return requestsIn(found), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return requestsIn(found), fmt.Errorf("await %d requests of %q, have %d: %w", n, nonce, len(found), ctx.Err())
		}
	}
}

// awaitMatch returns the requests that match as soon as there are n. It examines each request once.
func (j *journal) awaitMatch(ctx context.Context, n int, match func(Request) bool) ([]Request, error) {
	var matching []*record
	seen := 0
	for {
		found, changed := j.requestsSince(seen)
		if len(found) > 0 {
			seen = found[len(found)-1].request.Seq
		}
		matching = append(matching, filter(found, match)...)
		if len(matching) >= n {
			return requestsIn(matching), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return requestsIn(matching), fmt.Errorf("await %d matching requests, have %d: %w", n, len(matching), ctx.Err())
		}
	}
}

func filter(records []*record, match func(Request) bool) []*record {
	return slices.DeleteFunc(records, func(e *record) bool { return !match(e.request) })
}

func requestsIn(records []*record) []Request {
	var found []Request
	for _, e := range records {
		found = append(found, copyRequest(e.request))
	}
	return found
}
