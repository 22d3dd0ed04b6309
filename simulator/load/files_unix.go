//go:build unix

package load

import "syscall"

// openFiles raises the limit on open files as far as it goes, for this process and those that it starts, and returns
// it.
func openFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return unlimited
	}
	if l.Cur = l.Max; syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	}
	return int(min(uint64(l.Cur), unlimited))
}
