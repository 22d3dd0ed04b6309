package target

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"parley/internal/freeport"
)

// Placeholders for the free ports of a command.
const (
	anyPort  = "{port}"
	anyPort2 = "{port2}"
)

// portIn returns the placeholder for a port that a URL has; "" if it has none.
func portIn(url string) string {
	for _, p := range []string{anyPort, anyPort2} {
		if strings.Contains(url, p) {
			return p
		}
	}
	return ""
}

// SampleURL returns a URL of a profile with a port in place of the placeholder, so that it can be parsed.
func SampleURL(url string) string { return strings.Replace(url, cmp.Or(portIn(url), anyPort), "1", 1) }

// lend picks the second port, {port2}. Release gives it back.
func (s *setup) lend() (err error) {
	if s.second, err = freeport.Lend(); err != nil {
		return fmt.Errorf("pick a port for the target: %w", err)
	}
	s.fill.port2 = strconv.Itoa(s.second.Number)
	return nil
}

var inUse = regexp.MustCompile(`(?i)EADDRINUSE|address (is )?already in use|port \d+ is (already )?in use|only ` +
	`one usage of each socket address`)

// portClash reports whether a process exited during its start because another one had taken its port.
func portClash(port int, err *StartError) bool {
	if inUse.MatchString(err.Stderr) || inUse.MatchString(err.Stdout) {
		return true
	}
	return portTaken(port)
}

// portTaken reports whether a process listens on a port.
func portTaken(port int) bool {
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
