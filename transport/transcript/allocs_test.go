package transcript

import "testing"

// TestAllocations: records that nobody waits for take a share of the list alone.
func TestAllocations(t *testing.T) {
	alone(t)
	for _, n := range []int{1000, 30_000} {
		payload := make([]byte, 100)
		got := testing.AllocsPerRun(3, func() {
			tr := New(nil)
			for range n {
				tr.Append(Record{Conn: "A", Dir: Received, Kind: Frame, Bytes: payload})
			}
			tr.Release() // beside others, records are left out, which takes more
		})
		if got > 100 {
			t.Errorf("%d records take %v allocations", n, got)
		}
	}
}
