package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"parley/target"
)

// listenError is why a command cannot listen at the address of a flag, or run what is behind --. It is a
// target.StartError in another wording: there is no target that could be at fault.
type listenError struct {
	text string
	err  error
}

func (e *listenError) Error() string   { return e.text }
func (e *listenError) Unwrap() []error { return []error{&target.StartError{Reason: e.text}, e.err} }

// listen listens at the address of a flag.
func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, unheard(flag, addr, err)
	}
	return l, nil
}

// unheard says in one sentence why nobody can listen at the address of a flag, and what to do. A mistake in the
// address is wrong usage.
func unheard(flag, addr string, err error) error {
	var mistake *net.AddrError
	var name *net.DNSError
	switch {
	case errors.As(err, &mistake), errors.As(err, &name):
		why := strings.TrimPrefix(err.Error(), "listen tcp: ")
		if mistake != nil && mistake.Err == "invalid port" {
			why = "port " + mistake.Addr + " is not a number from 0 to 65535"
		}
		return usagef("%s %s: %s (write it like 127.0.0.1:8124)", flag, addr, why)
	case errors.Is(err, syscall.EADDRINUSE):
		return &listenError{fmt.Sprintf("%s: %s is in use (port 0 takes a free one)", flag, addr), err}
	case errors.Is(err, fs.ErrPermission):
		return &listenError{fmt.Sprintf("%s: %s is not allowed to this user (take a port above 1023)", flag, addr), err}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &listenError{fmt.Sprintf("%s: %s is not an address of this machine (take 127.0.0.1)", flag, addr), err}
	}
	return &listenError{fmt.Sprintf("%s: %s: %v (give another address)", flag, addr, err), err}
}

// unstarted says in one sentence why the command after -- does not start; nil if that is not what err is about.
func unstarted(command string, err error) error {
	var path *os.PathError
	var found *exec.Error
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &found):
		err = found.Err
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return nil
	}
	return &listenError{fmt.Sprintf("%q after -- cannot be started: %v (name a program on the PATH, or give its path)",
		command, err), err}
}
