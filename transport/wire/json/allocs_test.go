package json

import (
	"strings"
	"testing"
)

// TestAllocations: what a text allocates grows with its values, not with its bytes.
func TestAllocations(t *testing.T) {
	decode := func(text string) float64 {
		b := []byte(text)
		return testing.AllocsPerRun(10, func() {
			if _, _, err := Decode(b); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, part := range []string{"x", "é", `\n`, `\ud83d\ude00`, " "} {
		text := func(n int) string { return `{"a":["` + strings.Repeat(part, n) + `"]}` }
		if short, long := decode(text(1<<11)), decode(text(1<<17)); long > short {
			t.Errorf("%d of %q take %v allocations, %d of them %v", 1<<11, part, short, 1<<17, long)
		}
	}
	// A string, and a share of a slab and of the list.
	few, many := decode("["+strings.Repeat(`"value",`, 1000)+"1]"), decode("["+strings.Repeat(`"value",`, 16_000)+"1]")
	if many > 16.5*few {
		t.Errorf("16,000 strings take %v allocations, 1000 take %v", many, few)
	}
}
