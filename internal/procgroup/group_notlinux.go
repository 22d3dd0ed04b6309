//go:build !linux

package procgroup

import "os/exec"

// DieWithParent is Linux's alone.
func DieWithParent(*exec.Cmd) {}

// onlyZombies is not known here: the wait for a group is bounded instead.
func onlyZombies(int) bool { return false }
