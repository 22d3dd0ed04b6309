//go:build !linux

package target

import "os/exec"

// dieWithParent is Linux's alone.
func dieWithParent(*exec.Cmd) {}

// onlyZombies is not known here: the wait for a group is bounded instead.
func onlyZombies(int) bool { return false }
