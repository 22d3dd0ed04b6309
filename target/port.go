package target

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"syscall"
)

// reserved holds the ports that are given to processes of ours, so that two started at the same time never get the
// same.
var reserved = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// reservePort picks a free loopback port.
func reservePort() (int, error) {
	reserved.Lock()
	defer reserved.Unlock()
	for {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, err
		}
		if !reserved.ports[port] {
			reserved.ports[port] = true
			return port, nil
		}
	}
}

func releasePort(port int) {
	reserved.Lock()
	defer reserved.Unlock()
	delete(reserved.ports, port)
}

var inUse = regexp.MustCompile(`(?i)EADDRINUSE|address (is )?already in use|port \d+ is (already )?in use|only one usage of each socket address`)

// portClash reports whether a process that ended while it started did so because its port was taken meanwhile.
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

// hostPort is the address that a base URL is dialled at.
func hostPort(base string) (host, port string) {
	u, err := url.Parse(base)
	if err != nil {
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
