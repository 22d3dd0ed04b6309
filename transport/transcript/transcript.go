package transcript

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/cut"
	"parley/internal/recent"
)

// Bounds of one scenario's transcript; see also Together. Of the records beyond them MaxOwn and MaxLast are kept, the
// others only counted, and the overflow is reported.
const (
	MaxRecords = 50_000
	MaxBytes   = 20 << 20
	MaxPayload = 1 << 20 // of one record; Record.Cut counts the rest
	MaxLabel   = 4 << 10 // of a label or a type, which the peer may choose; the rest is dropped

	// MaxFlood is the number of received records of Kind Comment with one label on a connection, such as pings, that are
	// kept. Beyond it, one is kept in each FloodGap, and the others are only counted.
	MaxFlood = 1000
	FloodGap = 50 * time.Millisecond
)

// Transcript is append-only. All methods are safe for concurrent use.
type Transcript struct {
	start  time.Time
	decode func(*Record) // fills Record.Event; called once per record, before the record is visible

	mu      sync.Mutex
	base    int // records before the first of records: in spill, or lost with it
	records []Record
	bytes   int    // of records
	spill   *spill // nil: the transcript is bounded, and all in memory
	left    leftOut
	account *account // nil: its memory is bounded by spill
	sharing sharing  // if there is an account
	floods  recent.Map[source, *flood]
	flooded int
	changed chan struct{} // the next append closes it; nil while nobody waits
}

// maxSources is how many sources of comments are known at least: more than are open at once. To a proxy each answer
// that is an event stream may be one.
const maxSources = 1024

// source identifies the origin of records of Kind Comment.
type source struct{ conn, kind string }

// flood counts the records of a source.
type flood struct {
	kept int
	last time.Duration // when the latest one was kept
}

// New starts a transcript at the current time. decode may be nil; it runs under the transcript's lock and must not
// call back.
func New(decode func(*Record)) *Transcript {
	t := newTranscript(decode)
	t.openAccount()
	return t
}

func newTranscript(decode func(*Record)) *Transcript {
	return &Transcript{start: time.Now(), decode: decode, floods: recent.Map[source, *flood]{Most: maxSources}}
}

// NewAt is New for records that were made before: their times count from began.
func NewAt(began time.Time, decode func(*Record)) *Transcript {
	t := New(decode)
	t.start = began
	return t
}

// Began returns the time from which the records' times count.
func (t *Transcript) Began() time.Time { return t.start }

// Append numbers, timestamps and stores a record, and wakes waiters. It returns the record's number; 0 if the record
// was only counted, because it exceeds the bounds of the transcript or belongs to a flood of comments.
func (t *Transcript) Append(r Record) int { return t.AppendAt(r, time.Time{}) }

// AppendAt is Append with a given time; the zero time is now. Times must not decrease.
func (t *Transcript) AppendAt(r Record, when time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if when.IsZero() {
		when = time.Now()
	}
	at := max(when.Sub(t.start), 0)
	if t.isFlood(&r, at) {
		t.flooded++
		return 0
	}
	if t.exceedsBounds(&r) {
		r.At = at
		if !t.leaveOut(&r, r.guessMemory(t.decode != nil)) {
			return 0
		}
	}
	r.N, r.At = t.base+len(t.records)+1, at
	if cap(r.Bytes) > 2*len(r.Bytes) { // readers have buffers, which would be kept with each of many short payloads
		r.Bytes = bytes.Clone(r.Bytes)
	}
	expected := 0
	if t.account != nil { // so that other transcripts do not decode as much meanwhile
		expected = r.guessMemory(t.decode != nil)
		t.account.addBytes(expected)
	}
	if t.decode != nil {
		decoded := r // so that r itself stays on the stack
		t.decode(&decoded)
		r = decoded
	}
	if r.Late { // it keeps its label, but is not judged
		r.Event = nil
	}
	decoded := t.sizeOf(r.Event)
	weight := r.cutToBounds(decoded)
	if t.spill != nil {
		weight = r.boundedSize(decoded)
	} else if more := r.memorySize(decoded) - expected; r.Dir == Received && t.account.exceeds(more) { // decoded
		t.account.addBytes(-expected)
		t.sharing.dropLatest()
		t.leaveOut(&r, r.memorySize(decoded))
		return 0
	} else {
		t.account.addBytes(more)
		t.sharing.keepLatest()
	}
	t.bytes += weight
	if n := len(t.records); n == cap(t.records) { // append would copy a long transcript four times
		t.records = slices.Grow(t.records, max(n/2, 4))
	}
	t.records = append(t.records, r)
	if t.spill != nil {
		t.spillOldest()
	}
	t.wakeWaiters()
	return r.N
}

// sizeOf returns the memory of an event's values, without what they share with those of earlier records.
func (t *Transcript) sizeOf(e *Event) int {
	if e == nil || t.account == nil {
		return e.memorySize()
	}
	return t.sharing.shareEvent(e)
}

// wakeWaiters wakes waiters.
func (t *Transcript) wakeWaiters() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// nextAppend returns the channel that the next append closes.
func (t *Transcript) nextAppend() <-chan struct{} {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// isFlood reports whether a record belongs to a flood of comments.
func (t *Transcript) isFlood(r *Record, at time.Duration) bool {
	if r.Kind != Comment || r.Dir != Received {
		return false
	}
	kind, _, _ := strings.Cut(r.Label, " ") // the rest may come from the peer
	of := source{r.Conn, cut.Head(kind, MaxLabel)}
	f, _ := t.floods.Get(of)
	switch {
	case f == nil:
		t.floods.Set(of, &flood{1, at})
		return false
	case f.kept >= MaxFlood && at < f.last+FloodGap:
		return true
	}
	f.kept, f.last = f.kept+1, at
	return false
}

// Flooded returns the number of comments that were only counted because there were too many; see MaxFlood.
func (t *Transcript) Flooded() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flooded
}

// exceedsBounds reports whether a record exceeds the bounds.
func (t *Transcript) exceedsBounds(r *Record) bool {
	if t.spill != nil {
		return t.spill.isFull()
	}
	return exceedsUnkept(len(t.records), t.bytes, r) || t.account.exceeds(r.guessMemory(t.decode != nil))
}

// exceedsUnkept reports whether a record exceeds the bounds of a transcript without Keep.
func exceedsUnkept(records, bytes int, r *Record) bool {
	return records >= MaxRecords || bytes+min(len(r.Bytes), MaxPayload) > MaxBytes
}

// cutToBounds cuts a record to the part that is kept, and returns its size. An event refers to its whole payload; the
// size of its values is decoded.
func (r *Record) cutToBounds(decoded int) int {
	weight := len(r.Bytes) + r.countDecoded(decoded)
	if len(r.Bytes) > MaxPayload {
		kept := bytes.Clone(cut.Bytes(r.Bytes, MaxPayload)) // frees the whole payload
		r.Cut += len(r.Bytes) - len(kept)
		r.Bytes = kept
		if r.Event == nil {
			weight = len(kept)
		}
	}
	r.Label, r.Type, r.Headers = cut.Head(r.Label, MaxLabel), cut.Head(r.Type, MaxLabel), cut.Head(r.Headers, MaxLabel)
	return weight + len(r.Label) + len(r.Type) + len(r.Headers)
}

// boundedSize is the size of an already bounded record, as bound computes it.
func (r *Record) boundedSize(decoded int) int {
	weight := len(r.Bytes) + len(r.Label) + len(r.Type) + len(r.Headers) + r.countDecoded(decoded)
	if r.Event != nil {
		weight += r.Cut
	}
	return weight
}

// countDecoded returns the size of the values of a long payload's event: many times the payload's bytes, if the values
// are small. For short payloads the limit on the number of records suffices.
func (r *Record) countDecoded(decoded int) int {
	if r.Event == nil || len(r.Bytes)+r.Cut < 1<<10 {
		return 0
	}
	return decoded
}

// Remark records a note of the harness.
func (t *Transcript) Remark(conn, format string, args ...any) {
	t.Append(Record{Conn: conn, Dir: Noted, Kind: Remark, Label: fmt.Sprintf(format, args...)})
}

// Len returns the number of the latest record.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.base + len(t.records)
}

// Overflow returns the number of records that exceeded the bounds and were dropped.
func (t *Transcript) Overflow() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left.count
}

// After returns the records with a number above mark, reading from the file if necessary; From and Page read
// less at a time.
func (t *Transcript) After(mark int) []Record {
	all, next, end := t.nextBatch(mark)
	for end == nil {
		var more []Record
		more, next, end = t.nextBatch(next)
		all = append(all, more...)
	}
	return all
}

// All returns every record so far.
func (t *Transcript) All() []Record { return t.After(0) }

// Judged returns the records that are not Late: all that count for or against a target.
func Judged(records []Record) []Record {
	if !slices.ContainsFunc(records, func(r Record) bool { return r.Late }) {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Late })
}

// Await blocks until a record above mark matches, and returns the first one. It does not poll. If the context ends
// first, it returns the context's cause; a record that was there before is never missed. match sees each record once,
// in order, and must not change it.
func (t *Transcript) Await(ctx context.Context, mark int, match func(*Record) bool) (Record, error) {
	return t.awaitRecord(ctx, mark, match, func() bool { return false })
}

// AwaitKept is Await, but ends with ErrFull once so much is left out that a record is not likely to be kept.
func (t *Transcript) AwaitKept(ctx context.Context, mark int, match func(*Record) bool) (Record, error) {
	return t.awaitRecord(ctx, mark, match, t.unlikelyKept)
}

func (t *Transcript) awaitRecord(ctx context.Context, mark int, match func(*Record) bool, ends func() bool) (Record,
	error) {
	for over, full := false, false; ; {
		fresh, next, changed := t.nextBatch(mark)
		for i := range fresh {
			if match(&fresh[i]) {
				return fresh[i], nil
			}
		}
		if mark = next; changed == nil {
			continue
		}
		switch {
		case full:
			return Record{}, ErrFull
		case over:
			return Record{}, context.Cause(ctx)
		case ends():
			full = true // look once more
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			over = true // look once more
		}
	}
}

// Excerpt renders record n with up to before records before it and after records after it.
func (t *Transcript) Excerpt(n, before, after, width int) []string {
	var out []string
	for _, r := range t.Page(n-before-1, n+after-max(n-before-1, 0)) {
		mark := "  "
		if r.N == n {
			mark = "▸ "
		}
		out = append(out, mark+r.Line(width))
	}
	return out
}

// searched is the number of latest records that Like searches.
const searched = 2000

// Like returns the number of the latest record with the connection, kind, status and bytes of r, a record of another
// transcript of the same traffic; 0 if there is none among the latest. A record without a connection matches records of
// any connection.
func (t *Transcript) Like(r Record) int {
	for _, one := range slices.Backward(t.Page(max(0, t.Len()-searched), searched)) {
		if one.Kind == r.Kind && one.Status == r.Status && bytes.Equal(one.Bytes, r.Bytes) &&
			(r.Conn == "" || one.Conn == r.Conn) {
			return one.N
		}
	}
	return 0
}
