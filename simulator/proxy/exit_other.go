//go:build !unix

package proxy

import "os"

// exitOf returns the exit code of a process.
func exitOf(s *os.ProcessState) int { return s.ExitCode() }
