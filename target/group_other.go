//go:build !unix

package target

import (
	"os"
	"os/exec"
)

// Where there are no process groups, a command's children are its own business.

func ownGroup(*exec.Cmd) {}

func terminate(pid int) { kill(pid) }

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func alive(int) bool { return false }
