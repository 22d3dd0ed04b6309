package transcript

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Bounds of the memory that all transcripts of a process take together, whatever their targets send. A transcript may
// always hold Share, so that no flood keeps the others from being judged.
const (
	Together = 24 << 20
	Share    = 1 << 20
)

// together is the memory of all transcripts with an account.
var together atomic.Int64

// account is the memory of a transcript, which counts until it is settled.
type account struct{ bytes atomic.Int64 }

// owned gives a transcript an account, which is settled at the latest when the transcript is garbage.
func (t *Transcript) owned() {
	if together.Load() > Together/2 { // some of it may be that of transcripts that nobody has any more
		runtime.GC()
	}
	t.account = new(account)
	runtime.AddCleanup(t, (*account).settle, t.account)
}

func (a *account) add(n int) {
	a.bytes.Add(int64(n))
	together.Add(int64(n))
}

func (a *account) settle() { together.Add(-a.bytes.Swap(0)) }

// exceeds reports whether n bytes more are too much for this transcript, or for all together.
func (a *account) exceeds(n int) bool {
	return a.bytes.Load()+int64(n) > Share && together.Load()+int64(n) > Together
}

// Crowded reports whether transcripts take so much memory together that no more than necessary should begin.
func Crowded() bool { return together.Load() > Together/2 }

// Memory returns the approximate number of bytes that the records take, 0 once they are released.
func (t *Transcript) Memory() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.account == nil {
		return t.bytes
	}
	return int(t.account.bytes.Load())
}

// Release lets the records of a transcript go, however long the transcript itself lives: they count against Together no
// longer. Slices of records that were returned before stay. It may be called again.
func (t *Transcript) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.account != nil {
		t.account.settle()
		t.base, t.records, t.bytes = t.base+len(t.records), nil, 0
	}
}

// guess is the least memory that a record is likely to take. It is exact enough to leave out long texts of many small
// values before they are decoded, which takes 30 times their bytes.
func (r *Record) guess(decoded bool) int {
	n := min(len(r.Bytes), MaxPayload)
	if decoded && len(r.Bytes) > 256<<10 {
		n += smallValue * (bytes.Count(r.Bytes, []byte{','}) + bytes.Count(r.Bytes, []byte{'['}))
	}
	return n
}

// smallValue is the memory of a value such as {} in a list.
const smallValue = 64

const (
	recordSize = int(unsafe.Sizeof(Record{}))
	eventSize  = int(unsafe.Sizeof(Event{}))
)

// memory is the approximate number of bytes that a record takes, apart from what its connection shares. Decoded is the
// size of its event's values.
func (r *Record) memory(decoded int) int {
	n := recordSize + len(r.Bytes) + len(r.Label) + len(r.Type)
	if r.Event == nil {
		return n
	}
	n += eventSize
	for _, f := range r.Event.Faults {
		n += 16 + len(f)
	}
	if r.Event.Data != nil && size(r.Event.Data) == 0 { // a type of the protocol's own
		n += foreignSize + len(r.Bytes)
	}
	return n + decoded
}

// size is the approximate number of bytes that the values of an event take.
func (e *Event) size() int {
	switch {
	case e == nil:
		return 0
	case e.Envelope != nil: // it has the data, too
		return size(e.Envelope)
	}
	return size(e.Data)
}

// foreignSize is assumed of data whose type is not one of JSON's.
const foreignSize = 1200
