package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"parley/internal/unixurl"
)

// Placeholders that the URL of a unix socket may have: the folders of the process and of the profile.
const (
	anyDir     = "{dir}"
	anyProfile = "{profile}"
)

// socket checks a URL of a unix socket.
func (c *Checker) socket() error {
	const mend = "write it like unix:///run/server.sock, or unix:///run/server.sock:/base"
	p := c.Profile
	if slices.Contains(p.Drivers, Browser) {
		return c.Fail("url", "a browser opens no page at a unix socket", "let the server listen on a port")
	}
	if portIn(p.URL) != "" {
		return c.Fail("url", "a unix socket has no port", mend)
	}
	if strings.Contains(p.URL, anyDir) && p.Command == nil {
		return c.Fail("url", "{dir} is the folder of a command, but there is no command", "give the path, or a command")
	}
	at := p.URL
	for _, folder := range []string{anyDir, anyProfile} {
		at = strings.Replace(at, "unix://"+folder, "unix:///folder", 1)
	}
	_, rest, err := unixurl.Split(at)
	switch {
	case err != nil:
		return c.Fail("url", fmt.Sprintf("%q is not the URL of a unix socket", p.URL), mend)
	case strings.ContainsAny(rest, "?"):
		return c.Fail("url", fmt.Sprintf("%q is more than a base URL", p.URL), "no query; see "+c.rest())
	}
	if at == p.URL {
		p.URL = strings.TrimSuffix(unixurl.Base(p.URL), "/")
	}
	p.URL = unixurl.Shown(p.URL)
	return nil
}

// urlPath writes a path as in a URL.
func urlPath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// socketName names the target at a unix socket: by its file.
func socketName(raw string) string {
	socket, _, err := unixurl.Split(raw)
	if err != nil {
		return raw
	}
	return filepath.Base(socket)
}

// listensAt checks that a server accepts connections at a unix socket; *UnreachableError if not.
func listensAt(ctx context.Context, base string) error {
	socket, _, err := unixurl.Split(base)
	if err != nil {
		return &UnreachableError{unixurl.Shown(base), []Attempt{{base, err}}}
	}
	conn, err := unixurl.Connect(ctx, socket)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the address, which is shown next to it
	}
	return &UnreachableError{unixurl.Shown(base), []Attempt{{socket, err}}}
}

// Listens checks that a server accepts connections at a base URL, within limits.open; *UnreachableError if not.
func (p *Profile) Listens(ctx context.Context, base string) error {
	return listens(ctx, base, p.Limits.Open.Duration)
}
