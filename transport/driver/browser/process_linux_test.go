package browser

import "testing"

// TestMemoryFlags: shared memory is used if it has enough room, and files if it does not, or if that is unknown.
func TestMemoryFlags(t *testing.T) {
	for folder, want := range map[string]int{"/proc": 1, "/no such folder": 1, t.TempDir(): 0} { // /proc has no blocks
		if got := memoryFlagsAt(folder); len(got) != want {
			t.Errorf("%s: %v", folder, got)
		}
	}
}
