//go:build !linux

package procgroup

import "os/exec"

// DieWithParent does nothing: only Linux supports it.
func DieWithParent(*exec.Cmd) {}

// onlyZombies cannot be determined here: the wait for a group is bounded instead.
func onlyZombies(int) bool { return false }
