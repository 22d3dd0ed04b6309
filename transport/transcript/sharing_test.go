package transcript

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// state is a message with a long part that stays, a long part that grows, and a number.
func state(n int) string {
	items, said := make([]string, 300), make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"i":%d,"text":%q}`, i, strings.Repeat("x", 90))
	}
	for i := range said {
		said[i] = fmt.Sprintf(`{"from":"user","n":%d}`, i)
	}
	return fmt.Sprintf(`{"id":{"n":%[1]d},"payload":{"uiSpec":{"step":%[1]d,"items":[%[2]s]},"history":[%[3]s]}}`, n,
		strings.Join(items, ","), strings.Join(said, ","))
}

// plain decodes a message as bindings do.
func plain(r *Record) {
	d := json.NewDecoder(strings.NewReader(string(r.Bytes)))
	d.UseNumber()
	var env map[string]any
	if d.Decode(&env) == nil {
		r.Event = &Event{Data: env["payload"], RequestID: env["id"], Envelope: env}
	}
}

// TestSharing: what messages have in common takes memory once, as much as is counted, and each message is as it was.
func TestSharing(t *testing.T) {
	const n = 100
	alone(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tr, bytes := New(plain), 0
	for i := range n {
		text := []byte(state(i))
		bytes += len(text)
		if tr.Append(Record{Dir: Received, Kind: Frame, Bytes: text}) == 0 {
			t.Fatalf("message %d is not kept: %d bytes are counted", i, tr.Memory())
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	counted, real := tr.Memory(), int(after.HeapAlloc)-int(before.HeapAlloc)
	if t.Logf("%d bytes: %d are counted, %d are on the heap", bytes, counted, real); counted > 2*bytes ||
		real > 3*counted/2 || counted > 3*real/2 {
		t.Errorf("%d bytes: %d are counted, %d are on the heap", bytes, counted, real)
	}
	defer func() {
		tr.Release()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if left := int(after.HeapAlloc) - int(before.HeapAlloc); left > real/20 {
			t.Errorf("%d of %d bytes are on the heap once it is released", left, real)
		}
		runtime.KeepAlive(tr)
	}()
	for i, r := range tr.All() {
		want := Record{Bytes: r.Bytes}
		if plain(&want); !cmp.Equal(want.Event, r.Event) {
			t.Fatalf("message %d has changed; want(-) got(+):\n%s", i, cmp.Diff(want.Event, r.Event))
		}
	}
}

// TestSharesNoDropped: what was left out is not kept alive by what comes after it, nor is a value that others may have
// changed.
func TestSharesNoDropped(t *testing.T) {
	var s sharing
	one, two := Record{Bytes: []byte(state(1))}, Record{Bytes: []byte(state(2))}
	plain(&one)
	size := s.shareEvent(one.Event)
	s.dropLatest()
	if len(s.known) != 0 {
		t.Errorf("%d parts of a dropped record are known", len(s.known))
	}
	if again := s.shareEvent(one.Event); again != size {
		t.Errorf("it takes %d bytes, want %d", again, size)
	}
	s.keepLatest()
	plain(&two)
	was := two.Event.Envelope.(map[string]any)
	payload := was["payload"].(map[string]any)
	items := payload["uiSpec"].(map[string]any)["items"]
	if more := s.shareEvent(two.Event); more > size/10 {
		t.Errorf("another takes %d bytes", more)
	}
	if !isIdentical(payload["uiSpec"].(map[string]any)["items"], items) || !isIdentical(was["payload"], payload) {
		t.Error("a value of somebody else's has changed")
	}
	if now := two.Event.Envelope.(map[string]any); !isIdentical(two.Event.Data, now["payload"]) {
		t.Error("the data is not that of the envelope")
	}
}
