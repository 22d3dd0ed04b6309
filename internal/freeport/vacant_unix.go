//go:build unix

package freeport

import "syscall"

// isVacant reports whether nothing listens on a port. It binds the port without listening, and prevents child processes
// from starting meanwhile: a child would hold a copy of the socket for a moment, and the port would be in use when its
// borrower listens.
func isVacant(port int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	syscall.CloseOnExec(fd)
	if syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) != nil {
		return false
	}
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil
}
