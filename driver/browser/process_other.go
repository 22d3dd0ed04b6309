//go:build !unix

package browser

import (
	"os"
	"os/exec"
)

// Where there are no process groups, a browser's children end by themselves.

func ownGroup(*exec.Cmd) {}

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
