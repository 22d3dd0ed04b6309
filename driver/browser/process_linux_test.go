package browser

import "testing"

// TestMemoryFlags: shared memory is used where there is room in it, and files where there is none, or nobody can tell.
func TestMemoryFlags(t *testing.T) {
	for folder, want := range map[string]int{"/proc": 1, "/no such folder": 1, t.TempDir(): 0} { // /proc has no blocks
		if got := memoryFlagsAt(folder); len(got) != want {
			t.Errorf("%s: %v", folder, got)
		}
	}
}
