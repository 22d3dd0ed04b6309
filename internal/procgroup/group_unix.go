//go:build unix

// Package procgroup makes a command the leader of a process group, so that its children can be ended with it.
package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Own makes a command the leader of its own process group, so that its children can be reached too.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// Terminate asks every process of a group to end, and Kill ends them. A group that no longer exists is ignored.
func Terminate(group int) { _ = syscall.Kill(-group, syscall.SIGTERM) }
func Kill(group int)      { _ = syscall.Kill(-group, syscall.SIGKILL) }

// Alive reports whether a process of the group still runs.
func Alive(group int) bool {
	return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) && !onlyZombies(group)
}

// ExitCode returns the exit code of a process that has ended as a shell reports it: 128 and its number after a signal.
func ExitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
