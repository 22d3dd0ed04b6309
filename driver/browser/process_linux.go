package browser

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the thread that started it ends; see process.run for that thread.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
