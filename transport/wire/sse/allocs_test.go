package sse

import (
	"strings"
	"testing"
)

// TestAllocations: what a chunk allocates grows with its slabs and its items, not with the bytes of an event nor with
// its lines.
func TestAllocations(t *testing.T) {
	feed := func(chunk string) float64 {
		p, d := []byte(chunk), NewDecoder(Limits{})
		return testing.AllocsPerRun(20, func() { d.Feed(p) })
	}
	short, long := feed("data: "+strings.Repeat("x", 10<<10)+"\n\n"), feed("data: "+strings.Repeat("x", 640<<10)+"\n\n")
	if long > short+2 { // a long buffer is not kept for the next event
		t.Errorf("an event of 640 KiB takes %v allocations, one of 10 KiB %v", long, short)
	}
	few, many := feed(strings.Repeat("data: a line\n", 100)+"\n"), feed(strings.Repeat("data: a line\n", 10_000)+"\n")
	if many > few+40 { // the buffer and the list of the lines double
		t.Errorf("an event of 10,000 lines takes %v allocations, one of 100 %v", many, few)
	}
	event := "event: message\nid: 7\ndata: {\"delta\":\"Hello\"}\n\n"
	if got := feed(strings.Repeat(event, 200)); got > 20 {
		t.Errorf("200 events of %d bytes take %v allocations", len(event), got)
	}
	if got := feed(strings.Repeat(": keep-alive\n\n", 200)); got > 8 {
		t.Errorf("200 comments take %v allocations", got)
	}
}
