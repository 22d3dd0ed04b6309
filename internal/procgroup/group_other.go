//go:build !unix

package procgroup

import (
	"os"
	"os/exec"
)

// Where there are no process groups, a command's children are its own business.

func Own(*exec.Cmd) {}

func Terminate(pid int) { Kill(pid) }

func Kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func Alive(int) bool { return false }
