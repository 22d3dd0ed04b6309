package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/internal/tier"
)

// TestFlat checks that the memory of a run does not depend on how long a peer floods it: what a longer run takes is
// what a shorter one takes, and some. At night  the longer one takes ten minutes.
func TestFlat(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is measured by /proc")
	}
	t.Parallel()
	short, long := 2*time.Second, 6*time.Second
	if tier.All() {
		short, long = 20*time.Second, 10*time.Minute
	}
	for _, flood := range []struct{ name, text string }{
		{"comments", block(": x\n")},
		{"events", block("data: {\"type\":\"noise\",\"data\":{}}\n\n")},
	} {
		t.Run(flood.name, func(t *testing.T) {
			if flood.name == "comments" {
				tier.Night(t)
			}
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			url := greetsAnd(session(status(200)), again(flood.text))(t)
			var peaks []int64
			for _, lasts := range []time.Duration{short, long} {
				dir := t.TempDir()
				limits := fmt.Sprintf("limits: {event: %[1]s, turn: %[1]s, http: %[1]s, scenario: %[1]s}\n", lasts)
				text := "name: flood\nprotocol: agent-select\nurl: " + url + "\n" + limits
				if err := os.WriteFile(filepath.Join(dir, "target.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				m := meetFor(t, wallBound+2*lasts, dir, "", nil, "run", "--target", "target.yaml", "--tags", "@AS-053")
				full := strings.Contains(m.out, "more than a transcript holds") // ends a scenario before its limit
				if m.late || m.results == nil || m.wall < lasts/2 && !full {
					t.Fatalf("it took %v: %s", m.wall, m.out)
				}
				peaks = append(peaks, m.memory)
			}
			t.Logf("%d MiB in %v, %d MiB in %v", peaks[0]>>20, short, peaks[1]>>20, long)
			if peaks[1] > peaks[0]+48<<20 || peaks[1] > memoryBound {
				t.Errorf("it grew from %d to %d MiB", peaks[0]>>20, peaks[1]>>20)
			}
		})
	}
}
