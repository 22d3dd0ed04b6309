//go:build !linux

package browser

import "os/exec"

// dieWithParent is Linux's alone; elsewhere a browser ends when its pipe does.
func dieWithParent(*exec.Cmd) {}

// memoryFlags are Linux's alone.
func memoryFlags() []string { return nil }
