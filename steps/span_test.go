package steps

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-59686245: "0ms", 0: "0ms", 1500: "0.0015ms", 59686245: "59.7ms", 150 * time.Millisecond: "150ms",
		999499 * time.Microsecond: "999ms", 999500 * time.Microsecond: "1s", 2059686245: "2.06s", 10 * time.Second: "10s",
		20 * time.Second: "20s", 123456 * time.Millisecond: "123s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}
