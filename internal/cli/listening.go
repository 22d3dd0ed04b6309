package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"

	"parley/internal/freeport"
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
	why, mend, misuse := freeport.WhyNot(addr, err)
	if misuse {
		return usagef("%s %s (%s)", flag, why, mend)
	}
	return &listenError{fmt.Sprintf("%s: %s (%s)", flag, why, mend), err}
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
