//go:build !unix

package procgroup

import (
	"os"
	"os/exec"
)

// Without process groups, a command's children cannot be reached.

func Own(*exec.Cmd) {}

func Terminate(pid int) { Kill(pid) }

func Kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func Alive(int) bool { return false }

func ExitCode(s *os.ProcessState) int { return s.ExitCode() }
