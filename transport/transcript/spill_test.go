package transcript

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// spilling makes a transcript that keeps few records in memory.
func spilling(t *testing.T, decode func(*Record), k Keep) *Transcript {
	t.Helper()
	k.Dir = t.TempDir()
	tr, err := NewSpilling(decode, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(k.Dir); err != nil || len(left) > 0 {
			t.Errorf("the folder holds %v behind the end: %v", left, err)
		}
	})
	return tr
}

// odd returns a record with every field, and an event with every type of value.
func odd(i int) Record {
	data := map[string]any{"n": json.Number(fmt.Sprint(i)), "yes": true, "no": false, "none": nil, "": "",
		"bytes": "a\x00\xff\n", "list": []any{[]any{}, map[string]any{}, json.Number("1e400"), "x"}}
	event := &Event{Type: "t", Data: data, RequestID: "7", Timestamp: json.Number("-0"), Envelope: []any{data},
		Faults: []string{"one", "two"}, Again: i%3 == 0}
	return Record{Conn: "A", Dir: Received, Kind: Frame, Label: "l", Status: 3, Type: "text",
		Bytes: []byte{0xff, 0, byte(i)}, Cut: 4, Reply: 1, ID: "7", Trace: "00-1", Headers: "a: b\n",
		Flushed: i%2 == 0, Event: event}
}

// TestSpilled: every method reads moved records unchanged.
func TestSpilled(t *testing.T) {
	const n = 1000
	for _, row := range []struct {
		reason string
		keep   Keep
	}{
		{"many records", Keep{Records: 10}},
		{"many bytes", Keep{Records: 10_000, Bytes: 50}},
		{"nothing is moved", Keep{Records: 2000}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			plain, tr := New(nil), spilling(t, nil, row.keep)
			for i := range n {
				r := odd(i)
				if i%5 == 0 {
					r = Record{Dir: Sent, Kind: Request, Late: i%2 == 0, Bytes: []byte{}}
				}
				plain.Append(r)
				if got := tr.Append(r); got != i+1 {
					t.Fatalf("record %d has the number %d", i+1, got)
				}
			}
			if most := row.keep.Records; len(tr.records) > most {
				t.Errorf("%d records are in memory, want at most %d", len(tr.records), most)
			}
			want, got := plain.All(), tr.All()
			for i := range got {
				got[i].At = want[i].At
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if tr.Len() != n || tr.Overflow() != 0 {
				t.Errorf("%d records, %d lost", tr.Len(), tr.Overflow())
			}
			for _, mark := range []int{-1, 0, 1, 254, 255, 256, 257, 500, 989, 990, 999, 1000, 2000} {
				if got, want := numbers(tr.After(mark)), numbers(plain.After(mark)); !slices.Equal(got, want) {
					t.Errorf("after %d: %v, want %v", mark, got, want)
				}
				if got := numbers(tr.Page(mark, 3)); !slices.Equal(got, numbers(plain.After(mark))[:min(3, max(n-mark, 0))]) {
					t.Errorf("a page after %d: %v", mark, got)
				}
				r, err := tr.Await(t.Context(), min(mark, n-1), func(*Record) bool { return true })
				if err != nil || r.N != max(0, min(mark, n-1))+1 {
					t.Errorf("awaited after %d: %d, %v", mark, r.N, err)
				}
			}
			if got := tr.Excerpt(300, 1, 2, 0); len(got) != 4 {
				t.Errorf("an excerpt has %d lines: %q", len(got), got)
			}
		})
	}
}

func numbers(records []Record) []int {
	out := []int{}
	for _, r := range records {
		out = append(out, r.N)
	}
	return out
}

// TestSpilledForeign: an event with data of a foreign type is decoded again from its record.
func TestSpilledForeign(t *testing.T) {
	type look struct{ text string }
	tr := spilling(t, func(r *Record) { r.Event = &Event{Type: "look", Data: &look{string(r.Bytes)}} }, Keep{Records: 4})
	for i := range 20 {
		tr.Append(Record{Bytes: fmt.Append(nil, i)})
	}
	for i, r := range tr.All() {
		if got, ok := r.Event.Data.(*look); !ok || got.text != fmt.Sprint(i) {
			t.Errorf("record %d: %v", r.N, r.Event.Data)
		}
	}
}

// TestSpilledBounds: records that cannot be kept are counted, and nothing else is lost.
func TestSpilledBounds(t *testing.T) {
	full := spilling(t, nil, Keep{Records: 10, File: 1})
	for range 20 {
		full.Append(Record{Dir: Received, Label: "x"})
	}
	if len(full.All())+full.Overflow() != 20 || full.Overflow() == 0 {
		t.Errorf("the file is full: %d records, %d lost", len(full.All()), full.Overflow())
	}

	closed := spilling(t, nil, Keep{Records: 10})
	for range 20 {
		closed.Append(Record{Label: "x"})
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		closed.Append(Record{Label: "x"})
	}
	got := numbers(closed.All())
	if len(got) == 0 || len(got) > 10 || got[len(got)-1] != 40 || closed.Len() != 40 {
		t.Errorf("behind its end: %v of %d", got, closed.Len())
	}
	if _, err := NewSpilling(nil, Keep{Dir: t.TempDir() + "/none"}); err == nil {
		t.Error("a folder that does not exist is no mistake")
	}
}

// TestSpilledLate: a transcript that begins without its file creates it for the first records that are moved, and
// loses only these where it cannot.
func TestSpilledLate(t *testing.T) {
	for folder, lost := range map[string]bool{t.TempDir(): false, t.TempDir() + "/none": true} {
		tr := NewSpillingAt(time.Now(), nil, Keep{Records: 10, Dir: folder})
		for range 10 {
			tr.Append(Record{Label: "x"})
		}
		if tr.spill.file != nil {
			t.Error("a file was created that nothing needs")
		}
		for range 10 {
			tr.Append(Record{Label: "x"})
		}
		all := numbers(tr.All())
		if len(all)+tr.Overflow() != 20 || all[len(all)-1] != 20 || (tr.Overflow() > 0) != lost {
			t.Errorf("%s: %v, %d lost", folder, all, tr.Overflow())
		}
		if err := tr.FileError(); (err != nil) != lost {
			t.Errorf("%s: it says %v", folder, err)
		}
		if err := tr.CreateFile(); (err != nil) != lost {
			t.Errorf("%s: %v", folder, err)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFirst: the first records are those that a run would keep.
func TestFirst(t *testing.T) {
	plain, tr := New(nil), spilling(t, nil, Keep{Records: 100})
	defer plain.Release()
	payload := make([]byte, MaxPayload)
	for i := range 80 {
		r := Record{Dir: Received, Bytes: payload[:MaxPayload-i]}
		plain.Append(r)
		tr.Append(r)
	}
	got, whole := tr.First()
	if len(got) != plain.Len() || whole || plain.Overflow() == 0 {
		t.Errorf("%d records, want %d; all of them: %v", len(got), plain.Len(), whole)
	}
	if got, whole := plain.First(); len(got) != plain.Len() || !whole {
		t.Errorf("in memory: %d records; all of them: %v", len(got), whole)
	}
}

// TestSpilledTogether: readers and writers run concurrently.
func TestSpilledTogether(t *testing.T) {
	const n = 2000
	tr := spilling(t, func(r *Record) { r.Event = &Event{Data: map[string]any{"a": "b"}} }, Keep{Records: 50})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			mark := 0
			for mark < n {
				r, err := tr.Await(t.Context(), mark, func(r *Record) bool { return r.N > mark })
				if err != nil || r.N != mark+1 {
					t.Errorf("after %d: %d, %v", mark, r.N, err)
					return
				}
				mark = r.N
			}
		})
	}
	for range n {
		tr.Append(Record{Conn: "A"})
	}
	group.Wait()
}

// BenchmarkSpill measures an append to a transcript that moves records to its file.
func BenchmarkSpill(b *testing.B) {
	tr, err := NewSpilling(nil, Keep{Records: 1000, File: 1 << 40, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	r := odd(1)
	for b.Loop() {
		tr.Append(r)
	}
	if err := tr.Close(); err != nil {
		b.Error(err)
	}
}
