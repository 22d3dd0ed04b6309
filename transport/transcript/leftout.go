package transcript

import (
	"errors"

	"parley/internal/cut"
)

// What a transcript keeps beyond its bounds: the records that the harness has sent or noted, up to MaxOwn, because the
// answers to a message are those behind its record; and, of the received ones, copies of the last MaxLast, for people.
// These are not judged.
const (
	MaxOwn      = 10_000
	MaxOwnBytes = 16 << 20
	MaxLast     = 20
	maxLastPart = 4 << 10 // of the payload of each
)

// leftOut counts the records that exceeded the bounds.
type leftOut struct {
	count    int
	others   bool // some would have been kept if the other transcripts held nothing
	own      int  // records kept nevertheless
	ownBytes int
	last     []Record // a ring once it is full
	next     int
}

// keeps reports whether a record that exceeds the bounds is kept all the same, and if not, leaves it out.
func (l *leftOut) keeps(r *Record) bool {
	if r.Dir != Received && l.own < MaxOwn && l.ownBytes+len(r.Bytes) <= MaxOwnBytes {
		l.own, l.ownBytes = l.own+1, l.ownBytes+min(len(r.Bytes), MaxPayload)
		return true
	}
	l.count++
	if r.Dir != Received {
		return false
	}
	copied := *r
	copied.Event = nil
	copied.Label, copied.Type = cut.Head(r.Label, MaxLabel), cut.Head(r.Type, MaxLabel)
	copied.Bytes = append([]byte(nil), cut.Bytes(r.Bytes, maxLastPart)...)
	copied.Cut += len(r.Bytes) - len(copied.Bytes)
	if len(l.last) < MaxLast {
		l.last = append(l.last, copied)
		return false
	}
	l.last[l.next] = copied
	l.next = (l.next + 1) % MaxLast
	return false
}

// enough is the number of records left out after which nobody waits for one any more.
const enough = 1000

// ErrFull ends a wait for a record that could not be kept if it came.
var ErrFull = errors.New("the transcript is full")

// leaves leaves a record out that takes n bytes, or reports that it is kept nevertheless. It wakes those who wait in
// vain from now on.
func (t *Transcript) leaves(r *Record, n int) (kept bool) {
	if kept = t.left.keeps(r); kept {
		return true
	}
	squeezed := !t.left.others && t.account != nil && !exceeds(len(t.records), t.bytes, r) &&
		t.account.bytes.Load()+int64(n) <= Together
	t.left.others = t.left.others || squeezed
	if t.left.count == enough || squeezed {
		t.tell()
	}
	return false
}

// Squeezed reports whether records are left out for what other transcripts hold, so that it is better to begin again
// once they are done than to wait for more.
func (t *Transcript) Squeezed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left.others
}

// hopeless reports whether a record is not likely to be kept. A transcript that keeps older records in a file is never
// full for long.
func (t *Transcript) hopeless() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spill == nil && (t.left.count >= enough || t.left.others)
}

// Last returns copies of the last received records that exceeded the bounds, the oldest first. Their number is 0.
func (t *Transcript) Last() []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.left
	return append(append([]Record(nil), l.last[l.next:]...), l.last[:l.next]...)
}
