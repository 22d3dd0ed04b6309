//go:build unix

package browser

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the browser the leader of a process group, by which its children can be reached too.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func kill(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }
