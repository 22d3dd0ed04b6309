package tier

import (
	"sync/atomic"
	"testing"
)

// TestTiers: a test for the night is skipped unless everything runs; of a table about as many rows run as asked for.
func TestTiers(t *testing.T) {
	for _, tt := range []struct {
		reason, env string
		leaves      func(t *testing.T)
		skipped     bool
	}{
		{"by day", "", func(t *testing.T) { Night(t) }, true},
		{"at night", "all", func(t *testing.T) { Night(t) }, false},
		{"a row of the sample", "", func(t *testing.T) { Sample(t, 4, 8, 2) }, false},
		{"a row between", "", func(t *testing.T) { Sample(t, 5, 8, 2) }, true},
		{"a row between, at night", "all", func(t *testing.T) { Sample(t, 5, 8, 2) }, false},
		{"more rows than there are", "", func(t *testing.T) { Sample(t, 1, 2, 5) }, false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Setenv("PARLEY_TESTS", tt.env)
			skipped := true
			t.Run("test", func(t *testing.T) {
				tt.leaves(t)
				skipped = false
			})
			if skipped != tt.skipped {
				t.Errorf("skipped is %v", skipped)
			}
		})
	}
}

// TestPage: tests of pages take turns; a subtest of one has its turn.
func TestPage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // the lock of this test is no other's
	var at atomic.Int32
	for range 4 {
		t.Run("test", func(t *testing.T) {
			t.Parallel()
			Page(t)
			if at.Add(1) > 1 {
				t.Error("two tests have pages at once")
			}
			defer at.Add(-1)
			t.Run("row", func(t *testing.T) { Page(t) })
		})
	}
}
