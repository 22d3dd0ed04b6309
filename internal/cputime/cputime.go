// Package cputime measures processor time. Unlike wall time, it says much the same on a machine that others use, too.
package cputime

import "time"

// MBps returns the rate of work on so many bytes since the process had used so much, in 10^6 bytes per second of
// processor time, the garbage collector's included. It is 0 if processor time is not known.
func MBps(bytes int, since time.Duration) float64 {
	used := Used() - since
	if used <= 0 {
		return 0
	}
	return float64(bytes) / 1e6 / used.Seconds()
}
