package target

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"syscall"
)

var inUse = regexp.MustCompile(`(?i)EADDRINUSE|address (is )?already in use|port \d+ is (already )?in use|only ` +
	`one usage of each socket address`)

// portClash reports whether a process exited during its start because another one had taken its port.
func portClash(port int, err *StartError) bool {
	if inUse.MatchString(err.Stderr) || inUse.MatchString(err.Stdout) {
		return true
	}
	l, listen := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if listen != nil {
		return errors.Is(listen, syscall.EADDRINUSE)
	}
	_ = l.Close()
	return false
}

// hostPort returns the host and port to dial for a base URL; none of a unix socket.
func hostPort(base string) (host, port string) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "unix" {
		return "", ""
	}
	port = u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname(), port
}
