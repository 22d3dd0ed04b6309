//go:build !linux

package browser

// memoryFlags are Linux's alone.
func memoryFlags() []string { return nil }
