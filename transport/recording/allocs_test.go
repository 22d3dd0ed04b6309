package recording

import (
	"bytes"
	"io"
	"testing"

	"parley/transport/transcript"
)

// TestAllocations: a line takes no memory of its own.
func TestAllocations(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 100, 100 << 10} {
		r := transcript.Record{N: 1, Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Label: "x",
			Bytes: bytes.Repeat([]byte("\"a\"\n"), n/4)}
		if got := testing.AllocsPerRun(50, func() { _ = w.Add(r) }); got > 0 {
			t.Errorf("a record of %d bytes takes %v allocations", n, got)
		}
	}
}
