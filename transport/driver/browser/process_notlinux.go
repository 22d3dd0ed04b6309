//go:build !linux

package browser

// memoryFlags apply only to Linux.
func memoryFlags() []string { return nil }
