package steps

import (
	"strconv"
	"time"
)

// Span renders a duration for a finding: in milliseconds below one second, otherwise in seconds, with at most three
// digits. A negative duration counts as zero.
func Span(d time.Duration) string {
	d = max(d, 0)
	if d < 999500*time.Microsecond {
		return digits(float64(d)/1e6) + "ms"
	}
	return digits(d.Seconds()) + "s"
}

// digits renders a number with three digits, or with all digits before its point if these are more.
func digits(n float64) string {
	if n >= 100 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
