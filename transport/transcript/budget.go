package transcript

import (
	"bytes"
	"hash/maphash"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"parley/internal/jsonform"
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

// openAccount gives a transcript an account, which is settled at the latest when the transcript is garbage.
func (t *Transcript) openAccount() {
	if together.Load() > Together/2 { // some of it may be that of transcripts that nobody has any more
		runtime.GC()
	}
	t.account = new(account)
	runtime.AddCleanup(t, (*account).settleAccount, t.account)
}

func (a *account) addBytes(n int) {
	a.bytes.Add(int64(n))
	together.Add(int64(n))
}

func (a *account) settleAccount() { together.Add(-a.bytes.Swap(0)) }

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
		t.account.settleAccount()
		t.base, t.records, t.bytes = t.base+len(t.records), nil, 0
		t.sharing = sharing{} // it knows the values of the records
	}
}

// guessMemory is the least memory that a record is likely to take. It is exact enough to leave out long texts of many
// small values before they are decoded, which takes 30 times their bytes.
func (r *Record) guessMemory(decoded bool) int {
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

// memorySize is the approximate number of bytes that a record takes, apart from what its connection shares. Decoded is
// the size of its event's values.
func (r *Record) memorySize(decoded int) int {
	n := recordSize + len(r.Bytes) + len(r.Label) + len(r.Type)
	if r.Event == nil {
		return n
	}
	n += eventSize
	for _, f := range r.Event.Faults {
		n += 16 + len(f)
	}
	if r.Event.Data != nil && valueSize(r.Event.Data) == 0 { // a type of the protocol's own
		n += foreignSize + len(r.Bytes)
	}
	return n + decoded
}

// memorySize is the approximate number of bytes that the values of an event take.
func (e *Event) memorySize() int {
	switch {
	case e == nil:
		return 0
	case e.Envelope != nil: // it has the data, too
		return valueSize(e.Envelope)
	}
	return valueSize(e.Data)
}

// foreignSize is assumed of data whose type is not one of JSON's.
const foreignSize = 1200

// sharing lets the events of a transcript share equal objects and lists, so that they take memory once: a target may
// send a long state again and again with a small change. It must be told what became of each record: kept or dropped.
type sharing struct {
	seed  maphash.Seed
	known map[uint64]any // objects and lists by hash
	fresh []uint64       // those of the latest record
}

const (
	// sharedFrom is the decoded size from which a record shares what it has with others. Smaller ones are not worth it.
	sharedFrom = 4 << 10
	// partFrom is the size from which a part of a value is shared.
	partFrom = 256
	// partSize is what it takes to remember a part.
	partSize = 48
)

// shareEvent replaces the parts of an event that earlier ones have by theirs, and returns the size of the rest. It
// changes the event, but none of its values, which others may have.
func (s *sharing) shareEvent(e *Event) int {
	n := e.memorySize()
	if n < sharedFrom {
		return n
	}
	if s.known == nil {
		s.seed, s.known = maphash.MakeSeed(), map[uint64]any{}
	}
	was := e.Envelope
	shared := s.shareValue(was)
	e.Envelope, n = shared.value, shared.size
	for _, part := range []*any{&e.Data, &e.RequestID, &e.Timestamp} {
		if isIdentical(*part, was) {
			*part = e.Envelope
		} else if name, ok := memberOf(was, *part); ok {
			*part = e.Envelope.(map[string]any)[name]
		} else {
			own := s.shareValue(*part)
			*part, n = own.value, n+own.size
		}
	}
	return n
}

// memberOf returns the name of the member of an object that is the same in memory.
func memberOf(object, v any) (name string, ok bool) {
	members, _ := object.(map[string]any)
	for name, one := range members {
		if isIdentical(one, v) {
			return name, true
		}
	}
	return "", false
}

// keepLatest says that the latest record is part of the transcript.
func (s *sharing) keepLatest() { s.fresh = s.fresh[:0] }

// dropLatest says that it is not: others must not keep it alive.
func (s *sharing) dropLatest() {
	for _, h := range s.fresh {
		delete(s.known, h)
	}
	s.keepLatest()
}

// part is a value of an event with the parts that it shares.
type part struct {
	value   any
	changed bool // it is another value in memory than before
	hash    uint64
	size    int // of what is new
}

// shareValue returns the known value that equals v, or v with such parts.
func (s *sharing) shareValue(v any) part {
	var out part
	switch v := v.(type) {
	case nil:
		return part{hash: 1}
	case bool:
		if v {
			return part{value: v, hash: 2}
		}
		return part{value: v, hash: 3}
	case jsonform.Number:
		return part{value: v, hash: mixHashes(4, maphash.String(s.seed, string(v))), size: valueSize(v)}
	case string:
		return part{value: v, hash: mixHashes(5, maphash.String(s.seed, v)), size: valueSize(v)}
	case []any:
		out = s.shareList(v)
	case map[string]any:
		out = s.shareObject(v)
	default:
		return part{value: v, hash: 8}
	}
	if out.size < partFrom {
		return out
	}
	was, ok := s.known[out.hash]
	switch {
	case !ok:
		s.known[out.hash], s.fresh = out.value, append(s.fresh, out.hash)
		out.size += partSize
	case sameValues(was, out.value):
		return part{value: was, changed: !isIdentical(was, v), hash: out.hash}
	}
	return out
}

func (s *sharing) shareList(v []any) part {
	out, copied := part{value: v, hash: 6, size: valueSize([]any(nil))}, v
	for i, one := range v {
		p := s.shareValue(one)
		if p.changed {
			if !out.changed {
				copied, out.changed = slices.Clone(v), true
			}
			copied[i] = p.value
		}
		out.hash, out.size = mixHashes(out.hash, p.hash), out.size+16+p.size
	}
	out.value = copied
	return out
}

func (s *sharing) shareObject(v map[string]any) part {
	out, copied := part{hash: 7, size: objectSize(len(v))}, v
	for name, one := range v {
		p := s.shareValue(one)
		if p.changed {
			if !out.changed {
				copied, out.changed = maps.Clone(v), true
			}
			copied[name] = p.value
		}
		out.hash += mixHashes(maphash.String(s.seed, name), p.hash) // in whatever order
		out.size += 16 + len(name) + p.size
	}
	out.value = copied
	return out
}

// mixHashes combines two hashes.
func mixHashes(a, b uint64) uint64 {
	a = (a ^ b) * 0x9e3779b97f4a7c15
	return a ^ a>>29
}

// isIdentical reports whether two objects or lists are the same one in memory.
func isIdentical(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	}
	return false
}

// sameValues reports whether two values are equal in every detail.
func sameValues(a, b any) bool {
	switch a := a.(type) {
	case nil, bool, jsonform.Number, string:
		return a == b
	case []any:
		if isIdentical(a, b) {
			return true
		}
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if !sameValues(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if isIdentical(a, b) {
			return true
		}
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for name, one := range a {
			if other, ok := b[name]; !ok || !sameValues(one, other) {
				return false
			}
		}
		return true
	}
	return false
}
