//go:build unix

package target

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group of its own, by which its children can be reached too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// terminate asks every process of a group to end, and kill ends them. A group that has gone already is no error.
func terminate(group int) { _ = syscall.Kill(-group, syscall.SIGTERM) }
func kill(group int)      { _ = syscall.Kill(-group, syscall.SIGKILL) }

// alive tells whether a process of the group still runs.
func alive(group int) bool {
	return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) && !onlyZombies(group)
}
