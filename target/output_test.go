package target

import (
	"strings"
	"testing"
	"time"
)

// TestOutputBetween: parts of an output are found by when they were read, as far as they are kept.
func TestOutputBetween(t *testing.T) {
	var o output
	times := []time.Time{time.Now().Add(-time.Hour)}
	for i, text := range []string{"one\n", "two\n", "three\n"} {
		o.writeChunk([]byte(text))
		times = append(times, times[i].Add(time.Second))
		o.writes[i].at = times[i].Add(time.Millisecond)
	}
	for from := range times {
		for to := from; to < len(times); to++ {
			want := strings.Join([]string{"one\n", "two\n", "three\n"}[from:to], "")
			if got := o.textBetween(times[from], times[to]); got != want {
				t.Errorf("from %d to %d: %q, want %q", from, to, got, want)
			}
		}
	}
	o.writeChunk([]byte(strings.Repeat("x", keptOutput-2)))
	o.writeChunk([]byte("y\n"))
	if got := o.textBetween(times[0], time.Now().Add(time.Hour)); len(got) != keptOutput ||
		!strings.HasSuffix(got, "xy\n") {
		t.Errorf("what is kept has %d bytes", len(got))
	}
	if got := o.textBetween(times[0], times[3]); got != "" {
		t.Errorf("what is lost: %q", got)
	}
	for range 3 * keptWrites {
		o.writeChunk([]byte("z\n"))
	}
	if len(o.writes) > keptWrites {
		t.Errorf("%d writes are kept", len(o.writes))
	}
}
