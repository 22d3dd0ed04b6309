//go:build unix

package proxy

import (
	"os"
	"syscall"
)

// exitOf returns the exit code of a process as a shell reports it.
func exitOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
