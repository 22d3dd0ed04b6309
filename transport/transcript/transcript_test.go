package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNumbering(t *testing.T) {
	tr := New(nil)
	if n := tr.Append(Record{N: 99, At: time.Hour, Label: "a"}); n != 1 {
		t.Errorf("the first record has number %d", n)
	}
	tr.Remark("B", "%d of %s", 2, "them")
	first, second := tr.All()[0], tr.All()[1]
	if first.N != 1 || first.At >= time.Hour {
		t.Errorf("number and time are the transcript's, not the caller's: %+v", first)
	}
	want := Record{N: 2, At: second.At, Conn: "B", Dir: Noted, Kind: Remark, Label: "2 of them"}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if second.At < first.At {
		t.Errorf("time runs backwards: %v, %v", first.At, second.At)
	}
}

func TestConcurrentAppends(t *testing.T) {
	const writers, each = 8, 500
	tr := New(nil)
	numbers := make([][]int, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for range each {
				numbers[w] = append(numbers[w], tr.Append(Record{Conn: fmt.Sprint(w)}))
			}
		})
	}
	all.Wait()
	records := tr.All()
	if len(records) != writers*each || tr.Len() != len(records) {
		t.Fatalf("%d records, length %d", len(records), tr.Len())
	}
	for i, r := range records {
		if r.N != i+1 {
			t.Fatalf("record %d has number %d", i+1, r.N)
		}
		if i > 0 && r.At < records[i-1].At {
			t.Fatalf("record %d is earlier than the one before", r.N)
		}
	}
	for w, ns := range numbers {
		for _, n := range ns {
			if got := records[n-1].Conn; got != fmt.Sprint(w) {
				t.Fatalf("number %d was given to %d, and is the record of %s", n, w, got)
			}
		}
	}
}

func TestDecodeSeesTheWholeRecordOnce(t *testing.T) {
	calls := 0
	tr := New(func(r *Record) {
		calls++
		r.Event = &Event{Type: fmt.Sprint(len(r.Bytes))}
		if r.N == 0 {
			t.Error("decode sees no number")
		}
	})
	tr.Append(Record{Bytes: make([]byte, MaxPayload+1)})
	if r := tr.All()[0]; calls != 1 || r.Event.Type != fmt.Sprint(MaxPayload+1) || r.Cut != 1 {
		t.Errorf("decode was called %d times, and saw %s bytes; cut %d", calls, r.Event.Type, r.Cut)
	}
}

func TestBoundsOfARecord(t *testing.T) {
	long := strings.Repeat("x", MaxLabel)
	rows := []struct {
		reason   string
		in, want Record
	}{
		{"a payload at the limit is kept", Record{Bytes: make([]byte, MaxPayload)}, Record{Bytes: make([]byte, MaxPayload)}},
		{"one byte more is cut and counted", Record{Bytes: make([]byte, MaxPayload+1)},
			Record{Bytes: make([]byte, MaxPayload), Cut: 1}},
		{"bytes cut before count too", Record{Bytes: make([]byte, MaxPayload+2), Cut: 5},
			Record{Bytes: make([]byte, MaxPayload), Cut: 7}},
		{"a label and a type at the limit are kept", Record{Label: long, Type: long}, Record{Label: long, Type: long}},
		{"longer ones are cut", Record{Label: long + "y", Type: long + "y"},
			Record{Label: long + "…", Type: long + "…"}},
		{"between characters", Record{Label: long[1:] + "主"}, Record{Label: long[1:] + "…"}},
		{"a payload too", Record{Bytes: []byte("ab" + strings.Repeat("主", MaxPayload/3+1))},
			Record{Bytes: []byte("ab" + strings.Repeat("主", (MaxPayload-2)/3)), Cut: 3*(MaxPayload/3+1) - 3*((MaxPayload-2)/3)}},
		{"invalid UTF-8 is cut too", Record{Label: strings.Repeat("\x80", MaxLabel+9)},
			Record{Label: strings.Repeat("\x80", MaxLabel) + "…"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			tr := New(nil)
			tr.Append(r.in)
			got := tr.All()[0]
			r.want.N, r.want.At = got.N, got.At
			if !bytes.Equal(got.Bytes, r.want.Bytes) {
				t.Errorf("%d bytes are kept, want %d", len(got.Bytes), len(r.want.Bytes))
			}
			got.Bytes, r.want.Bytes = nil, nil
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestACutPayloadIsLetGo(t *testing.T) {
	tr := New(nil)
	tr.Append(Record{Bytes: make([]byte, 8*MaxPayload)})
	if got := cap(tr.All()[0].Bytes); got > 2*MaxPayload {
		t.Errorf("%d bytes are still held", got)
	}
}

func TestBoundsOfATranscript(t *testing.T) {
	payload := make([]byte, 8*MaxPayload)
	decoded := func(r *Record) { r.Event = &Event{} }
	rows := []struct {
		reason string
		decode func(*Record)
		in     Record
		fit    int
	}{
		{"records", nil, Record{}, MaxRecords},
		{"bytes", nil, Record{Bytes: payload[:MaxPayload]}, MaxBytes / MaxPayload},
		{"bytes, of payloads that are cut", nil, Record{Bytes: payload}, MaxBytes / MaxPayload},
		{"bytes, of payloads that live on whole in their events", decoded, Record{Bytes: payload}, MaxBytes / len(payload)},
		{"bytes, of labels and types that a peer chooses", nil,
			Record{Label: strings.Repeat("l", MaxLabel), Type: strings.Repeat("t", MaxLabel)}, MaxBytes / (2 * MaxLabel)},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			alone(t)
			tr := New(r.decode)
			defer tr.Release()
			r.in.Dir = Received
			for i := range r.fit {
				if n := tr.Append(r.in); n != i+1 {
					t.Fatalf("record %d gets number %d", i+1, n)
				}
			}
			before := tr.Len()
			over := 0
			for range 100 {
				if tr.Append(r.in) == 0 {
					over++
				}
			}
			if kept := tr.Len() - before; tr.Overflow() != over || kept+over != 100 || kept > 1 {
				t.Errorf("beyond the bounds %d are kept, %d refused, %d counted", kept, over, tr.Overflow())
			}
		})
	}
}

// TestFlood: the first pings of a flood are kept, and some of the later ones; other records and other connections are
// not affected.
func TestFlood(t *testing.T) {
	ping := Record{Conn: "A", Dir: Received, Kind: Comment, Label: "ping"}
	tr := New(nil)
	kept := 0
	for range 10 * MaxFlood {
		if tr.Append(ping) > 0 {
			kept++
		}
	}
	if most := MaxFlood + int(time.Since(tr.start)/FloodGap) + 1; kept < MaxFlood || kept > most ||
		tr.Flooded() != 10*MaxFlood-kept {
		t.Errorf("%d are kept, at most %d expected, and %d were counted", kept, most, tr.Flooded())
	}
	for n := range 2 * MaxFlood { // text chosen by the peer does not form a separate source
		tr.Append(Record{Conn: "A", Dir: Received, Kind: Comment, Label: fmt.Sprint("retry ", n)})
	}
	if flooded := tr.Flooded(); flooded < 10*MaxFlood-kept+MaxFlood/2 {
		t.Errorf("retries are kept: %d", flooded)
	}
	for _, r := range []Record{{Conn: "B", Dir: Received, Kind: Comment, Label: "ping"},
		{Conn: "A", Dir: Received, Kind: Comment, Label: "close 1000"}, {Conn: "A", Dir: Received, Kind: Frame},
		{Conn: "A", Dir: Sent, Kind: Comment, Label: "ping"}} {
		if tr.Append(r) == 0 {
			t.Errorf("%+v is not kept", r)
		}
	}
	tr.start = tr.start.Add(-FloodGap) // after a pause
	if tr.Append(ping) == 0 {
		t.Error("a later ping is not kept")
	}
}

// TestDecodedCounts: decoded values that are much larger than their text count with their real size.
func TestDecodedCounts(t *testing.T) {
	many := make([]any, 100_000)
	for i := range many {
		many[i] = map[string]any{}
	}
	tr := New(func(r *Record) {
		own := slices.Clone(many) // another one for each, since equal ones count once
		own[0] = json.Number(strconv.Itoa(r.N))
		r.Event = &Event{Data: own, Envelope: map[string]any{"data": own}}
	})
	text := bytes.Repeat([]byte("{},"), 100_000)
	defer tr.Release()
	n := 0
	for tr.Append(Record{Dir: Received, Kind: Frame, Bytes: text}) > 0 {
		n++
	}
	if each := valueSize(many); n > MaxBytes/each+1 || n < MaxBytes/each/2 || each < 20*len(text) {
		t.Errorf("%d messages of %d bytes that take %d are kept", n, len(text), each)
	}
}

func TestAfter(t *testing.T) {
	tr := New(nil)
	for range 3 {
		tr.Append(Record{})
	}
	rows := []struct {
		reason string
		mark   int
		want   []int
	}{
		{"from the start", 0, []int{1, 2, 3}},
		{"before the start", -5, []int{1, 2, 3}},
		{"from a mark", 2, []int{3}},
		{"from the latest", 3, nil},
		{"from a future mark", 9, nil},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			var got []int
			for _, rec := range tr.After(r.mark) {
				got = append(got, rec.N)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
	held := append(tr.All(), Record{N: 99})
	tr.Append(Record{Label: "fourth"})
	if held[3].N != 99 || tr.All()[3].Label != "fourth" {
		t.Error("what was handed out and the transcript share memory that both may write")
	}
}

// label matches a record.
func label(want string) func(*Record) bool { return func(r *Record) bool { return r.Label == want } }

func TestAwait(t *testing.T) {
	why := errors.New("enough")
	gone := func() context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(why)
		return ctx
	}
	rows := []struct {
		reason string
		mark   int
		want   string
		n      int // 0: no match
	}{
		{"the first of several", 0, "a", 1},
		{"the first above the mark", 1, "a", 3},
		{"not at the mark", 3, "a", 0},
		{"a mark before the start", -1, "b", 2},
		{"a future mark", 99, "a", 0},
		{"no such message", 0, "c", 0},
	}
	tr := New(nil)
	for _, l := range []string{"a", "b", "a"} {
		tr.Append(Record{Label: l})
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			rec, err := tr.Await(gone(), r.mark, label(r.want)) // a present record is found even though the context has ended
			if rec.N != r.n || (err == nil) != (r.n > 0) {
				t.Errorf("Await = record %d, %v; want %d", rec.N, err, r.n)
			}
			if r.n == 0 && !errors.Is(err, why) {
				t.Errorf("Await: %v; want the cause", err)
			}
		})
	}
}

func TestAwaitWakesUp(t *testing.T) {
	tr := New(nil)
	waiting := make(chan struct{})
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			var once sync.Once
			rec, err := tr.Await(t.Context(), 0, func(r *Record) bool {
				once.Do(func() { waiting <- struct{}{} })
				return r.Label == fmt.Sprint(i)
			})
			if err != nil || rec.Label != fmt.Sprint(i) {
				t.Errorf("Await %d = %q, %v", i, rec.Label, err)
			}
		})
	}
	tr.Append(Record{Label: "for all"})
	for range 10 {
		<-waiting
	}
	for i := range 10 {
		tr.Append(Record{Label: fmt.Sprint(9 - i)})
	}
	all.Wait()
}

func TestAwaitSeesEachRecordOnceInOrder(t *testing.T) {
	const writers, each = 8, 500
	tr := New(nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			seen := 0
			_, err := tr.Await(t.Context(), 0, func(r *Record) bool {
				if seen++; r.N != seen {
					t.Errorf("after %d records comes number %d", seen-1, r.N)
				}
				return r.N == writers*each
			})
			if err != nil || seen != writers*each {
				t.Errorf("%d records were seen: %v", seen, err)
			}
		})
	}
	for range writers {
		all.Go(func() {
			for range each {
				tr.Append(Record{})
			}
		})
	}
	all.Wait()
}

// TestAwaitMissesNothingAtTheEnd: a record that came before the context ended counts, whichever is noticed first.
func TestAwaitMissesNothingAtTheEnd(t *testing.T) {
	for range 100 {
		tr := New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		tr.Append(Record{Label: "first"})
		_, err := tr.Await(ctx, 0, func(r *Record) bool {
			if r.Label == "first" { // both happen before Await looks again
				tr.Append(Record{Label: "in time"})
				cancel()
			}
			return r.Label == "in time"
		})
		if err != nil {
			t.Fatalf("Await: %v, and the record is there", err)
		}
	}
}

func TestExcerpt(t *testing.T) {
	tr := New(nil)
	for range 9 {
		tr.Append(Record{Conn: "A", Dir: Received, Kind: Frame})
	}
	rows := []struct {
		reason        string
		n, back, on   int
		lines, marked int
	}{
		{"around a record", 5, 2, 1, 4, 2},
		{"at the start", 1, 2, 1, 2, 0},
		{"at the end", 9, 1, 5, 2, 1},
		{"of one", 3, 0, 0, 1, 0},
		{"around none", 40, 2, 2, 0, -1},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got := tr.Excerpt(r.n, r.back, r.on, 80)
			marked := -1
			for i, l := range got {
				if strings.HasPrefix(l, "▸ ") {
					marked = i
				}
			}
			if len(got) != r.lines || marked != r.marked {
				t.Errorf("%d lines, the marked one is %d:\n%s", len(got), marked, strings.Join(got, "\n"))
			}
		})
	}
}
