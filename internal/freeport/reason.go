package freeport

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
)

// WhyNot says why nobody can listen at an address, in a sentence that begins with the address, and what a user who may
// take any can do. misuse reports whether it is not an address.
func WhyNot(addr string, err error) (why, mend string, misuse bool) {
	var mistake *net.AddrError
	var name *net.DNSError
	switch {
	case errors.As(err, &mistake), errors.As(err, &name):
		why := strings.TrimPrefix(err.Error(), "listen tcp: ")
		if _, port, split := net.SplitHostPort(addr); split == nil && (mistake != nil && mistake.Err == "invalid port" ||
			name != nil && strings.Contains(name.Err, "port")) {
			why = "port " + port + " is not a number from 0 to 65535"
		}
		return addr + ": " + why, "write it like 127.0.0.1:8124", true
	case errors.Is(err, syscall.EADDRINUSE):
		return addr + " is in use", "port 0 takes a free one", false
	case errors.Is(err, fs.ErrPermission):
		return addr + " is not allowed to this user", "take a port above 1023", false
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return addr + " is not an address of this machine", "take 127.0.0.1", false
	}
	return fmt.Sprintf("%s: %v", addr, err), "give another address", false
}
