package transcript

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
)

// alone settles the transcripts of earlier tests, so that a test has the memory of all to itself.
func alone(t *testing.T) {
	t.Helper()
	for range 1000 {
		if together.Load() == 0 {
			return
		}
		runtime.GC() // their accounts are settled by cleanups, which run behind it
		runtime.Gosched()
	}
	t.Fatalf("earlier transcripts still hold %d bytes", together.Load())
}

// fill appends received records until one is left out, and returns how many were kept.
func fill(t *Transcript, payload []byte) (n int) {
	for t.Append(Record{Dir: Received, Kind: Frame, Bytes: payload}) > 0 {
		n++
	}
	return n
}

// TestTogether: however many transcripts are flooded, they take a bounded amount of memory together, and each may hold
// its share. What is released is there for others.
func TestTogether(t *testing.T) {
	alone(t)
	all, sum := []*Transcript{}, int64(0)
	payload := make([]byte, 100<<10)
	for i := range 20 {
		tr := New(nil)
		all = append(all, tr)
		n := fill(tr, payload)
		if sum += tr.account.bytes.Load(); n*len(payload) < Share-2*len(payload) {
			t.Errorf("transcript %d holds %d bytes only", i, n*len(payload))
		}
	}
	if sum > Together+20*(Share+int64(len(payload))) {
		t.Errorf("together they hold %d bytes", sum)
	}
	if n := fill(all[0], payload); n > 0 {
		t.Errorf("%d more are kept", n)
	}
	before := together.Load()
	for _, tr := range all {
		tr.Release()
		tr.Release()
	}
	if after := together.Load(); before-after != sum {
		t.Errorf("%d bytes are free again, want %d", before-after, sum)
	}
	tr := New(nil)
	defer tr.Release()
	if n := fill(tr, payload); n*len(payload) < MaxBytes-2*len(payload) {
		t.Errorf("another holds %d bytes only", n*len(payload))
	}
}

// TestOwnIsKept: what the harness sends keeps its place among the records, also beyond the bounds, so that what came
// before it is not taken for an answer to it. The last of what was left out is there for people.
func TestOwnIsKept(t *testing.T) {
	alone(t)
	tr := New(nil)
	defer tr.Release()
	fill(tr, make([]byte, MaxPayload))
	mark := tr.Append(Record{Dir: Sent, Kind: Request, Bytes: []byte("switch")})
	if mark != tr.Len() || mark == 0 {
		t.Fatalf("the request is record %d of %d", mark, tr.Len())
	}
	if late := tr.Append(Record{Dir: Received, Kind: Frame, Bytes: make([]byte, MaxPayload)}); late != 0 {
		t.Fatal("what was received beyond the bounds is kept")
	}
	if len(tr.After(mark)) > 0 {
		t.Error("there is an answer")
	}
	for i := range 3 * MaxLast {
		tr.Append(Record{Dir: Received, Kind: Frame, Bytes: bytes.Repeat([]byte{byte(i)}, MaxPayload)})
	}
	last := tr.Last()
	if len(last) != MaxLast || last[MaxLast-1].Bytes[0] != 3*MaxLast-1 || last[0].Bytes[0] != 2*MaxLast ||
		last[0].N != 0 || len(last[0].Bytes)+last[0].Cut != MaxPayload || len(last[0].Bytes) != maxLastPart {
		t.Errorf("the last are %d, from %v to %v", len(last), last[0].Bytes[0], last[len(last)-1].Bytes[0])
	}
	for tr.Append(Record{Dir: Noted, Kind: Remark}) > 0 {
	}
	if own := tr.left.own; own != MaxOwn {
		t.Errorf("%d own records are kept", own)
	}
}

// TestBuffersAreLetGo: a short payload in a large buffer does not keep the buffer.
func TestBuffersAreLetGo(t *testing.T) {
	tr := New(nil)
	tr.Append(Record{Bytes: make([]byte, 3, 512)})
	if got := cap(tr.All()[0].Bytes); got > 100 {
		t.Errorf("%d bytes are held", got)
	}
}

// TestDecodedIsLetGo: a message that takes more than all transcripts may, once it is decoded, is left out.
func TestDecodedIsLetGo(t *testing.T) {
	many := make([]any, Together/64)
	for i := range many {
		many[i] = map[string]any{}
	}
	tr := New(func(r *Record) {
		if len(r.Bytes) > 2 {
			r.Event = &Event{Data: many}
		}
	})
	defer tr.Release()
	if tr.Append(Record{Dir: Received, Kind: Frame, Bytes: []byte("{},{}")}) != 0 || tr.Overflow() != 1 {
		t.Error("it is kept")
	}
	if tr.Append(Record{Dir: Received, Kind: Frame, Bytes: []byte("{}")}) != 1 {
		t.Error("a small one behind it is not kept")
	}
}

// TestAwaitKept: a wait for what would not be kept ends, also if it has begun before, and one for what is there does
// not; a few records that are too large end none.
func TestAwaitKept(t *testing.T) {
	tr := New(nil)
	defer tr.Release()
	n := fill(tr, make([]byte, MaxPayload))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	none := func(*Record) bool { return false }
	if _, err := tr.AwaitKept(over, 0, none); !errors.Is(err, context.Canceled) {
		t.Errorf("one is left out: %v", err)
	}
	ended := make(chan error)
	go func() { _, err := tr.AwaitKept(t.Context(), 0, none); ended <- err }()
	for range enough {
		tr.Append(Record{Dir: Received, Kind: Frame, Bytes: make([]byte, MaxPayload)})
	}
	if err := <-ended; !errors.Is(err, ErrFull) {
		t.Errorf("it ends by %v", err)
	}
	if r, err := tr.AwaitKept(t.Context(), 0, func(r *Record) bool { return r.N == n }); err != nil || r.N != n {
		t.Errorf("what is there: %v", err)
	}
}
