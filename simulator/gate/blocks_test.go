package gate

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	wire "parley/transport/wire/sse"
)

// units cuts content that comes in pieces of a size into units; a late line feed belongs to the unit before it.
func units(content string, size int) []string {
	var cut blocks
	out := []string{""}
	for content != "" {
		p := content[:min(size, len(content))]
		content = content[len(p):]
		for p != "" {
			n, ends, late := cut.nextUnit([]byte(p))
			if late {
				out[len(out)-2] += p[:n]
			} else if out[len(out)-1] += p[:n]; ends {
				out = append(out, "")
			}
			p = p[n:]
		}
	}
	return out
}

// TestUnits: units depend only on the bytes, contain all of them, and dispatch at most one event, at their end.
func TestUnits(t *testing.T) {
	lines := []string{"data: x", "data", "event: e", ":", ": c", "id: 1", "", "", "\xEF\xBB\xBF", "\xEF\xBB", "retry: 5"}
	ends := []string{"\n", "\r", "\r\n", "\r\n", "\n"}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			b.WriteString(rapid.SampledFrom(lines).Draw(t, "line") + rapid.SampledFrom(ends).Draw(t, "end"))
		}
		content := b.String() + rapid.SampledFrom(lines).Draw(t, "last")
		whole := units(content, len(content)+1)
		if strings.Join(whole, "") != content {
			t.Fatalf("%q was cut into %q", content, whole)
		}
		for size := 1; size < 4; size++ {
			if got := units(content, size); strings.Join(got, "|") != strings.Join(whole, "|") {
				t.Fatalf("%q in pieces of %d: %q, whole: %q", content, size, got, whole)
			}
		}
		dec := wire.NewDecoder(wire.Limits{})
		for _, unit := range whole {
			events := 0
			for i := range len(unit) {
				for _, it := range dec.Feed([]byte(unit[i : i+1])) {
					if it.Kind == wire.Event {
						events++
						if rest := strings.Trim(unit[i:], "\r\n"); rest != "" {
							t.Fatalf("after the event of unit %q comes %q", unit, rest)
						}
					}
				}
			}
			if events > 1 {
				t.Fatalf("unit %q dispatches %d events", unit, events)
			}
		}
	})
}
