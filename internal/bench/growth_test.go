package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// TestDrawGrowth: the picture is well-formed, names each line and its points, and has no value out of its panels.
func TestDrawGrowth(t *testing.T) {
	lines := []Line{
		{Name: "run", Unit: "a <b>", Points: []Point{{10, 0.5, 100}, {100, 1, 100}, {1000, 10, 1000}}},
		{Name: "none", Unit: "things"},
		{Name: "far", Unit: "things", Points: []Point{{1, 1e-9, 1}, {10, 1e9, 1e9}}},
	}
	if time, memory := lines[0].Slopes(); math.Abs(time-1) > 1e-9 || math.Abs(memory-1) > 1e-9 {
		t.Errorf("slopes %v and %v", time, memory)
	}
	if time, memory := lines[1].Slopes(); time != 0 || memory != 0 {
		t.Errorf("slopes of nothing: %v and %v", time, memory)
	}
	text := string(DrawGrowth(lines))
	for _, want := range []string{">run<", "run: 1000 a &lt;b&gt;: 10<", "1× = 10 a"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error(text)
	}
	in := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := in.Token(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			return
		}
	}
}
